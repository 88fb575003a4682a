// SPDX-License-Identifier: Apache-2.0
//
// Giving up rights for good. Called once at start, after everything that needs rights was opened
// and before the first byte from a peer is read; single-threaded.
#ifndef WRIST_GATEWAY_LIB_CONFINE_PRIVILEGES_H
#define WRIST_GATEWAY_LIB_CONFINE_PRIVILEGES_H

#include <linux/capability.h>
#include <stdint.h>

#include "gateway/lib/base/failure.h"
#include "gateway/lib/confine/user.h"

#define CONFINE_CAPABILITY(number) (UINT64_C(1) << (number)) // of CAP_SETUID and its like

// In this order: the bounding set loses what is not in `keep`; the process becomes `user` (NULL: it
// stays who it is) without supplementary groups; ambient and inheritable sets are emptied,
// permitted and effective become `keep`; no_new_privs; not dumpable. What cannot be had is an
// error, but for the bounding set of a process that may not touch it: no_new_privs makes that one
// harmless.
int privileges_drop(const struct user *user, uint64_t keep, struct failure *why);

// The single steps, for children that are set up piece by piece. Async-signal-safe: after fork.
int privileges_become(const struct user *user, struct failure *why); // keeps no capability over it
int privileges_keep(uint64_t keep,
                    struct failure *why); // bounding, ambient, inheritable, permitted
int privileges_seal(struct failure *why); // no_new_privs, not dumpable

uint64_t privileges_effective(void); // the capabilities this process has now
#endif
