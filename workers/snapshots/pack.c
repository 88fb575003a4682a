// SPDX-License-Identifier: Apache-2.0
// A row of records: head, content, head, content … A record's head is written after its content, so
// a head of zeros is the end.
#include "workers/snapshots/pack.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gateway/lib/base/memory.h"
#include "gateway/lib/base/random.h"
#include "gateway/lib/base/table.h"

enum kind { KIND_END = 0, KIND_CONTENT = 0x57f1, KIND_LIST, KIND_FREE };
enum { PIECE = 64 << 10, PIECES_PER_CHECK = 64, ALL_ZERO_STEP = 4096 };

struct head {
    uint32_t kind;
    uint32_t reserved;
    uint64_t size;
    unsigned char digest[SHA256_SIZE];
};

struct pack {
    int fd; // borrowed
    enum pack_use use;
    uint64_t end, end_at_opening;
    struct pack_item **items; // owned
    size_t count, capacity;
    struct table *by_digest; // of contents; borrowed rows
    struct pack_item **lists;
    size_t list_count, list_capacity;
    char *piece; // PIECE bytes, owned
};

int pack_make(int folder_fd, struct failure *why)
{
    char id[ID_SIZE], name[ID_SIZE + 8];
    int fd = openat(folder_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0)
        return fd;
    id_new(id);
    snprintf(name, sizeof name, ".wrist-%s", id);
    fd = openat(folder_fd, name, O_CREAT | O_EXCL | O_RDWR | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) {
        failure_errno(why, "make the file that snapshots lie in");
        return -1;
    }
    unlinkat(folder_fd, name, 0);
    return fd;
}

