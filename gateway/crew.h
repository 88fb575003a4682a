// SPDX-License-Identifier: Apache-2.0
//
// Several gateway processes on the same ports, and the parent that keeps them there. The parent has
// no loop and talks to nobody: it holds their sockets, so that what waits on the socket of one that
// died is served by the next in its place.
#ifndef WRIST_GATEWAY_CREW_H
#define WRIST_GATEWAY_CREW_H

#include <signal.h>

#include "gateway/config/config.h"

struct crew;

// From the parent, when it was asked twice. A supervisor may signal the processes beside it, and so
// may a terminal: to them a second SIGTERM says nothing new.
#define CREW_STOP_NOW SIGUSR1

// Binds every process's sockets, while ports may still be bound.
struct crew *crew_new(const struct config *config, struct failure *why);
void crew_free(struct crew *c);

// Starts the processes and returns true in each of them: *sockets is then for front_bind, *process
// counts from 0. In the parent it returns false once all have ended, after SIGTERM or because none
// could start; *status is then the parent's exit status. SIGHUP is passed on.
bool crew_run(struct crew *c, const int **sockets, size_t *process, int *status);

#endif
