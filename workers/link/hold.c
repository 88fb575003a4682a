// SPDX-License-Identifier: Apache-2.0
#include "workers/link/hold.h"

#include <inttypes.h>
#include <stdlib.h>

#include "gateway/lib/base/memory.h"
#include "gateway/lib/base/table.h"

struct grant {
    size_t sessions;
};

struct hold {
    int64_t generation;
    char principal[PRINCIPAL_HASH_SIZE];
    struct table *grants;   // principal → grant, owned
    struct table *sessions; // id → whose it is: the hold itself for its holder, else a grant
};

struct hold *hold_new(int64_t generation, const char *principal)
{
    struct hold *h = memory_new(sizeof *h);
    h->generation = generation;
    span_copy_string(span_from_string(principal), h->principal, sizeof h->principal);
    h->grants = table_new();
    h->sessions = table_new();
    return h;
}

void hold_free(struct hold *h)
{
    if (h == NULL)
        return;
    void *grant;
    for (size_t at = 0; table_next(h->grants, &at, NULL, &grant);)
        free(grant);
    table_free(h->grants);
    table_free(h->sessions);
    free(h);
}

static int session_add(struct hold *h, struct span session, void *whose, struct failure *why)
{
    void *present = table_get(h->sessions, session);
    if (session.size == 0 || present == whose)
        return 0;
    if (present != NULL)
        return failure_set(why, FAULT_CONFLICT, "the session is another principal's");
    if (table_count(h->sessions) >= HOLD_SESSIONS_MAX)
        return failure_set(why, FAULT_QUOTA, "this sandbox has %d sessions already",
                           HOLD_SESSIONS_MAX);
    if (whose != h && ((struct grant *)whose)->sessions >= HOLD_GRANT_SESSIONS_MAX)
        return failure_set(why, FAULT_QUOTA, "a grant has at most %d sessions",
                           HOLD_GRANT_SESSIONS_MAX);
    if (whose != h)
        ((struct grant *)whose)->sessions++;
    table_put(h->sessions, session, whose);
    return 0;
}

static int check_generation(const struct hold *h, int64_t generation, struct failure *why)
{
    if (generation == h->generation)
        return 0;
    return failure_set(why, FAULT_CONFLICT,
                       "this is generation %" PRId64 " of the sandbox, not %" PRId64, h->generation,
                       generation);
}

int hold_bind(struct hold *h, const struct link_bind *bind, struct failure *why)
{
    void *whose = h;
    if (check_generation(h, bind->generation, why) != 0)
        return why->fault;
    if (h->principal[0] != '\0' && strcmp(h->principal, bind->principal) != 0)
        whose = table_get(h->grants, span_from_string(bind->principal));
    if (whose == NULL)
        return failure_set(why, FAULT_CONFLICT, "the sandbox is bound to another principal");
    int fault = session_add(h, span_from_string(bind->session), whose, why);
    if (fault == 0 && whose == h)
        memcpy(h->principal, bind->principal, sizeof h->principal);
    return fault;
}

int hold_grant(struct hold *h, const struct link_grant *grant, struct failure *why)
{
    struct span principal = span_from_string(grant->principal);
    if (check_generation(h, grant->generation, why) != 0)
        return why->fault;
    if (h->principal[0] == '\0')
        return failure_set(why, FAULT_CONFLICT, "the sandbox is bound to nobody yet");
    if (strcmp(h->principal, grant->principal) == 0 || table_get(h->grants, principal) != NULL)
        return 0;
    if (table_count(h->grants) >= LINK_GRANTS_MOST)
        return failure_set(why, FAULT_QUOTA, "a sandbox has at most %d grants", LINK_GRANTS_MOST);
    table_put(h->grants, principal, memory_new(sizeof(struct grant)));
    return 0;
}

int hold_revoke(struct hold *h, const struct link_grant *order,
                void (*ended)(void *owner, struct span session), void *owner, struct failure *why)
{
    struct span session;
    void *whose;
    if (check_generation(h, order->generation, why) != 0)
        return why->fault;
    struct grant *grant = table_remove(h->grants, span_from_string(order->principal));
    if (grant == NULL)
        return failure_set(why, FAULT_NOT_FOUND, "that principal has no grant");
    for (size_t at = 0; table_next(h->sessions, &at, &session, &whose);) {
        if (whose != grant)
            continue;
        ended(owner, session);
        table_remove(h->sessions, session);
    }
    free(grant);
    return 0;
}

bool hold_serves(const struct hold *h, struct span principal)
{
    return span_is(principal, h->principal) || table_get(h->grants, principal) != NULL;
}

const char *hold_principal(const struct hold *h)
{
    return h->principal;
}

bool hold_has_session(const struct hold *h, struct span session)
{
    return table_get(h->sessions, session) != NULL;
}

bool hold_end_session(struct hold *h, struct span session)
{
    void *whose = table_remove(h->sessions, session);
    if (whose != NULL && whose != h)
        ((struct grant *)whose)->sessions--;
    return whose != NULL;
}

size_t hold_sessions(const struct hold *h)
{
    return table_count(h->sessions);
}
