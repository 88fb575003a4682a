// SPDX-License-Identifier: Apache-2.0
#include "gateway/sandbox/sandbox.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "gateway/lib/base/encode.h"
#include "gateway/lib/base/memory.h"
#include "gateway/lib/base/table.h"
#include "gateway/lib/crypto/keyring.h"
#include "gateway/lib/http/client.h"
#include "gateway/lib/loop/loop.h"
#include "gateway/lib/telemetry/log.h"
#include "gateway/lib/telemetry/metrics.h"

struct fleet {
    struct loop *loop;           // borrowed
    const struct config *config; // borrowed
    const struct keyring *ring;  // borrowed
    struct table *by_id;         // id to sandbox
    struct list in_state[SANDBOX_STATES];
    size_t (*count)[SANDBOX_STATES]; // by profile
    struct metric *(*gauge)[SANDBOX_STATES];
};

static const char *const state_names[] = {
#define X(name, text) [SANDBOX_##name] = text,
    SANDBOX_STATE_TABLE(X)
#undef X
};

const char *sandbox_state_name(enum sandbox_state state)
{
    return state_names[state];
}

#define FROM(name) (1U << SANDBOX_##name)
// From which states each may be entered. Deleting (DRAINING) is legal in all of them.
static const unsigned predecessors[SANDBOX_STATES] = {
    [SANDBOX_CREATING] = 0,
    [SANDBOX_WARM] = FROM(CREATING),
    [SANDBOX_BOUND] = FROM(CREATING) /* found bound */ | FROM(WARM) | FROM(IDLE),
    [SANDBOX_IDLE] = FROM(BOUND),
    [SANDBOX_FAILED] = FROM(CREATING) | FROM(WARM) | FROM(BOUND) | FROM(IDLE),
    [SANDBOX_DRAINING] =
        FROM(CREATING) | FROM(WARM) | FROM(BOUND) | FROM(IDLE) | FROM(FAILED) | FROM(DRAINING),
    [SANDBOX_GONE] = FROM(DRAINING),
};

bool sandbox_may_become(enum sandbox_state from, enum sandbox_state to)
{
    return (predecessors[to] & (1U << from)) != 0;
}

static size_t profile_index(const struct fleet *f, const struct profile *profile)
{
    return (size_t)(profile - f->config->profiles);
}

static struct metric *state_gauge(struct metrics *m, const char *profile, enum sandbox_state state)
{
    char labels[160];
    snprintf(labels, sizeof labels, "profile=\"%s\",state=\"%s\"", profile,
             sandbox_state_name(state));
    return metric_gauge(m, "wrist_sandboxes", labels, "Sandboxes by state");
}

struct fleet *fleet_new(struct loop *loop, const struct config *config, const struct keyring *ring,
                        struct metrics *metrics)
{
    struct fleet *f = memory_new(sizeof *f);
    *f = (struct fleet){.loop = loop, .config = config, .ring = ring, .by_id = table_new()};
    f->count = memory_new_array(config->profile_count + 1, sizeof *f->count);
    f->gauge = memory_new_array(config->profile_count + 1, sizeof *f->gauge);
    for (int state = 0; state < SANDBOX_STATES; state++) {
        list_init(&f->in_state[state]);
        for (size_t i = 0; i < config->profile_count; i++)
            f->gauge[i][state] = state_gauge(metrics, config->profiles[i].name, state);
    }
    return f;
}

static void sandbox_free(void *object)
{
    struct sandbox *s = object;
    memory_wipe(s->authorization, sizeof s->authorization);
    free(s);
}

static void close_link(struct sandbox *s)
{
    if (s->link != NULL)
        http_client_close(s->link);
    s->link = NULL;
}

void fleet_free(struct fleet *f)
{
    if (f == NULL)
        return;
    for (int state = 0; state < SANDBOX_STATES; state++)
        for (struct list *node; (node = list_pop(&f->in_state[state])) != NULL;) {
            struct sandbox *s = LIST_ENTRY(node, struct sandbox, by_state);
            close_link(s);
            sandbox_free(s);
        }
    table_free(f->by_id);
    free(f->count);
    free(f->gauge);
    free(f);
}

static void count_state(struct sandbox *s, int by)
{
    struct fleet *f = s->fleet;
    size_t i = profile_index(f, s->profile);
    f->count[i][s->state] += (size_t)by;
    metric_add(f->gauge[i][s->state], by);
}

