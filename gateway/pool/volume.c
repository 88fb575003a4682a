// SPDX-License-Identifier: Apache-2.0
// Sandboxes whose workspace is a volume. The driver decides on each: who has it, whose it is, how
// many there may be. Nothing of it stands in the store, so no store that is emptied or swapped
// gives one to another principal. A volume's id is a hash under the key ring; its name stands
// beside it sealed.
//
// Such a sandbox is made for one want and is its principal's from its start: the pool of warm ones
// never sees it.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "gateway/lib/base/encode.h"
#include "gateway/lib/base/memory.h"
#include "gateway/lib/crypto/digest.h"
#include "gateway/lib/crypto/keyring.h"
#include "gateway/lib/crypto/seal.h"
#include "gateway/lib/telemetry/log.h"
#include "gateway/pool/asking.h"
#include "gateway/pool/state.h"

enum { AGAIN_MS = 200, PATIENCE_MS = 2000, UNKNOWN_MS = 5000, MARK_SIZE = 9 };

struct volume_question {
    struct list node; // of the binder's
    struct binder *b;
    struct want *want; // whose volume is looked for; NULL where it ended, or it is a person's
    char principal[PRINCIPAL_HASH_SIZE]; // "" for all
    char name[VOLUME_HASH_SIZE];         // to delete: a name, or an id
    // The one of its kind is set, or none any more.
    void (*listed)(void *owner, const struct volume_view *views, size_t count,
                   const struct failure *why);
    void (*deleted)(void *owner, const struct failure *why);
    void *owner;
};

// Names -------------------------------------------------------------------------------------------

static void make_id(const struct binder *b, const char *principal, const char *name,
                    char out[VOLUME_HASH_SIZE])
{
    char context[PRINCIPAL_HASH_SIZE + VOLUME_NAME_SIZE];
    unsigned char raw[(VOLUME_HASH_SIZE - 1) / 2] = {0};
    const struct keyring *ring = b->with.ring;
    int size = snprintf(context, sizeof context, "%s %s", principal, name);
    keyring_derive(ring, keyring_id(ring, 0), "volume", span_of(context, (size_t)size), raw,
                   sizeof raw); // the newest key is there
    hex_encode(span_of(raw, sizeof raw), out);
}

int volume_label_seal(const struct binder *b, const char *name, char out[VOLUME_LABEL_SIZE])
{
    struct buffer text;
    buffer_init(&text, VOLUME_LABEL_SIZE - 1);
    int fault = seal(b->with.ring, "volume", SPAN_LITERAL(""), span_from_string(name), &text);
    if (fault == 0)
        span_copy_string(buffer_span(&text), out, VOLUME_LABEL_SIZE);
    buffer_fini(&text);
    return fault;
}

bool volume_label_open(const struct binder *b, struct span label, char name[VOLUME_NAME_SIZE])
{
    struct buffer text;
    buffer_init(&text, VOLUME_NAME_SIZE);
    bool opens = seal_open(b->with.ring, "volume", SPAN_LITERAL(""), label, &text) == 0 &&
                 volume_name_is_valid(buffer_span(&text)) &&
                 span_copy_string(buffer_span(&text), name, VOLUME_NAME_SIZE);
    buffer_fini(&text);
    return opens;
}

static const struct driver_volume *find(const struct binder *b, const struct driver_answer *answer,
                                        const char *principal, const char *name)
{
    char theirs[VOLUME_NAME_SIZE];
    for (size_t i = 0; i < answer->count; i++) {
        const struct driver_volume *v = &answer->volumes[i];
        bool named = principal[0] != '\0'
                         ? strcmp(v->owner, principal) == 0 &&
                               volume_label_open(b, span_from_string(v->label), theirs) &&
                               strcmp(theirs, name) == 0
                         : strcmp(v->id, name) == 0;
        if (named && strcmp(v->fleet, b->with.fleet_id) == 0)
            return v;
    }
    return NULL;
}

// Asking the driver -----------------------------------------------------------------------------

static struct volume_question *question_new(struct binder *b, const char *principal, void *owner)
{
    struct volume_question *q = memory_new(sizeof *q);
    *q = (struct volume_question){.b = b, .owner = owner};
    span_copy_string(span_from_string(principal), q->principal, sizeof q->principal);
    list_append(&b->volume_questions, &q->node);
    return q;
}

