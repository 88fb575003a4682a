// SPDX-License-Identifier: Apache-2.0
#include "workers/link/hold.h"

#include <inttypes.h>
#include <stdlib.h>

#include "gateway/lib/base/memory.h"
#include "gateway/lib/base/table.h"

struct hold {
    int64_t generation;
    char principal[PRINCIPAL_HASH_SIZE];
    struct table *sessions; // id → the hold itself: a set
};

struct hold *hold_new(int64_t generation)
{
    struct hold *h = memory_new(sizeof *h);
    h->generation = generation;
    h->sessions = table_new();
    return h;
}

void hold_free(struct hold *h)
{
    if (h == NULL)
        return;
    table_free(h->sessions);
    free(h);
}

static int session_add(struct hold *h, struct span session, struct failure *why)
{
    if (session.size == 0 || hold_has_session(h, session))
        return 0;
    if (table_count(h->sessions) >= HOLD_SESSIONS_MAX)
        return failure_set(why, FAULT_QUOTA, "this sandbox has %d sessions already",
                           HOLD_SESSIONS_MAX);
    table_put(h->sessions, session, h);
    return 0;
}

int hold_bind(struct hold *h, const struct link_bind *bind, struct failure *why)
{
    if (bind->generation != h->generation)
        return failure_set(why, FAULT_CONFLICT,
                           "this is generation %" PRId64 " of the sandbox, not %" PRId64,
                           h->generation, bind->generation);
    if (h->principal[0] != '\0' && strcmp(h->principal, bind->principal) != 0)
        return failure_set(why, FAULT_CONFLICT, "the sandbox is bound to another principal");
    int fault = session_add(h, span_from_string(bind->session), why);
    if (fault == 0)
        memcpy(h->principal, bind->principal, sizeof h->principal);
    return fault;
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
    return table_remove(h->sessions, session) != NULL;
}

size_t hold_sessions(const struct hold *h)
{
    return table_count(h->sessions);
}