struct sandbox *sandbox_new(struct fleet *f, const char *id, int64_t generation,
                            const struct profile *profile)
{
    struct sandbox *s = memory_new(sizeof *s);
    *s = (struct sandbox){.fleet = f,
                          .state = SANDBOX_CREATING,
                          .generation = generation,
                          .profile = profile,
                          .born_ms = loop_now_ms(f->loop),
                          .state_since_ms = loop_now_ms(f->loop)};
    span_copy_string(span_from_string(id), s->id, sizeof s->id);
    list_append(&f->in_state[s->state], &s->by_state);
    table_put(f->by_id, span_from_string(id), s);
    count_state(s, 1);
    return s;
}

struct sandbox *fleet_find(const struct fleet *f, struct span id)
{
    return table_get(f->by_id, id);
}

size_t fleet_count(const struct fleet *f, const struct profile *profile, enum sandbox_state state)
{
    return f->count[profile_index(f, profile)][state];
}

size_t fleet_total(const struct fleet *f, const struct profile *profile)
{
    size_t total = 0;
    for (int state = 0; state < SANDBOX_GONE; state++)
        total += fleet_count(f, profile, state);
    return total;
}

struct list *fleet_in_state(struct fleet *f, enum sandbox_state state)
{
    return &f->in_state[state];
}

bool sandbox_is_bound(const struct sandbox *s)
{
    return s->state == SANDBOX_BOUND || s->state == SANDBOX_IDLE;
}

bool sandbox_serves(const struct sandbox *s, const char *principal)
{
    return sandbox_is_bound(s) &&
           (strcmp(s->principal, principal) == 0 || sandbox_grants_has(&s->grants, principal));
}

bool sandbox_is_alive(const struct sandbox *s)
{
    return s->state == SANDBOX_WARM || sandbox_is_bound(s);
}

// Between requests a sandbox moves all the time; the rest is worth a line each.
static enum log_level level_of(enum sandbox_state from, enum sandbox_state to)
{
    bool routine = (from == SANDBOX_BOUND && to == SANDBOX_IDLE) || from == SANDBOX_IDLE;
    if (routine && (to == SANDBOX_BOUND || to == SANDBOX_IDLE))
        return LOG_DEBUG;
    return to == SANDBOX_FAILED ? LOG_WARN : LOG_INFO;
}

void sandbox_set_state(struct sandbox *s, enum sandbox_state state, const char *why)
{
    struct fleet *f = s->fleet;
    assert(sandbox_may_become(s->state, state));
    LOG(level_of(s->state, state), "sandbox.state", LOG_STRING("sandbox", s->id),
        LOG_I64("generation", s->generation), LOG_STRING("profile", s->profile->name),
        LOG_STRING("from", sandbox_state_name(s->state)),
        LOG_STRING("to", sandbox_state_name(state)), LOG_STRING("why", why));
    count_state(s, -1);
    list_remove(&s->by_state);
    s->state = state;
    s->state_since_ms = loop_now_ms(f->loop);
    if (!sandbox_is_alive(s))
        close_link(s);
    if (state == SANDBOX_GONE) {
        table_remove(f->by_id, span_from_string(s->id));
        loop_bury(f->loop, s, sandbox_free);
        return;
    }
    list_append(&f->in_state[state], &s->by_state);
    count_state(s, 1);
}

bool sandbox_set_secret(struct sandbox *s, size_t key, unsigned char out[LINK_SECRET_BYTES])
{
    const struct keyring *ring = s->fleet->ring;
    char context[ID_SIZE + 24];
    int size = snprintf(context, sizeof context, "%s %" PRId64, s->id, s->generation);
    if (key >= keyring_count(ring) ||
        !keyring_derive(ring, keyring_id(ring, key), "link", span_of(context, (size_t)size), out,
                        LINK_SECRET_BYTES))
        return false;
    char hex[2 * LINK_SECRET_BYTES + 1];
    hex_encode(span_of(out, LINK_SECRET_BYTES), hex);
    snprintf(s->authorization, sizeof s->authorization, "Bearer %s", hex);
    memory_wipe(hex, sizeof hex);
    return true;
}

struct http_client *sandbox_link(struct sandbox *s)
{
    if (s->link != NULL || s->endpoint[0] == '\0')
        return s->link;
    struct http_client_options options;
    struct failure why;
    http_client_options_default(&options);
    if (address_parse(span_from_string(s->endpoint), &options.address, &why) != 0) {
        LOG(LOG_ERROR, "sandbox.endpoint", LOG_STRING("sandbox", s->id), LOG_FAILURE(&why));
        return NULL;
    }
    s->link = http_client_new(s->fleet->loop, &options);
    return s->link;
}

bool sandbox_is_deserted(const struct sandbox *s)
{
    struct address address;
    return s->endpoint[0] != '\0' &&
           address_parse(span_from_string(s->endpoint), &address, NULL) == 0 &&
           address_is_deserted(&address);
}
