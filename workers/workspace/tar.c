// SPDX-License-Identifier: Apache-2.0
#include "workers/workspace/tar.h"

#include <stdlib.h>

#include "gateway/lib/base/buffer.h"
#include "gateway/lib/base/memory.h"

enum {
    BLOCK = 512,
    EXTENDED_MAX = 64 << 10, // of a pax header or a long name
    NAME_MAX_BYTES = 16 << 10,
};

// One state at a time; `left` counts what is still to come of it.
enum tar_state {
    TAR_HEADER,   // collecting a block
    TAR_CONTENT,  // a file's bytes, straight through
    TAR_EXTENDED, // collecting a pax header or a long name
    TAR_SKIPPED,  // content of a member that has none for us (a global header)
    TAR_PADDING,  // up to the next block
    TAR_ENDED,    // behind the end mark: whatever comes is left alone
};

struct tar {
    const struct tar_ops *ops;
    void *ctx;
    enum tar_state state;
    unsigned char block[BLOCK];
    size_t filled; // of block
    uint64_t left;
    size_t padding;
    char extended_type;     // 'x', 'L' or 'K'
    struct buffer extended; // its content
    // What extended headers said about the next member.
    struct buffer path, target;
    bool has_size, has_mtime;
    uint64_t size;
    int64_t mtime_s;
    bool zero_before; // the last block was all zeros
    bool any;
};

struct tar *tar_new(const struct tar_ops *ops, void *ctx)
{
    struct tar *t = memory_new(sizeof *t);
    t->ops = ops;
    t->ctx = ctx;
    buffer_init(&t->extended, EXTENDED_MAX);
    buffer_init(&t->path, NAME_MAX_BYTES);
    buffer_init(&t->target, NAME_MAX_BYTES);
    return t;
}

void tar_free(struct tar *t)
{
    if (t == NULL)
        return;
    buffer_fini(&t->extended);
    buffer_fini(&t->path);
    buffer_fini(&t->target);
    free(t);
}

static int refuse(struct failure *why, const char *what)
{
    return failure_set(why, FAULT_INVALID, "not a tar archive that is taken here: %s", what);
}

// A field of text: up to its NUL or its end.
static struct span field(const struct tar *t, size_t at, size_t size)
{
    const char *text = (const char *)t->block + at;
    return span_of(text, strnlen(text, size));
}

// Octal digits between spaces and NULs, or GNU's base 256 (first bit set).
static bool number(const struct tar *t, size_t at, size_t size, uint64_t *out)
{
    const unsigned char *p = t->block + at, *end = p + size;
    uint64_t value = 0;
    if (p[0] == 0xff) // negative
        return false;
    if (p[0] & 0x80) {
        value = p[0] & 0x7f;
        for (p++; p < end; p++) {
            if (value >> 55 != 0)
                return false;
            value = value << 8 | *p;
        }
        *out = value;
        return true;
    }
    while (p < end && *p == ' ')
        p++;
    for (; p < end && *p >= '0' && *p <= '7'; p++)
        value = value << 3 | (uint64_t)(*p - '0'); // 12 digits: fits
    if (p < end && *p != ' ' && *p != '\0')
        return false;
    *out = value;
    return true;
}

static bool checksum_is_right(const struct tar *t)
{
    uint64_t told, sum = 0;
    for (size_t i = 0; i < BLOCK; i++)
        sum += i >= 148 && i < 156 ? ' ' : t->block[i];
    return number(t, 148, 8, &told) && told == sum;
}

static void start_content(struct tar *t, enum tar_state state, uint64_t size)
{
    t->state = state;
    t->left = size;
    t->padding = (size_t)((BLOCK - size % BLOCK) % BLOCK);
}

static void forget_extended(struct tar *t)
{
    buffer_clear(&t->path);
    buffer_clear(&t->target);
    t->has_size = t->has_mtime = false;
}

static enum tar_kind kind_of(char type)
{
    switch (type) {
    case '0':
    case '\0':
    case '7':
        return TAR_FILE;
    case '1':
        return TAR_HARDLINK;
    case '2':
        return TAR_SYMLINK;
    case '5':
        return TAR_DIRECTORY;
    default:
        return TAR_OTHER;
    }
}

