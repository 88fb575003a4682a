// SPDX-License-Identifier: Apache-2.0
#include "gateway/lib/crypto/keyring.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gateway/lib/base/encode.h"
#include "gateway/lib/base/memory.h"
#include "gateway/lib/base/random.h"
#include "gateway/lib/crypto/digest.h"
#include "gateway/lib/file/file.h"

enum { FILE_MOST = 4096 };

struct key_entry {
    uint32_t id;
    int64_t created_ms;
    unsigned char key[KEYRING_KEY_SIZE];
};

// What keyring_derive gave for a purpose without a context: every request asks for the same few,
// and two HMACs for each would cost more than the rest of opening a seal.
struct derived {
    uint32_t id;
    char purpose[48]; // "": free
    unsigned char key[KEYRING_KEY_SIZE];
};

struct memo {
    size_t next; // the one that is replaced
    struct derived entry[8];
};

struct keyring {
    char *file;        // owned
    struct memo *memo; // owned
    size_t count;
    struct key_entry entry[KEYRING_MOST]; // newest first
};

void keyring_free(struct keyring *r)
{
    if (r == NULL)
        return;
    if (r->memo != NULL)
        memory_wipe(r->memo, sizeof *r->memo);
    free(r->memo);
    free(r->file);
    memory_wipe(r, sizeof *r);
    free(r);
}

size_t keyring_count(const struct keyring *r)
{
    return r->count;
}

uint32_t keyring_id(const struct keyring *r, size_t index)
{
    return r->entry[index].id;
}

int64_t keyring_created_ms(const struct keyring *r, size_t index)
{
    return r->entry[index].created_ms;
}

static const struct key_entry *find(const struct keyring *r, uint32_t id)
{
    for (size_t i = 0; i < r->count; i++)
        if (r->entry[i].id == id)
            return &r->entry[i];
    return NULL;
}

static void push_new(struct keyring *r, int64_t now_ms)
{
    struct key_entry fresh = {.created_ms = now_ms};
    do
        random_bytes(&fresh.id, sizeof fresh.id);
    while (find(r, fresh.id) != NULL);
    random_bytes(fresh.key, sizeof fresh.key);
    if (r->count == KEYRING_MOST)
        r->count--;
    memmove(&r->entry[1], &r->entry[0], r->count * sizeof r->entry[0]);
    r->entry[0] = fresh;
    r->count++;
    memory_wipe(&fresh, sizeof fresh);
}

static size_t format_ring(const struct keyring *r, char out[FILE_MOST])
{
    size_t size = 0;
    for (size_t i = 0; i < r->count; i++) {
        char hex[2 * KEYRING_KEY_SIZE + 1];
        hex_encode(span_of(r->entry[i].key, KEYRING_KEY_SIZE), hex);
        size += (size_t)snprintf(out + size, FILE_MOST - size, "%08" PRIx32 " %" PRId64 " %s\n",
                                 r->entry[i].id, r->entry[i].created_ms, hex);
        memory_wipe(hex, sizeof hex);
    }
    return size;
}

static int save(const struct keyring *r, struct failure *why)
{
    char text[FILE_MOST];
    size_t size = format_ring(r, text);
    int rc = file_replace(AT_FDCWD, r->file, span_of(text, size), true, why);
    memory_wipe(text, sizeof text);
    return rc;
}

static bool parse_line(struct span line, struct key_entry *out)
{
    struct span rest = line;
    struct span id = span_split(&rest, ' ');
    struct span created = span_split(&rest, ' ');
    unsigned char bytes[4];
    uint64_t created_ms;
    if (!hex_decode(id, bytes, sizeof bytes) || !span_to_u64(created, &created_ms) ||
        created_ms > INT64_MAX || !hex_decode(rest, out->key, sizeof out->key))
        return false;
    out->id =
        (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
    out->created_ms = (int64_t)created_ms;
    return true;
}

static int parse_ring(struct keyring *r, struct span text, struct failure *why)
{
    size_t line = 0;
    if (text.size == 0 || text.data[text.size - 1] != '\n')
        return failure_set(why, FAULT_PARSE, "%s: damaged: does not end with a whole line",
                           r->file);
    text.size--;
    while (!span_is_absent(text)) {
        struct key_entry e;
        bool good = parse_line(span_split(&text, '\n'), &e);
        line++;
        if (!good || r->count == KEYRING_MOST || find(r, e.id) != NULL)
            return failure_set(why, FAULT_PARSE,
                               "%s:%zu: damaged: expected one key `<id> <created> <key>`", r->file,
                               line);
        r->entry[r->count++] = e;
        memory_wipe(&e, sizeof e);
    }
    return 0;
}

static int check_file(int fd, const char *file, struct failure *why)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return failure_errno(why, "stat %s", file);
    if (!S_ISREG(st.st_mode))
        return failure_set(why, FAULT_DENIED, "%s: not a regular file", file);
    if ((st.st_mode & 077) != 0)
        return failure_set(why, FAULT_DENIED,
                           "%s: expected mode 0600, got %04o: others could read "
                           "the keys",
                           file, st.st_mode & 07777);
    if (st.st_size > FILE_MOST)
        return failure_set(why, FAULT_PARSE, "%s: damaged: larger than a key ring can be", file);
    return 0;
}

