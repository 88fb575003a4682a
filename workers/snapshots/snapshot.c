// SPDX-License-Identifier: Apache-2.0
// The form in the pack: fixed fields, then the entries one after another. Only this program's own
// writing is read, but a length is never believed beyond what is there.
#include "workers/snapshots/snapshot.h"

#include <stdlib.h>

#include "gateway/lib/base/memory.h"

enum { LIST_BYTES_MAX = 256 << 20, NAMES_TOLD = 12 };

struct fixed {
    uint32_t type, mode;
    struct timespec mtime, ctime;
    uint64_t inode, size;
    uint32_t path, target, attributes; // bytes; absent ones are 0
    unsigned char has_digest;
    unsigned char digest[SHA256_SIZE];
};

struct start {
    char name[SNAPSHOT_NAME_SIZE];
    char description[SNAPSHOT_TEXT_SIZE];
    int64_t created_ms;
    uint64_t files, bytes, count;
};

void snapshot_init(struct snapshot *s)
{
    *s = (struct snapshot){0};
    tree_init(&s->tree);
}

void snapshot_fini(struct snapshot *s)
{
    tree_fini(&s->tree);
}

static int write_entry(const struct tree_entry *e, struct buffer *out)
{
    struct fixed f;
    memset(&f, 0, sizeof f); // gaps too
    f.type = e->type;
    f.mode = e->mode;
    f.mtime = e->mtime;
    f.ctime = e->ctime;
    f.inode = e->inode;
    f.size = e->size;
    f.path = (uint32_t)e->path.size;
    f.target = (uint32_t)e->target.size;
    f.attributes = (uint32_t)e->attributes.size;
    f.has_digest = e->has_digest;
    memcpy(f.digest, e->digest, sizeof f.digest);
    int fault = buffer_append(out, span_of(&f, sizeof f));
    if (fault == 0)
        fault = buffer_append(out, e->path);
    if (fault == 0)
        fault = buffer_append(out, e->target);
    if (fault == 0)
        fault = buffer_append(out, e->attributes);
    return fault;
}

int snapshot_write(const struct snapshot *s, struct buffer *out)
{
    struct start start;
    memset(&start, 0, sizeof start);
    memcpy(start.name, s->name, sizeof start.name);
    memcpy(start.description, s->description, sizeof start.description);
    start.created_ms = s->created_ms;
    start.files = s->files;
    start.bytes = s->bytes;
    start.count = s->tree.count;
    buffer_init(out, LIST_BYTES_MAX);
    int fault = buffer_append(out, span_of(&start, sizeof start));
    for (size_t i = 0; fault == 0 && i < s->tree.count; i++)
        fault = write_entry(&s->tree.entries[i], out);
    return fault;
}

static bool take(struct span *rest, size_t size, struct span *out)
{
    if (rest->size < size)
        return false;
    *out = span_slice(*rest, 0, size);
    *rest = span_slice(*rest, size, rest->size);
    return true;
}

static bool read_entry(struct span *rest, struct tree *tree)
{
    struct fixed f;
    struct span bytes, path, target, attributes;
    if (!take(rest, sizeof f, &bytes))
        return false;
    memcpy(&f, bytes.data, sizeof f);
    if (!take(rest, f.path, &path) || !take(rest, f.target, &target) ||
        !take(rest, f.attributes, &attributes))
        return false;
    struct tree_entry *e = tree_add(tree, path);
    if (e == NULL)
        return false;
    e->type = (enum tree_type)f.type;
    e->mode = f.mode;
    e->mtime = f.mtime;
    e->ctime = f.ctime;
    e->inode = f.inode;
    e->size = f.size;
    e->has_digest = f.has_digest != 0;
    memcpy(e->digest, f.digest, sizeof e->digest);
    e->target = f.target > 0 ? arena_copy(tree->arena, target) : SPAN_NONE;
    e->attributes = f.attributes > 0 ? arena_copy(tree->arena, attributes) : SPAN_NONE;
    return (f.target == 0 || !span_is_absent(e->target)) &&
           (f.attributes == 0 || !span_is_absent(e->attributes));
}

