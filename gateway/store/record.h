// SPDX-License-Identifier: Apache-2.0
// What the store keeps, as plain values, and their one-line text for the journal.
#ifndef WRIST_GATEWAY_STORE_RECORD_H
#define WRIST_GATEWAY_STORE_RECORD_H

#include "gateway/lib/base/buffer.h"
#include "gateway/lib/control/driver_api.h"
#include "gateway/lib/control/link.h"

enum {
    STORE_NAME_SIZE = 192, // keys, ids, pool names: no spaces, no control characters
    STORE_DUE_MAX = 64,
};

struct sandbox_grants {
    char principals[LINK_GRANTS_MOST][PRINCIPAL_HASH_SIZE];
    size_t count;
};
bool sandbox_grants_has(const struct sandbox_grants *g, const char *principal);
bool sandbox_grants_add(struct sandbox_grants *g, const char *principal); // false: there are enough
void sandbox_grants_remove(struct sandbox_grants *g, const char *principal);

struct sandbox_record {
    char id[ID_SIZE];
    char profile[PROFILE_NAME_SIZE];
    char principal[PRINCIPAL_HASH_SIZE]; // "" while it is unbound
    char tenant[ID_SIZE];                // its principal's; "" where it is not known
    int64_t generation;
    int64_t created_ms;           // wall time
    int64_t claimed_ms;           // 0 while it is unbound
    int64_t idle_ms, absolute_ms; // its lives, from the claim
    struct sandbox_grants grants; // who may use it besides its principal
};

#define BINDING_STATE_TABLE(X)                                                                     \
    X(BOUND, "bound") /* to `sandbox`; whether that still lives is another question */             \
    X(LOST, "lost")   /* the sandbox is gone and the client was not told yet */                    \
    X(FREE, "free")   /* told; the next call binds anew */                                         \
    X(ENDED, "ended") /* a tombstone: deleted, or over */
enum binding_state {
#define X(name, text) BINDING_##name,
    BINDING_STATE_TABLE(X)
#undef X
};
const char *binding_state_name(enum binding_state state);

// What a client's calls are bound to. `key` is `s:` and the session, or `p:`, the principal and the
// profile.
struct binding_record {
    char key[STORE_NAME_SIZE];
    char principal[PRINCIPAL_HASH_SIZE];
    char profile[PROFILE_NAME_SIZE];
    enum binding_state state;
    char sandbox[ID_SIZE]; // "" where it never had one
    int64_t generation;
    int64_t ended_ms; // sessions issued up to then are over; 0: none
    int64_t until_ms; // kept until then
};

enum deadline_kind { DEADLINE_IDLE, DEADLINE_ABSOLUTE, DEADLINE_KINDS };

struct quota_bucket {
    char name[STORE_NAME_SIZE];
    int64_t limit;      // ids in it; 0: any
    int64_t per_minute; // claims, and so many at once; 0: any. Only a shared store counts them
};

// One line without its end. Parsing refuses anything that writing would not have made.
int sandbox_record_write(const struct sandbox_record *r, struct buffer *out);
int sandbox_record_parse(struct span line, struct sandbox_record *out, struct failure *why);
int binding_record_write(const struct binding_record *r, struct buffer *out);
int binding_record_parse(struct span line, struct binding_record *out, struct failure *why);
bool store_name_is_valid(struct span name);

#endif
