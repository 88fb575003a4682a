// SPDX-License-Identifier: Apache-2.0
//
// What sandboxes there are, kept where a restart finds it: one small file each. The intent is on
// disk before an engine is asked to make anything, and the file goes last, after everything else of
// the sandbox is gone.
#ifndef WRIST_DRIVER_JOURNAL_H
#define WRIST_DRIVER_JOURNAL_H

#include "driver/process.h"
#include "gateway/lib/control/driver_api.h"

struct journal_entry {
    struct driver_record record;
    struct process process; // of RUNNING
    bool removing;          // its end was asked for
};

struct journal; // the directory, locked against a second driver

// Also makes the installation's id, at the first start. FAULT_CONFLICT where another driver runs.
int journal_open(const char *state_dir, struct journal **out, struct failure *why);
void journal_close(struct journal *j);
const char *journal_installation(const struct journal *j);

int journal_write(const struct journal *j, const struct journal_entry *entry, bool durable,
                  struct failure *why);
int journal_remove(const struct journal *j, const char *id, struct failure *why);
// `entry` is NULL where the file cannot be read any more; the id is then all that is known.
int journal_each(const struct journal *j,
                 void (*found)(void *owner, const char *id, const struct journal_entry *entry),
                 void *owner, struct failure *why);

#endif
