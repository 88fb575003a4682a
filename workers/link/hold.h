// SPDX-License-Identifier: Apache-2.0
//
// Who holds the sandbox. The first bind wins for the sandbox's life; nothing unbinds it. Sessions
// are views of its holder on it.
#ifndef WRIST_WORKERS_LINK_HOLD_H
#define WRIST_WORKERS_LINK_HOLD_H

#include "gateway/lib/control/link.h"

struct hold;

enum { HOLD_SESSIONS_MAX = 1024 };

struct hold *hold_new(int64_t generation);
void hold_free(struct hold *h);
// FAULT_CONFLICT: another principal's, or another generation. FAULT_QUOTA: too many sessions.
int hold_bind(struct hold *h, const struct link_bind *bind, struct failure *why);
const char *hold_principal(const struct hold *h); // "" while it is unbound
bool hold_has_session(const struct hold *h, struct span session);
bool hold_end_session(struct hold *h, struct span session);
size_t hold_sessions(const struct hold *h);

#endif
