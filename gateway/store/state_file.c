// SPDX-License-Identifier: Apache-2.0
#include "gateway/store/state_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gateway/lib/base/encode.h"

int state_directory_open(const char *path, int *out, struct failure *why)
{
    if (mkdir(path, 0700) != 0 && errno != EEXIST)
        return failure_errno(why, "make state directory %s", path);
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return failure_errno(why, "open state directory %s", path);
    *out = fd;
    return 0;
}

int write_all_bytes(int fd, struct span bytes)
{
    while (bytes.size > 0) {
        ssize_t n = write(fd, bytes.data, bytes.size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        bytes = span_slice(bytes, (size_t)n, bytes.size);
    }
    return 0;
}

static int fill(int fd, struct span content)
{
    int failed = write_all_bytes(fd, content) != 0 || fsync(fd) != 0;
    int error = errno;
    close(fd);
    errno = error;
    return failed ? -1 : 0;
}

int state_file_write(int directory, const char *name, struct span content, struct failure *why)
{
    char temporary[160];
    snprintf(temporary, sizeof temporary, "%s.new", name);
    int fd =
        openat(directory, temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0 || fill(fd, content) != 0)
        return failure_errno(why, "write %s", temporary);
    if (renameat(directory, temporary, directory, name) != 0)
        return failure_errno(why, "rename %s", temporary);
    return 0;
}

static int read_to_end(int fd, const char *name, struct buffer *out, struct failure *why)
{
    enum { PIECE = 4096 };
    for (;;) {
        char piece[PIECE];
        ssize_t n = read(fd, piece, sizeof piece);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return failure_errno(why, "read %s", name);
        if (n == 0)
            return 0;
        if (buffer_append(out, span_of(piece, (size_t)n)) != 0)
            return failure_set(why, FAULT_TOO_LARGE, "%s has more than %zu bytes", name,
                               out->limit);
    }
}

int state_file_read(int directory, const char *name, struct buffer *out, struct failure *why)
{
    int fd = openat(directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return failure_errno(why, "open %s", name);
    int rc = read_to_end(fd, name, out, why);
    close(fd);
    return rc;
}

int fleet_id_load(int directory, char out[ID_SIZE], struct failure *why)
{
    struct buffer content;
    buffer_init(&content, 256);
    unsigned char bytes[(ID_SIZE - 1) / 2];
    int rc = state_file_read(directory, "fleet", &content, why);
    if (rc == FAULT_NOT_FOUND) {
        id_new(out);
        rc = state_file_write(directory, "fleet", span_from_string(out), why);
    } else if (rc == 0) {
        struct span text = buffer_span(&content);
        if (text.size == ID_SIZE && text.data[ID_SIZE - 1] == '\n')
            text.size--; // written by hand
        if (!hex_decode(text, bytes, sizeof bytes) || !span_copy_string(text, out, ID_SIZE))
            rc = failure_set(why, FAULT_PARSE, "file `fleet`: not an id of %d hex digits",
                             ID_SIZE - 1);
    }
    buffer_fini(&content);
    return rc;
}