static void question_free(struct volume_question *q)
{
    list_remove(&q->node);
    free(q);
}

void volume_question_cancel(struct volume_question *q)
{
    q->listed = NULL;
    q->deleted = NULL;
}

void volumes_forget(struct binder *b)
{
    for (struct list *node; (node = list_pop(&b->volume_questions)) != NULL;)
        free(LIST_ENTRY(node, struct volume_question, node));
}

static void away(struct failure *out, const struct failure *why)
{
    *out = *why;
    out->fault = FAULT_UNAVAILABLE;
    failure_prefix(out, "volumes");
}

// Who has it ------------------------------------------------------------------------------------

// In words that help its principal: no id of ours, but what frees it, and when at the earliest.
static int64_t describe_holder(const struct want *w, const struct ward *holder, struct failure *why)
{
    char hex[SHA256_HEX_SIZE], by[64] = "a sandbox";
    if (holder == NULL || !sandbox_is_bound(holder->sandbox)) {
        failure_set(why, FAULT_CONFLICT,
                    "volume \"%s\" is in use by another sandbox of yours; nothing ran. Try again "
                    "in %d s",
                    w->volume, UNKNOWN_MS / 1000);
        return UNKNOWN_MS;
    }
    const struct sandbox *s = holder->sandbox;
    const char *key = holder->binding != NULL ? holder->binding->record.key : holder->note;
    int64_t unused_ms = s->leases > 0 ? 0 : loop_now_ms(w->pool->b->loop) - s->last_used_ms;
    int64_t left_ms = s->idle_ms > unused_ms ? s->idle_ms - unused_ms : 0;
    if (strncmp(key, "s:", 2) == 0) {
        sha256_hex(span_from_string(key + 2), hex);
        snprintf(by, sizeof by, "your session %.*s", MARK_SIZE - 1, hex);
    } else if (strncmp(key, "p:", 2) == 0) {
        snprintf(by, sizeof by, "your sandbox of this profile");
    } else {
        snprintf(by, sizeof by, "a sandbox that you made by /v1/sandboxes");
    }
    left_ms = left_ms > 1000 ? left_ms : 1000;
    failure_set(why, FAULT_CONFLICT,
                "volume \"%s\" is in use by %s; nothing ran. It is free once that ends: when you "
                "end it (GET /v1/volumes names its handle), or by itself when nobody uses it for "
                "another %" PRId64 " s. Try again then",
                w->volume, by, left_ms / 1000);
    return left_ms;
}

static void look_later(struct want *w)
{
    struct pool *p = w->pool;
    w->again_at_ms = loop_now_ms(p->b->loop) + AGAIN_MS;
    holding_count(&w->holding, COUNTED_NOT);
    list_remove(&w->node);
    list_append(&p->volume_wants, &w->node);
    timer_start(&p->volume_again, AGAIN_MS);
}

// One that is on its way out is waited for. With a shared store it may be one that another replica
// makes for the same session at this moment.
static void is_held(struct want *w, const char *sandbox)
{
    struct binder *b = w->pool->b;
    const struct ward *holder = ward_find(b, span_from_string(sandbox));
    struct failure why;
    int64_t now = loop_now_ms(b->loop);
    bool leaving = holder != NULL && holder->sandbox->state != SANDBOX_CREATING &&
                   !sandbox_is_alive(holder->sandbox);
    bool is_young = holder == NULL || holder->sandbox->born_ms + UNKNOWN_MS > now;
    if (w->patience_ms == 0)
        w->patience_ms = now + PATIENCE_MS;
    if (leaving || (store_is_shared(b->store) && is_young && now < w->patience_ms)) {
        look_later(w);
        return;
    }
    int64_t retry_ms = describe_holder(w, holder, &why);
    want_fail(w, &why, retry_ms);
}

// A want ------------------------------------------------------------------------------------------

static void make_for(struct want *w, const char *id)
{
    struct ward *ward = pool_start_one(w->pool);
    memcpy(ward->sandbox->volume, id, sizeof ward->sandbox->volume);
    memcpy(ward->sandbox->volume_name, w->volume, sizeof ward->sandbox->volume_name);
    ward->reserved = true;
    w->pool->reserved++;
    ward->want = w;
    w->ward = ward;
}

