// SPDX-License-Identifier: Apache-2.0
//
// Snapshots of the workspace: everything in it, ignored files, .git and empty directories too, with
// modes, times and extended attributes. Nothing of what lies there is run, and paths are bytes.
// Runs in a hand, as the command's user.
#ifndef WRIST_WORKERS_SNAPSHOTS_SNAPSHOTS_H
#define WRIST_WORKERS_SNAPSHOTS_SNAPSHOTS_H

#include "gateway/lib/base/clock.h"
#include "workers/snapshots/snapshot.h"

struct snapshots {
    const struct workspace *workspace;
    int pack_fd; // of pack_make, or -1
    const struct clock *clock;
    int (*go_on)(void *ctx, struct failure *why); // cancelled, or out of time
    void *ctx;
};

// What restoring keeps the present state as.
#define SNAPSHOT_BEFORE_RESTORE "before-restore"

int snapshots_create(const struct snapshots *s, struct span name, struct span description,
                     bool replace, struct buffer *out, struct failure *why);
int snapshots_list(const struct snapshots *s, struct buffer *out, struct failure *why);
// Makes the workspace what it was. What stands in a hidden part is left alone.
int snapshots_restore(const struct snapshots *s, struct span name, bool keep_current,
                      struct buffer *out, struct failure *why);
// From the snapshot to `to`, or to now where that is absent.
int snapshots_diff(const struct snapshots *s, struct span name, struct span to, bool names_only,
                   struct buffer *out, struct failure *why);

// --- for the files of this folder ----------------------------------------------------------------

// The tree as it is now.
int snapshots_scan(const struct snapshots *s, struct tree *out, struct failure *why);
// A path beneath the workspace: its directory, and its last part (which lies in `path`).
struct directory;
int snapshots_place(const struct snapshots *s, struct span path, struct directory *dir,
                    const char **name, struct failure *why);
int snapshots_digest(const struct snapshots *s, struct tree_entry *e, struct failure *why);
// Adds a tree with all its contents to the pack.
int snapshots_keep(const struct snapshots *s, struct pack *p, struct snapshot *snapshot,
                   struct failure *why);
// Of the snapshots with this name all but the newest go, and what only they held.
void snapshots_forget_older(struct pack *p, struct span name);
void snapshots_show_path(struct span path, struct buffer *out); // safe in a line of text

#endif