// ustar splits long paths over two fields.
static int set_path(struct tar *t, struct failure *why)
{
    struct span name = field(t, 0, 100), prefix = SPAN_NONE;
    int rc = 0;
    if (memcmp(t->block + 257, "ustar\0", 6) == 0)
        prefix = field(t, 345, 155);
    if (prefix.size > 0)
        rc = buffer_append(&t->path, prefix);
    if (rc == 0 && prefix.size > 0)
        rc = buffer_append_char(&t->path, '/');
    if (rc == 0)
        rc = buffer_append(&t->path, name);
    return rc == 0 ? 0 : refuse(why, "a path is too long");
}

static int start_member(struct tar *t, uint64_t size, struct failure *why)
{
    uint64_t mode, mtime = 0;
    char type = (char)t->block[156];
    if (buffer_size(&t->path) == 0 && set_path(t, why) != 0)
        return FAULT_INVALID;
    if (!number(t, 100, 8, &mode))
        return refuse(why, "a mode that is no number");
    if (!t->has_mtime && number(t, 136, 12, &mtime))
        t->mtime_s = mtime > INT64_MAX ? 0 : (int64_t)mtime;
    struct tar_member m = {
        .kind = kind_of(type),
        .path = buffer_span(&t->path),
        .target = buffer_size(&t->target) > 0 ? buffer_span(&t->target) : field(t, 157, 100),
        .size = t->has_size ? t->size : size,
        .mode = (uint32_t)(mode & 07777),
        .mtime_s = t->mtime_s,
        .type = type == '\0' ? '0' : type,
    };
    if (m.kind == TAR_FILE && m.path.size > 0 && m.path.data[m.path.size - 1] == '/')
        m.kind = TAR_DIRECTORY; // as before ustar
    if (m.kind != TAR_FILE)
        m.size = 0; // links and directories carry no content, whatever the field says
    t->any = true;
    int rc = t->ops->member(t->ctx, &m, why);
    if (rc == 0 && m.kind == TAR_FILE && m.size == 0)
        rc = t->ops->end(t->ctx, why);
    forget_extended(t);
    if (m.size > 0)
        start_content(t, TAR_CONTENT, m.size);
    return rc;
}

static int start_extended(struct tar *t, uint64_t size, struct failure *why)
{
    if (size > EXTENDED_MAX)
        return refuse(why, "an extended header is too large");
    t->extended_type = (char)t->block[156];
    buffer_clear(&t->extended);
    start_content(t, TAR_EXTENDED, size);
    return 0;
}

static bool is_zero_block(const struct tar *t)
{
    for (size_t i = 0; i < BLOCK; i++)
        if (t->block[i] != 0)
            return false;
    return true;
}

static int take_header(struct tar *t, struct failure *why)
{
    uint64_t size;
    if (is_zero_block(t)) {
        if (t->zero_before)
            t->state = TAR_ENDED;
        t->zero_before = true;
        return 0;
    }
    t->zero_before = false;
    if (!checksum_is_right(t))
        return refuse(why, "a header's checksum is wrong");
    if (!number(t, 124, 12, &size) || size > INT64_MAX)
        return refuse(why, "a size that is no number");
    switch (t->block[156]) {
    case 'x':
    case 'L':
    case 'K':
        return start_extended(t, size, why);
    case 'g':
        start_content(t, TAR_SKIPPED, size);
        return 0;
    default:
        return start_member(t, size, why);
    }
}

static int set_text(struct buffer *to, struct span value, struct failure *why)
{
    buffer_clear(to);
    if (memchr(value.data, '\0', value.size) != NULL)
        return refuse(why, "a NUL in a name");
    return buffer_append(to, value) == 0 ? 0 : refuse(why, "a path is too long");
}