static void looked_up(void *owner, const struct driver_answer *answer, const struct failure *why)
{
    struct volume_question *q = owner;
    struct want *w = q->want;
    struct binder *b = q->b;
    struct failure mine;
    char id[VOLUME_HASH_SIZE];
    question_free(q);
    if (w == NULL)
        return;
    w->question = NULL;
    if (why != NULL) {
        away(&mine, why);
        want_fail(w, &mine, 1000);
        return;
    }
    const struct driver_volume *v = find(b, answer, w->principal, w->volume);
    if (v != NULL && strcmp(v->profile, w->pool->profile->name) != 0) {
        failure_set(&mine, FAULT_INVALID, "volume \"%s\" is of profile %s", w->volume, v->profile);
        want_fail(w, &mine, 0);
    } else if (v != NULL && v->sandbox[0] != '\0') {
        is_held(w, v->sandbox);
    } else {
        make_id(b, w->principal, w->volume, id);
        make_for(w, v != NULL ? v->id : id);
    }
}

static void look_up(struct want *w)
{
    struct binder *b = w->pool->b;
    list_remove(&w->node);
    w->question = question_new(b, w->principal, NULL);
    w->question->want = w;
    b->with.driver->ops->volumes(b->with.driver, b->with.fleet_id, w->principal, looked_up,
                                 w->question);
}

// True where it failed: nothing can be made for it now.
static bool fail_early(struct want *w)
{
    const struct pool *p = w->pool;
    struct failure why;
    if (!store_is_up(p->b->store)) {
        failure_set(&why, FAULT_UNAVAILABLE, "the store cannot be reached; nothing new is bound");
        want_fail(w, &why, 1000);
    } else if (driver_is_away(p->b)) {
        away(&why, &p->b->trouble);
        want_fail(w, &why, 1000);
    } else if (pool_total(p) >= p->profile->maximum) {
        failure_set(&why, FAULT_QUOTA,
                    "profile %s is at its maximum of %" PRId64 " sandboxes in all",
                    p->profile->name, p->profile->maximum);
        want_fail(w, &why, UNKNOWN_MS);
    } else {
        return false;
    }
    return true;
}

void volume_match(struct pool *p)
{
    LIST_EACH(node, &p->volume_wants)
    {
        struct want *w = LIST_ENTRY(node, struct want, node);
        bool has_place = (int64_t)fleet_count(p->b->fleet, p->profile, SANDBOX_CREATING) <
                         p->profile->parallel_starts;
        if (w->again_at_ms > loop_now_ms(p->b->loop) || fail_early(w))
            continue;
        if (has_place && !pool_is_backing_off(p) && want_admit(w) == ADMITTED) {
            want_count(w);
            look_up(w);
        }
    }
}

void volume_forget(struct want *w)
{
    if (w->question != NULL)
        w->question->want = NULL;
    if (w->ward != NULL)
        w->ward->want = NULL;
    w->question = NULL;
    w->ward = NULL;
}

// Its sandbox -------------------------------------------------------------------------------------

void volume_fill(const struct ward *w, struct driver_create *create)
{
    const struct profile *profile = w->sandbox->profile;
    memcpy(create->volume, w->sandbox->volume, sizeof create->volume);
    memcpy(create->volume_owner, w->want->principal, sizeof create->volume_owner);
    (void)volume_label_seal(w->b, w->sandbox->volume_name, create->volume_label);
    create->volume_keep_ms = profile->volume_keep_ms;
    create->volumes_most = profile->volumes;
}

void volume_failed(struct ward *w, const struct failure *why)
{
    struct want *want = w->want;
    struct failure mine = *why;
    LOG(LOG_WARN, "volume.start", LOG_STRING("sandbox", w->sandbox->id), LOG_FAILURE(why));
    w->want = NULL;
    ward_end(w, ENDING_UNSTARTED, "it could not be started with its volume");
    if (want == NULL)
        return;
    want->ward = NULL;
    if (mine.fault == FAULT_CONFLICT) { // somebody was faster
        look_later(want);
        return;
    }
    bool is_told = mine.fault == FAULT_QUOTA || mine.fault == FAULT_INVALID ||
                   mine.fault == FAULT_DENIED || mine.fault == FAULT_TIMEOUT;
    if (!is_told)
        mine.fault = FAULT_UNAVAILABLE;
    want_fail(want, &mine, mine.fault == FAULT_QUOTA ? UNKNOWN_MS : 1000);
}

