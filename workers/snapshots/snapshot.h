// SPDX-License-Identifier: Apache-2.0
//
// One snapshot: its name, when it was made, and the tree it holds; and its form in the pack.
#ifndef WRIST_WORKERS_SNAPSHOTS_SNAPSHOT_H
#define WRIST_WORKERS_SNAPSHOTS_SNAPSHOT_H

#include "gateway/lib/base/buffer.h"
#include "workers/snapshots/pack.h"
#include "workers/snapshots/tree.h"

enum { SNAPSHOT_NAME_SIZE = 65, SNAPSHOT_TEXT_SIZE = 1025, SNAPSHOTS_MAX = 64 };

struct snapshot {
    char name[SNAPSHOT_NAME_SIZE];
    char description[SNAPSHOT_TEXT_SIZE];
    int64_t created_ms;
    uint64_t files, bytes; // of its tree
    struct tree tree;      // owned
};

void snapshot_init(struct snapshot *s);
void snapshot_fini(struct snapshot *s);

int snapshot_write(const struct snapshot *s, struct buffer *out);
int snapshot_read(struct span bytes, struct snapshot *out, struct failure *why);

// The newest in the pack with this name: its index among the lists. NOT_FOUND tells which there
// are.
int snapshot_find(const struct pack *p, struct span name, size_t *index, struct failure *why);
// Those of that name but the newest go.
void snapshot_drop_older(struct pack *p, struct span name);
int snapshot_load(const struct pack *p, size_t index, struct snapshot *out, struct failure *why);

#endif
