// SPDX-License-Identifier: Apache-2.0
//
// What linters and compilers say about files that were just written, for the same answer, or, where
// they are slow, for the next one of the same reader. An answer is held back by at most
// FINDINGS_WAIT_MS.
#ifndef WRIST_WORKERS_LINK_FINDINGS_H
#define WRIST_WORKERS_LINK_FINDINGS_H

#include "workers/command/command.h"

struct findings;

enum {
    FINDINGS_WAIT_MS = 2000,
    FINDINGS_CHECK_MS = 60000, // then it is given up
    FINDINGS_CHECKS_MAX = 4,   // at once; an older one makes room
    FINDINGS_KEPT_MAX = 16,    // that nobody has been told
};

// `command`: borrowed, as command_start takes it.
struct findings *findings_new(const struct command_options *command);
void findings_free(struct findings *f);

// The reader wrote `path` (as the tool's argument). False: nothing looks at such files, and `told`
// will not come. Else it comes once, from the loop, when there is something to take or the wait is
// over; findings_forget takes it back.
bool findings_start(struct findings *f, struct span reader, struct span path,
                    void (*told)(void *owner), void *owner);
void findings_forget(struct findings *f, void *owner);

// All that the reader has not been told yet, and which files are still looked at. Nothing: false.
bool findings_take(struct findings *f, struct span reader, struct buffer *out);

#endif