static int take_pax_record(struct tar *t, struct span key, struct span value, struct failure *why)
{
    if (span_is(key, "path"))
        return set_text(&t->path, value, why);
    if (span_is(key, "linkpath"))
        return set_text(&t->target, value, why);
    if (span_is(key, "size")) {
        if (!span_to_u64(value, &t->size) || t->size > INT64_MAX)
            return refuse(why, "a size that is no number");
        t->has_size = true;
    } else if (span_is(key, "mtime")) {
        uint64_t seconds;
        struct span whole = span_split(&value, '.');
        t->has_mtime = span_to_u64(whole, &seconds) && seconds <= INT64_MAX;
        t->mtime_s = t->has_mtime ? (int64_t)seconds : 0;
    } else if (span_starts_with(key, SPAN_LITERAL("GNU.sparse."))) {
        return refuse(why, "sparse files");
    }
    return 0;
}

// Records of the form "27 path=some/long/name\n"; the number counts the whole record.
static int take_pax(struct tar *t, struct failure *why)
{
    struct span rest = buffer_span(&t->extended);
    int rc = 0;
    while (rc == 0 && rest.size > 0) {
        struct span after = rest;
        uint64_t size;
        struct span digits = span_split(&after, ' ');
        if (span_is_absent(after) || !span_to_u64(digits, &size) || size > rest.size ||
            size < digits.size + 3 || rest.data[size - 1] != '\n')
            return refuse(why, "a pax record is malformed");
        struct span value = span_slice(rest, digits.size + 1, size - 1);
        struct span key = span_split(&value, '=');
        if (span_is_absent(value))
            return refuse(why, "a pax record is malformed");
        rc = take_pax_record(t, key, value, why);
        rest = span_slice(rest, size, rest.size);
    }
    return rc;
}

static int take_extended(struct tar *t, struct failure *why)
{
    struct span text = buffer_span(&t->extended);
    if (t->extended_type == 'x')
        return take_pax(t, why);
    text.size = strnlen(text.data, text.size);
    return set_text(t->extended_type == 'L' ? &t->path : &t->target, text, why);
}

static int end_content(struct tar *t, struct failure *why)
{
    int rc = 0;
    if (t->state == TAR_CONTENT)
        rc = t->ops->end(t->ctx, why);
    else if (t->state == TAR_EXTENDED)
        rc = take_extended(t, why);
    t->state = t->padding > 0 ? TAR_PADDING : TAR_HEADER;
    t->left = t->padding;
    return rc;
}

// Takes what it can of `bytes` in the present state; *used is how much.
static int take_some(struct tar *t, struct span bytes, size_t *used, struct failure *why)
{
    size_t size = bytes.size < t->left ? bytes.size : (size_t)t->left;
    struct span part = span_slice(bytes, 0, size);
    int rc = 0;
    *used = size;
    t->left -= size;
    if (t->state == TAR_CONTENT && size > 0)
        rc = t->ops->content(t->ctx, part, why);
    else if (t->state == TAR_EXTENDED)
        rc = buffer_append(&t->extended, part);
    if (rc != 0 || t->left > 0)
        return rc;
    if (t->state == TAR_PADDING)
        t->state = TAR_HEADER;
    else
        rc = end_content(t, why);
    return rc;
}

static int take_block_part(struct tar *t, struct span bytes, size_t *used, struct failure *why)
{
    size_t size = BLOCK - t->filled < bytes.size ? BLOCK - t->filled : bytes.size;
    memcpy(t->block + t->filled, bytes.data, size);
    t->filled += size;
    *used = size;
    if (t->filled < BLOCK)
        return 0;
    t->filled = 0;
    return take_header(t, why);
}

int tar_feed(struct tar *t, struct span bytes, struct failure *why)
{
    int rc = 0;
    while (rc == 0 && bytes.size > 0 && t->state != TAR_ENDED) {
        size_t used;
        rc = t->state == TAR_HEADER ? take_block_part(t, bytes, &used, why)
                                    : take_some(t, bytes, &used, why);
        bytes = span_slice(bytes, used, bytes.size);
    }
    return rc;
}

int tar_finish(struct tar *t, struct failure *why)
{
    // Some writers leave out the end mark; a stream that ends between members is taken.
    bool between = t->state == TAR_HEADER && t->filled == 0;
    if (t->state != TAR_ENDED && !between && t->state != TAR_PADDING)
        return refuse(why, "it ends in the middle of a member");
    if (!t->any && !t->zero_before)
        return refuse(why, "it is empty");
    return 0;
}
