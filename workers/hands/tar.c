// SPDX-License-Identifier: Apache-2.0
#include "workers/hands/tar.h"

enum {
    AT_NAME = 0,
    NAME_BYTES = 100,
    AT_MODE = 100,
    MODE_BYTES = 8,
    AT_SIZE = 124,
    SIZE_BYTES = 12,
    AT_CHECKSUM = 148,
    CHECKSUM_BYTES = 8,
    AT_TYPE = 156,
    AT_MAGIC = 257,
    AT_PREFIX = 345,
    PREFIX_BYTES = 155,
};

static bool is_empty(const unsigned char *block)
{
    for (int i = 0; i < TAR_BLOCK; i++)
        if (block[i] != 0)
            return false;
    return true;
}

static bool octal(const unsigned char *field, size_t size, uint64_t *out)
{
    size_t i = 0;
    uint64_t value = 0;
    bool any = false;
    while (i < size && field[i] == ' ')
        i++;
    for (; i < size && field[i] >= '0' && field[i] <= '7'; i++, any = true) {
        if (value >> 60 != 0)
            return false;
        value = value * 8 + (uint64_t)(field[i] - '0');
    }
    for (; i < size; i++)
        if (field[i] != ' ' && field[i] != '\0')
            return false;
    *out = value;
    return any;
}

// GNU: a set top bit says that the rest is a big-endian number.
static bool number(const unsigned char *field, size_t size, uint64_t *out)
{
    if ((field[0] & 0x80) == 0)
        return octal(field, size, out);
    uint64_t value = field[0] & 0x7f;
    for (size_t i = 1; i < size; i++) {
        if (value >> 55 != 0)
            return false;
        value = value << 8 | field[i];
    }
    *out = value;
    return true;
}

static bool checksum_holds(const unsigned char *block)
{
    uint64_t told, sum = 0;
    if (!octal(block + AT_CHECKSUM, CHECKSUM_BYTES, &told))
        return false;
    for (int i = 0; i < TAR_BLOCK; i++)
        sum += i >= AT_CHECKSUM && i < AT_CHECKSUM + CHECKSUM_BYTES ? ' ' : block[i];
    return sum == told;
}

static enum tar_kind kind_of(unsigned char type)
{
    switch (type) {
    case '0':
    case '\0':
    case '7':
        return TAR_FILE;
    case '5':
        return TAR_DIRECTORY;
    case '1':
    case '2':
        return TAR_LINK;
    case 'x':
        return TAR_PAX;
    case 'L':
        return TAR_LONG_NAME;
    case 'g':
    case 'K':
        return TAR_IGNORED;
    default:
        return TAR_SPECIAL;
    }
}

static void name_of(const unsigned char *block, struct tar_member *out)
{
    size_t prefix = 0;
    if (memcmp(block + AT_MAGIC, "ustar\0", 6) == 0) // GNU's own magic uses the prefix otherwise
        prefix = strnlen((const char *)block + AT_PREFIX, PREFIX_BYTES);
    memcpy(out->name, block + AT_PREFIX, prefix);
    if (prefix > 0)
        out->name[prefix++] = '/';
    size_t name = strnlen((const char *)block + AT_NAME, NAME_BYTES);
    memcpy(out->name + prefix, block + AT_NAME, name);
    out->name[prefix + name] = '\0';
}

int tar_header_parse(const unsigned char block[TAR_BLOCK], struct tar_member *out,
                     struct failure *why)
{
    *out = (struct tar_member){.kind = TAR_END};
    if (is_empty(block))
        return 0;
    uint64_t mode;
    if (!checksum_holds(block))
        return failure_set(why, FAULT_INVALID, "not a tar stream, or a damaged one");
    if (!number(block + AT_SIZE, SIZE_BYTES, &out->size))
        return failure_set(why, FAULT_INVALID, "a tar member has no proper size");
    out->mode = octal(block + AT_MODE, MODE_BYTES, &mode) ? (unsigned)(mode & 0777) : 0644;
    out->kind = kind_of(block[AT_TYPE]);
    name_of(block, out);
    if (out->kind == TAR_FILE && out->name[0] != '\0' && out->name[strlen(out->name) - 1] == '/')
        out->kind = TAR_DIRECTORY; // as before POSIX
    if (out->kind == TAR_DIRECTORY || out->kind == TAR_LINK)
        out->size = 0;
    return 0;
}

static int take_record(struct span key, struct span value, struct tar_override *out,
                       struct failure *why)
{
    if (span_is(key, "path") && !span_copy_string(value, out->name, sizeof out->name))
        return failure_set(why, FAULT_INVALID, "a tar member's name is too long or holds a NUL");
    if (span_is(key, "size")) {
        out->has_size = span_to_u64(value, &out->size);
        if (!out->has_size)
            return failure_set(why, FAULT_INVALID, "a pax header has no proper size");
    }
    return 0;
}

// "LENGTH KEY=VALUE\n", the length counting all of it.
int tar_pax_parse(struct span content, struct tar_override *out, struct failure *why)
{
    while (content.size > 0) {
        struct span rest = content;
        struct span digits = span_split(&rest, ' ');
        uint64_t length;
        if (span_is_absent(rest) || !span_to_u64(digits, &length) || length > content.size ||
            length < digits.size + 3 || content.data[length - 1] != '\n')
            return failure_set(why, FAULT_INVALID, "a pax header is malformed");
        struct span value = span_slice(content, digits.size + 1, (size_t)length - 1);
        struct span key = span_split(&value, '=');
        if (span_is_absent(value))
            return failure_set(why, FAULT_INVALID, "a pax header is malformed");
        int fault = take_record(key, value, out, why);
        if (fault != 0)
            return fault;
        content = span_slice(content, (size_t)length, content.size);
    }
    return 0;
}

int tar_long_name_parse(struct span content, struct tar_override *out, struct failure *why)
{
    while (content.size > 0 && content.data[content.size - 1] == '\0')
        content.size--;
    if (!span_copy_string(content, out->name, sizeof out->name))
        return failure_set(why, FAULT_INVALID, "a tar member's name is too long or holds a NUL");
    return 0;
}

void tar_override_apply(const struct tar_override *o, struct tar_member *m)
{
    if (o->name[0] != '\0')
        memcpy(m->name, o->name, sizeof m->name);
    if (o->has_size && m->kind == TAR_FILE)
        m->size = o->size;
}

int tar_name_clean(const char *name, char out[TAR_NAME_SIZE], unsigned *depth, struct failure *why)
{
    struct span rest = span_from_string(name);
    size_t at = 0;
    *depth = 0;
    if (name[0] == '/')
        return failure_set(why, FAULT_DENIED, "the member's name is absolute: %s", name);
    while (!span_is_absent(rest)) {
        struct span part = span_split(&rest, '/');
        if (part.size == 0 || span_is(part, "."))
            continue;
        if (span_is(part, ".."))
            return failure_set(why, FAULT_DENIED, "the member's name leaves its root: %s", name);
        if (at > 0)
            out[at++] = '/';
        memcpy(out + at, part.data, part.size);
        at += part.size;
        ++*depth;
    }
    out[at] = '\0';
    return 0;
}
