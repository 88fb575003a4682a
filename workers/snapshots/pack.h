// SPDX-License-Identifier: Apache-2.0
//
// Where snapshots lie: one nameless file on the workspace's own disk, so that it counts against the
// disk's cap, ends with the sandbox, and cannot be reached from inside. Contents are kept once
// each, by their SHA-256; a snapshot is a list of them, written last. What was being written when
// its writer died is not there.
//
// One writer at a time (the pool of hands sees to it); readers may look meanwhile.
#ifndef WRIST_WORKERS_SNAPSHOTS_PACK_H
#define WRIST_WORKERS_SNAPSHOTS_PACK_H

#include "gateway/lib/base/failure.h"
#include "gateway/lib/base/span.h"
#include "gateway/lib/crypto/digest.h"

struct pack;

enum pack_use { PACK_READ, PACK_WRITE };

// The nameless file: its fd, or -1. `folder_fd` is where it lies.
int pack_make(int folder_fd, struct failure *why);

int pack_open(int fd, enum pack_use use, struct pack **out, struct failure *why); // fd: borrowed
void pack_close(struct pack *p);

struct pack_item {
    uint64_t at, size; // of the content in the file
    unsigned char digest[SHA256_SIZE];
};

const struct pack_item *pack_find(const struct pack *p, const unsigned char digest[SHA256_SIZE]);
// All snapshots' lists, the oldest first. Valid until something is added.
size_t pack_list_count(const struct pack *p);
const struct pack_item *pack_list(const struct pack *p, size_t index);

// Copies what `from_fd` holds to its end, if it is not here yet. *digest and *size are those of
// what was copied. `go_on` is asked now and then.
int pack_add(struct pack *p, int from_fd, unsigned char digest[SHA256_SIZE], uint64_t *size,
             int (*go_on)(void *ctx, struct failure *why), void *ctx, struct failure *why);
int pack_add_list(struct pack *p, struct span list, struct failure *why);
// Gives the disk back what is not wanted any more.
void pack_drop_list(struct pack *p, size_t index);
void pack_keep_only(struct pack *p, bool (*is_wanted)(void *ctx, const struct pack_item *item),
                    void *ctx);
// Everything added since the opening is gone again.
void pack_undo(struct pack *p);

// Reads all of an item, at most `limit` bytes. `out` is owned by the caller.
int pack_read(const struct pack *p, const struct pack_item *item, size_t limit, char **out,
              struct failure *why);
// Writes an item to a new, empty file. Runs of zeros become holes.
int pack_copy(const struct pack *p, const struct pack_item *item, int to_fd, struct failure *why);
uint64_t pack_bytes(const struct pack *p); // what it takes of the disk

#endif