static bool read_start(struct span *rest, struct snapshot *out, uint64_t *count)
{
    struct start start;
    struct span bytes;
    if (!take(rest, sizeof start, &bytes))
        return false;
    memcpy(&start, bytes.data, sizeof start);
    start.name[sizeof start.name - 1] = start.description[sizeof start.description - 1] = '\0';
    memcpy(out->name, start.name, sizeof out->name);
    memcpy(out->description, start.description, sizeof out->description);
    out->created_ms = start.created_ms;
    out->files = start.files;
    out->bytes = start.bytes;
    *count = start.count;
    return true;
}

int snapshot_read(struct span bytes, struct snapshot *out, struct failure *why)
{
    uint64_t count;
    bool whole = read_start(&bytes, out, &count);
    for (uint64_t i = 0; whole && i < count; i++)
        whole = read_entry(&bytes, &out->tree);
    return whole ? 0 : failure_set(why, FAULT_IO, "the snapshot is damaged");
}

int snapshot_load(const struct pack *p, size_t index, struct snapshot *out, struct failure *why)
{
    CLEANUP_FREE char *bytes = NULL;
    const struct pack_item *list = pack_list(p, index);
    int fault = pack_read(p, list, LIST_BYTES_MAX, &bytes, why);
    return fault != 0 ? fault : snapshot_read(span_of(bytes, (size_t)list->size), out, why);
}

// The name stands at a list's very beginning.
static bool read_name(const struct pack *p, size_t index, char out[SNAPSHOT_NAME_SIZE])
{
    struct pack_item start = *pack_list(p, index);
    char *bytes = NULL;
    if (start.size < SNAPSHOT_NAME_SIZE)
        return false;
    start.size = SNAPSHOT_NAME_SIZE;
    if (pack_read(p, &start, SNAPSHOT_NAME_SIZE, &bytes, NULL) != 0)
        return false;
    memcpy(out, bytes, SNAPSHOT_NAME_SIZE);
    out[SNAPSHOT_NAME_SIZE - 1] = '\0';
    free(bytes);
    return true;
}

static int not_there(const struct pack *p, struct span name, struct failure *why)
{
    char known[SNAPSHOT_NAME_SIZE], all[NAMES_TOLD * SNAPSHOT_NAME_SIZE];
    struct buffer names;
    buffer_init(&names, sizeof all - 1);
    size_t count = pack_list_count(p);
    for (size_t i = count > NAMES_TOLD ? count - NAMES_TOLD : 0; i < count; i++)
        if (read_name(p, i, known))
            buffer_printf(&names, "%s%s", buffer_size(&names) > 0 ? ", " : "", known);
    span_copy_string(buffer_span(&names), all, sizeof all);
    buffer_fini(&names);
    if (count == 0)
        return failure_set(why, FAULT_NOT_FOUND,
                           "there is no snapshot \"%.64s\": none was made yet, use "
                           "snapshot_create",
                           name.data);
    return failure_set(why, FAULT_NOT_FOUND, "there is no snapshot \"%.64s\"; there are: %.300s",
                       name.data, all);
}

void snapshot_drop_older(struct pack *p, struct span name)
{
    char known[SNAPSHOT_NAME_SIZE];
    bool is_newest = true;
    for (size_t i = pack_list_count(p); i > 0; i--) {
        if (!read_name(p, i - 1, known) || !span_is(name, known))
            continue;
        if (!is_newest)
            pack_drop_list(p, i - 1);
        is_newest = false;
    }
}

int snapshot_find(const struct pack *p, struct span name, size_t *index, struct failure *why)
{
    char known[SNAPSHOT_NAME_SIZE], wanted[SNAPSHOT_NAME_SIZE] = "";
    if (!span_copy_string(name, wanted, sizeof wanted))
        return failure_set(why, FAULT_INVALID, "a snapshot's name has at most %d characters",
                           SNAPSHOT_NAME_SIZE - 1);
    for (size_t i = pack_list_count(p); i > 0; i--) {
        if (!read_name(p, i - 1, known) || strcmp(known, wanted) != 0)
            continue;
        *index = i - 1;
        return 0;
    }
    return not_there(p, span_from_string(wanted), why);
}
