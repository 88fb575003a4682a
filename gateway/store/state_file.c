// SPDX-License-Identifier: Apache-2.0
#include "gateway/store/state_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gateway/lib/base/encode.h"
#include "gateway/lib/file/file.h"

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

int state_file_read(int directory, const char *name, struct buffer *out, struct failure *why)
{
    int fd = openat(directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return failure_errno(why, "open %s", name);
    int rc = file_read_all(fd, name, out, why);
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
        rc = file_replace(directory, "fleet", span_from_string(out), true, why);
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