void volume_ready(struct ward *w, const struct link_status *status)
{
    struct want *want = w->want;
    struct failure why;
    if (want == NULL) {
        ward_end(w, ENDING_UNUSED, "nobody waits for it and its volume any more");
        return;
    }
    if (strcmp(status->principal, want->principal) != 0) {
        failure_set(&why, FAULT_UNAVAILABLE,
                    "the profile's worker does not take a principal at its start: it is older than "
                    "volumes are");
        volume_failed(w, &why);
        return;
    }
    volume_forget(want);
    timer_cancel(&want->deadline); // the worker's answer has its own
    holding_count(&want->holding, COUNTED_NOT);
    want_bind(want, w);
}

// For people --------------------------------------------------------------------------------------

static void show(const struct binder *b, const struct driver_volume *v, struct volume_view *out)
{
    *out = (struct volume_view){.bytes = v->bytes,
                                .created_ms = v->created_ms,
                                .used_ms = v->used_ms,
                                .expires_ms = v->used_ms + v->keep_ms};
    volume_label_open(b, span_from_string(v->label), out->name);
    memcpy(out->id, v->id, sizeof out->id);
    memcpy(out->owner, v->owner, sizeof out->owner);
    memcpy(out->profile, v->profile, sizeof out->profile);
    memcpy(out->sandbox, v->sandbox, sizeof out->sandbox);
}

static void told(void *owner, const struct driver_answer *answer, const struct failure *why)
{
    struct volume_question *q = owner;
    struct volume_question was = *q;
    struct failure mine;
    question_free(q);
    if (was.listed == NULL)
        return;
    if (why != NULL) {
        away(&mine, why);
        was.listed(was.owner, NULL, 0, &mine);
        return;
    }
    struct volume_view *views = memory_new_array(answer->count + 1, sizeof *views);
    for (size_t i = 0; i < answer->count; i++)
        show(was.b, &answer->volumes[i], &views[i]);
    was.listed(was.owner, views, answer->count, NULL);
    free(views);
}

struct volume_question *binder_list_volumes(struct binder *b, const struct principal *principal,
                                            void (*done)(void *owner,
                                                         const struct volume_view *views,
                                                         size_t count, const struct failure *why),
                                            void *owner)
{
    const char *whose = principal != NULL ? principal_hash(principal) : "";
    struct volume_question *q = question_new(b, whose, owner);
    q->listed = done;
    b->with.driver->ops->volumes(b->with.driver, b->with.fleet_id, whose, told, q);
    return q;
}

static void finish_deletion(struct volume_question *q, const struct failure *why)
{
    struct volume_question was = *q;
    question_free(q);
    if (was.deleted != NULL)
        was.deleted(was.owner, why);
}

static void removed(void *owner, const struct driver_answer *answer, const struct failure *why)
{
    struct volume_question *q = owner;
    struct failure mine;
    (void)answer;
    if (why != NULL && why->fault == FAULT_CONFLICT) {
        failure_set(&mine, FAULT_CONFLICT,
                    "a sandbox has the volume; end that first (GET /v1/volumes names its handle)");
        why = &mine;
    } else if (why != NULL && why->fault != FAULT_NOT_FOUND) {
        away(&mine, why);
        why = &mine;
    }
    finish_deletion(q, why);
}

static void found(void *owner, const struct driver_answer *answer, const struct failure *why)
{
    struct volume_question *q = owner;
    struct binder *b = q->b;
    struct failure mine;
    if (why != NULL) {
        away(&mine, why);
        finish_deletion(q, &mine);
        return;
    }
    const struct driver_volume *v = find(b, answer, q->principal, q->name);
    if (v == NULL) {
        failure_set(&mine, FAULT_NOT_FOUND, "there is no such volume");
        finish_deletion(q, &mine);
        return;
    }
    b->with.driver->ops->remove_volume(b->with.driver, b->with.fleet_id, v->id, removed, q);
}

struct volume_question *binder_delete_volume(struct binder *b, const struct principal *principal,
                                             struct span name,
                                             void (*done)(void *owner, const struct failure *why),
                                             void *owner)
{
    const char *whose = principal != NULL ? principal_hash(principal) : "";
    struct volume_question *q = question_new(b, whose, owner);
    q->deleted = done;
    if (!span_copy_string(name, q->name, sizeof q->name))
        q->name[0] = '\0'; // which nothing is called
    b->with.driver->ops->volumes(b->with.driver, b->with.fleet_id, whose, found, q);
    return q;
}