static int read_at(const struct pack *p, uint64_t at, void *out, size_t size)
{
    char *to = out;
    while (size > 0) {
        ssize_t n = pread(p->fd, to, size, (off_t)at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return FAULT_IO;
        to += n;
        at += (uint64_t)n;
        size -= (size_t)n;
    }
    return 0;
}

static int write_at(int fd, uint64_t at, struct span bytes, struct failure *why)
{
    while (bytes.size > 0) {
        ssize_t n = pwrite(fd, bytes.data, bytes.size, (off_t)at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return failure_errno(why, "write to the workspace's disk");
        at += (uint64_t)n;
        bytes = span_slice(bytes, (size_t)n, bytes.size);
    }
    return 0;
}

static bool is_zero(struct span bytes)
{
    return bytes.size == 0 ||
           (bytes.data[0] == 0 && memcmp(bytes.data, bytes.data + 1, bytes.size - 1) == 0);
}

// Where whole blocks are zero nothing is written: the file has a hole there.
static int write_sparse(int fd, uint64_t at, struct span bytes, struct failure *why)
{
    for (size_t done = 0; done < bytes.size;) {
        struct span step = span_slice(bytes, done, done + ALL_ZERO_STEP);
        if (!is_zero(step)) {
            int fault = write_at(fd, at + done, step, why);
            if (fault != 0)
                return fault;
        }
        done += step.size;
    }
    return 0;
}

static void remember(struct pack *p, enum kind kind, const struct head *h, uint64_t at)
{
    struct pack_item *item = memory_new(sizeof *item);
    item->at = at;
    item->size = h->size;
    memcpy(item->digest, h->digest, sizeof item->digest);
    if (p->count == p->capacity) {
        p->capacity = p->capacity > 0 ? p->capacity * 2 : 64;
        p->items = memory_resize(p->items, p->capacity, sizeof(struct pack_item *));
    }
    p->items[p->count++] = item;
    if (kind == KIND_CONTENT) {
        table_put(p->by_digest, span_of(item->digest, sizeof item->digest), item);
        return;
    }
    if (p->list_count == p->list_capacity) {
        p->list_capacity = p->list_capacity > 0 ? p->list_capacity * 2 : 8;
        p->lists = memory_resize(p->lists, p->list_capacity, sizeof(struct pack_item *));
    }
    p->lists[p->list_count++] = item;
}

static int load(struct pack *p, struct failure *why)
{
    struct stat st;
    struct head h;
    if (fstat(p->fd, &st) != 0)
        return failure_errno(why, "look at the snapshots");
    uint64_t size = (uint64_t)st.st_size;
    while (size - p->end >= sizeof h) {
        if (read_at(p, p->end, &h, sizeof h) != 0)
            return failure_set(why, FAULT_IO, "the snapshots cannot be read");
        uint64_t at = p->end + sizeof h;
        if (h.kind == KIND_END || h.size > size - at)
            break;
        if (h.kind == KIND_CONTENT || h.kind == KIND_LIST)
            remember(p, (enum kind)h.kind, &h, at);
        p->end = at + h.size;
    }
    p->end_at_opening = p->end;
    if (p->use == PACK_WRITE && size > p->end && ftruncate(p->fd, (off_t)p->end) != 0)
        return failure_errno(why, "clear what an earlier call left behind");
    return 0;
}

int pack_open(int fd, enum pack_use use, struct pack **out, struct failure *why)
{
    if (fd < 0)
        return failure_set(why, FAULT_UNAVAILABLE,
                           "snapshots cannot be kept here: the workspace's file system has no "
                           "place for them");
    struct pack *p = memory_new(sizeof *p);
    *p = (struct pack){.fd = fd, .use = use, .by_digest = table_new(), .piece = memory_new(PIECE)};
    int fault = load(p, why);
    if (fault != 0)
        pack_close(p);
    else
        *out = p;
    return fault;
}

void pack_close(struct pack *p)
{
    if (p == NULL)
        return;
    for (size_t i = 0; i < p->count; i++)
        free(p->items[i]);
    free(p->items);
    free(p->lists);
    table_free(p->by_digest);
    free(p->piece);
    free(p);
}

const struct pack_item *pack_find(const struct pack *p, const unsigned char digest[SHA256_SIZE])
{
    return table_get(p->by_digest, span_of(digest, SHA256_SIZE));
}

size_t pack_list_count(const struct pack *p)
{
    return p->list_count;
}

const struct pack_item *pack_list(const struct pack *p, size_t index)
{
    return p->lists[index];
}

// Reads `from_fd` from its beginning; writes to the pack too where `at` is not 0.
static int pass(struct pack *p, int from_fd, uint64_t at, unsigned char digest[SHA256_SIZE],
                uint64_t *size, int (*go_on)(void *ctx, struct failure *why), void *ctx,
                struct failure *why)
{
    struct sha256 *sum = sha256_start();
    int fault = 0;
    *size = 0;
    for (size_t count = 1; fault == 0; count++) {
        ssize_t n = pread(from_fd, p->piece, PIECE, (off_t)*size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            fault = failure_errno(why, "read a file");
        if (n <= 0)
            break;
        struct span bytes = span_of(p->piece, (size_t)n);
        sha256_update(sum, bytes);
        if (at != 0)
            fault = write_sparse(p->fd, at + *size, bytes, why);
        *size += bytes.size;
        if (fault == 0 && count % PIECES_PER_CHECK == 0)
            fault = go_on(ctx, why);
    }
    sha256_finish(sum, digest);
    return fault;
}

static int finish_record(struct pack *p, enum kind kind, const struct head *content,
                         struct failure *why)
{
    struct head h = *content;
    uint64_t at = p->end + sizeof h;
    h.kind = kind;
    // The content may end in a hole: the file has to be as long as the record says.
    if (ftruncate(p->fd, (off_t)(at + h.size)) != 0)
        return failure_errno(why, "write to the workspace's disk");
    int fault = write_at(p->fd, p->end, span_of(&h, sizeof h), why);
    if (fault != 0)
        return fault;
    p->end = at + h.size;
    remember(p, kind, &h, at);
    return 0;
}

int pack_add(struct pack *p, int from_fd, unsigned char digest[SHA256_SIZE], uint64_t *size,
             int (*go_on)(void *ctx, struct failure *why), void *ctx, struct failure *why)
{
    struct head h = {0};
    int fault = pass(p, from_fd, 0, digest, size, go_on, ctx, why);
    if (fault != 0 || pack_find(p, digest) != NULL)
        return fault;
    // Read again: what is written is what counts, should it have changed meanwhile.
    fault = pass(p, from_fd, p->end + sizeof h, h.digest, &h.size, go_on, ctx, why);
    if (fault != 0)
        return fault;
    memcpy(digest, h.digest, sizeof h.digest);
    *size = h.size;
    return pack_find(p, digest) != NULL ? 0 : finish_record(p, KIND_CONTENT, &h, why);
}

int pack_add_list(struct pack *p, struct span list, struct failure *why)
{
    struct head h = {.size = list.size};
    sha256(list, h.digest);
    int fault = write_at(p->fd, p->end + sizeof h, list, why);
    return fault != 0 ? fault : finish_record(p, KIND_LIST, &h, why);
}

// The record stays, so that those behind it are found; its content's blocks go.
static void release(struct pack *p, const struct pack_item *item)
{
    struct head h = {.kind = KIND_FREE, .size = item->size};
    if (write_at(p->fd, item->at - sizeof h, span_of(&h, sizeof h), NULL) == 0 && item->size > 0)
        (void)fallocate(p->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)item->at,
                        (off_t)item->size);
}

void pack_drop_list(struct pack *p, size_t index)
{
    release(p, p->lists[index]);
    p->list_count--;
    memmove(p->lists + index, p->lists + index + 1,
            (p->list_count - index) * sizeof(struct pack_item *));
}

void pack_keep_only(struct pack *p, bool (*is_wanted)(void *ctx, const struct pack_item *item),
                    void *ctx)
{
    struct span key;
    void *row;
    for (size_t at = 0; table_next(p->by_digest, &at, &key, &row);) {
        if (is_wanted(ctx, row))
            continue;
        table_remove(p->by_digest, key);
        release(p, row);
    }
}

void pack_undo(struct pack *p)
{
    (void)!ftruncate(p->fd, (off_t)p->end_at_opening);
}

int pack_read(const struct pack *p, const struct pack_item *item, size_t limit, char **out,
              struct failure *why)
{
    if (item->size > limit)
        return failure_set(why, FAULT_TOO_LARGE, "larger than %zu bytes", limit);
    char *bytes = memory_new((size_t)item->size + 1);
    if (read_at(p, item->at, bytes, (size_t)item->size) != 0) {
        free(bytes);
        return failure_set(why, FAULT_IO, "the snapshots cannot be read");
    }
    *out = bytes;
    return 0;
}

int pack_copy(const struct pack *p, const struct pack_item *item, int to_fd, struct failure *why)
{
    int fault = 0;
    for (uint64_t done = 0; fault == 0 && done < item->size;) {
        size_t step = item->size - done < PIECE ? (size_t)(item->size - done) : PIECE;
        if (read_at(p, item->at + done, p->piece, step) != 0)
            return failure_set(why, FAULT_IO, "the snapshots cannot be read");
        fault = write_sparse(to_fd, done, span_of(p->piece, step), why);
        done += step;
    }
    if (fault == 0 && ftruncate(to_fd, (off_t)item->size) != 0)
        fault = failure_errno(why, "write to the workspace's disk");
    return fault;
}

uint64_t pack_bytes(const struct pack *p)
{
    struct stat st;
    return fstat(p->fd, &st) == 0 ? (uint64_t)st.st_blocks * 512 : 0;
}
