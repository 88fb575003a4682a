// SPDX-License-Identifier: Apache-2.0
#include "workers/exports/archive.h"

#include <inttypes.h>
#include <stdio.h>

enum { NAME_FIELD = 100, OCTAL_SIZE_MAX_BITS = 33, PAX_LIMIT = 16 << 10 };

// As POSIX.1-1988 laid it out, with ustar's end.
struct header {
    char name[NAME_FIELD], mode[8], uid[8], gid[8], size[12], mtime[12], checksum[8], type,
        target[NAME_FIELD], magic[6], version[2], rest[247];
};
_Static_assert(sizeof(struct header) == ARCHIVE_BLOCK, "a header is a block");

static void put_octal(char *field, size_t size, uint64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%0*" PRIo64, (int)size - 1, value);
    memcpy(field, text, size); // with its NUL
}

static void put_name(char field[NAME_FIELD], struct span name)
{
    if (!span_is_absent(name))
        memcpy(field, name.data, name.size < NAME_FIELD ? name.size : NAME_FIELD);
}

static int put_block(struct buffer *out, struct header *h)
{
    const unsigned char *bytes = (const unsigned char *)h;
    unsigned sum = 0;
    memcpy(h->magic, "ustar", 6);
    memcpy(h->version, "00", 2);
    memset(h->checksum, ' ', sizeof h->checksum);
    for (size_t i = 0; i < sizeof *h; i++)
        sum += bytes[i];
    snprintf(h->checksum, sizeof h->checksum - 1, "%06o", sum);
    return buffer_append(out, span_of(h, sizeof *h));
}

static int put_zeros(struct buffer *out, size_t size)
{
    static const char zeros[2 * ARCHIVE_BLOCK];
    return buffer_append(out, span_of(zeros, size));
}

// "LENGTH key=value\n", where LENGTH counts its own digits too.
static int put_record(struct buffer *records, const char *key, struct span value)
{
    char head[64];
    size_t bare = 1 + strlen(key) + 1 + value.size + 1;
    size_t size = bare + 1;
    while ((size_t)snprintf(NULL, 0, "%zu", size) + bare != size)
        size++;
    int n = snprintf(head, sizeof head, "%zu %s=", size, key);
    int fault = buffer_append(records, span_of(head, (size_t)n));
    if (fault == 0)
        fault = buffer_append(records, value);
    return fault != 0 ? fault : buffer_append_char(records, '\n');
}

static int put_pax(struct buffer *out, struct span path, struct span target, uint64_t size)
{
    struct buffer records;
    char digits[24];
    int fault = 0;
    buffer_init(&records, PAX_LIMIT);
    if (path.size > NAME_FIELD)
        fault = put_record(&records, "path", path);
    if (fault == 0 && !span_is_absent(target) && target.size > NAME_FIELD)
        fault = put_record(&records, "linkpath", target);
    if (fault == 0 && size >> OCTAL_SIZE_MAX_BITS != 0) {
        int n = snprintf(digits, sizeof digits, "%" PRIu64, size);
        fault = put_record(&records, "size", span_of(digits, (size_t)n));
    }
    if (fault == 0 && buffer_size(&records) > 0) {
        struct header h = {.name = "pax", .type = 'x'};
        put_octal(h.mode, sizeof h.mode, 0644);
        put_octal(h.size, sizeof h.size, buffer_size(&records));
        fault = put_block(out, &h);
        if (fault == 0)
            fault = buffer_append(out, buffer_span(&records));
        if (fault == 0)
            fault = put_zeros(out, archive_padding(buffer_size(&records)));
    }
    buffer_fini(&records);
    return fault;
}

static char type_letter(mode_t mode)
{
    if (S_ISDIR(mode))
        return '5';
    return S_ISLNK(mode) ? '2' : '0';
}

int archive_member(struct buffer *out, struct span path, struct span target, const struct stat *st,
                   uint64_t size)
{
    struct header h = {.type = type_letter(st->st_mode)};
    int64_t mtime = st->st_mtim.tv_sec;
    bool fits = size >> OCTAL_SIZE_MAX_BITS == 0;
    put_name(h.name, path);
    put_name(h.target, target);
    put_octal(h.mode, sizeof h.mode, st->st_mode & 0777);
    put_octal(h.uid, sizeof h.uid, 0);
    put_octal(h.gid, sizeof h.gid, 0);
    put_octal(h.size, sizeof h.size, fits ? size : 0);
    put_octal(h.mtime, sizeof h.mtime,
              mtime > 0 && mtime >> OCTAL_SIZE_MAX_BITS == 0 ? (uint64_t)mtime : 0);
    int fault = put_pax(out, path, target, size);
    return fault != 0 ? fault : put_block(out, &h);
}

int archive_end(struct buffer *out)
{
    return put_zeros(out, 2 * (size_t)ARCHIVE_BLOCK);
}
