// SPDX-License-Identifier: Apache-2.0
//
// Who holds the sandbox. The first bind wins for the sandbox's life; nothing unbinds it. Sessions
// are views on it, of its holder or of a principal that was granted its use.
#ifndef WRIST_WORKERS_LINK_HOLD_H
#define WRIST_WORKERS_LINK_HOLD_H

#include "gateway/lib/control/link.h"

struct hold;

// So few that all grants together leave the holder room.
enum { HOLD_SESSIONS_MAX = 1024, HOLD_GRANT_SESSIONS_MAX = 64 };

// `principal` holds it from the start; "": whoever binds first.
struct hold *hold_new(int64_t generation, const char *principal);
void hold_free(struct hold *h);
// FAULT_CONFLICT: another principal's, which was not granted, or another generation. FAULT_QUOTA:
// too many sessions.
int hold_bind(struct hold *h, const struct link_bind *bind, struct failure *why);
// FAULT_CONFLICT: it has no holder yet, or is another generation. FAULT_QUOTA: too many grants.
int hold_grant(struct hold *h, const struct link_grant *grant, struct failure *why);
// Takes the grant back, and hands out each session of that principal before it is forgotten.
// FAULT_NOT_FOUND: there was none. FAULT_CONFLICT: another generation.
int hold_revoke(struct hold *h, const struct link_grant *order,
                void (*ended)(void *owner, struct span session), void *owner, struct failure *why);
// Whether requests of that principal may come without a session.
bool hold_serves(const struct hold *h, struct span principal);
const char *hold_principal(const struct hold *h); // "" while it is unbound
bool hold_has_session(const struct hold *h, struct span session);
bool hold_end_session(struct hold *h, struct span session);
size_t hold_sessions(const struct hold *h);

#endif