static int read_ring(struct keyring *r, int fd, struct failure *why)
{
    char text[FILE_MOST + 1];
    size_t size = 0;
    ssize_t got = 1;
    int rc = check_file(fd, r->file, why);
    while (rc == 0 && size < sizeof text && got != 0) {
        got = read(fd, text + size, sizeof text - size);
        if (got < 0 && errno != EINTR)
            rc = failure_errno(why, "read %s", r->file);
        size += got > 0 ? (size_t)got : 0;
    }
    if (rc == 0)
        rc = parse_ring(r, span_of(text, size), why);
    memory_wipe(text, sizeof text);
    return rc;
}

int keyring_open(const char *file, int64_t now_ms, struct keyring **out, struct failure *why)
{
    struct keyring *r = memory_new(sizeof *r);
    r->memo = memory_new(sizeof *r->memo);
    r->file = memory_copy_string(file);
    int rc;
    int fd = open(file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd >= 0) {
        rc = read_ring(r, fd, why);
        close(fd);
    } else if (errno == ENOENT) {
        push_new(r, now_ms);
        rc = save(r, why);
    } else {
        rc = failure_errno(why, "open %s", file);
    }
    if (rc != 0) {
        keyring_free(r);
        return rc;
    }
    *out = r;
    return 0;
}

int keyring_rotate(struct keyring *r, int64_t now_ms, int64_t drop_before_ms, struct failure *why)
{
    struct keyring before = *r;
    push_new(r, now_ms);
    size_t kept = 1;
    for (size_t i = 1; i < r->count; i++)
        if (r->entry[i].created_ms >= drop_before_ms)
            r->entry[kept++] = r->entry[i];
    r->count = kept;
    memory_wipe(r->memo, sizeof *r->memo); // of dropped keys nothing stays
    // Sealing under a key that no file holds would lose what was sealed.
    int rc = save(r, why);
    if (rc != 0)
        *r = before;
    memory_wipe(&before, sizeof before);
    return rc;
}

static struct derived *memo_find(const struct keyring *r, uint32_t id, const char *purpose)
{
    for (size_t i = 0; i < ARRAY_COUNT(r->memo->entry); i++) {
        struct derived *d = &r->memo->entry[i];
        if (d->purpose[0] != '\0' && d->id == id && strcmp(d->purpose, purpose) == 0)
            return d;
    }
    return NULL;
}

static void memo_keep(const struct keyring *r, uint32_t id, const char *purpose, const void *key)
{
    struct memo *m = r->memo;
    struct derived *d = &m->entry[m->next++ % ARRAY_COUNT(m->entry)];
    d->id = id;
    snprintf(d->purpose, sizeof d->purpose, "%s", purpose);
    memcpy(d->key, key, sizeof d->key);
}

bool keyring_derive(const struct keyring *r, uint32_t id, const char *purpose, struct span context,
                    void *out, size_t out_size)
{
    const struct key_entry *e = find(r, id);
    unsigned char info[512];
    size_t size = strlen(purpose) + 1; // the NUL parts the purpose from the context
    if (e == NULL || size + context.size > sizeof info)
        return false;
    bool is_kept = context.size == 0 && size > 1 && size <= sizeof((struct derived *)0)->purpose &&
                   out_size == KEYRING_KEY_SIZE;
    const struct derived *known = is_kept ? memo_find(r, id, purpose) : NULL;
    if (known != NULL) {
        memcpy(out, known->key, out_size);
        return true;
    }
    memcpy(info, purpose, size);
    if (context.size > 0)
        memcpy(info + size, context.data, context.size);
    hkdf_sha256(span_of(e->key, sizeof e->key), SPAN_LITERAL("wrist"),
                span_of(info, size + context.size), out, out_size);
    if (is_kept)
        memo_keep(r, id, purpose, out);
    return true;
}
