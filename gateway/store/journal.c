// SPDX-License-Identifier: Apache-2.0
#include "gateway/store/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gateway/lib/base/memory.h"
#include "gateway/lib/file/file.h"
#include "gateway/store/state_file.h"

enum {
    JOURNAL_BYTES = 256 * 1024 * 1024,
    SLACK_LINES = 1024, // more than four times the live lines and these: written anew
};

struct journal {
    const struct journal_ops *ops;
    void *owner;
    int directory; // borrowed
    int lock;      // held while it is open
    int fd;
    off_t size;
    size_t lines;
    bool was_empty;
};

static const char journal_name[] = "journal";

static int take_lock(struct journal *j, struct failure *why)
{
    j->lock = openat(j->directory, "lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (j->lock < 0)
        return failure_errno(why, "open lock");
    if (flock(j->lock, LOCK_EX | LOCK_NB) != 0)
        return errno == EWOULDBLOCK
                   ? failure_set(why, FAULT_CONFLICT, "another gateway uses this state directory")
                   : failure_errno(why, "lock");
    return 0;
}

static void replay(struct journal *j, struct span text)
{
    for (;;) {
        struct span rest = text;
        struct span line = span_split(&rest, '\n');
        if (span_is_absent(rest))
            return; // what has no end was cut off
        j->lines++;
        j->ops->line(j->owner, line);
        j->size += (off_t)line.size + 1;
        text = rest;
    }
}

static int load(struct journal *j, struct failure *why)
{
    struct buffer content;
    buffer_init(&content, JOURNAL_BYTES);
    int rc = state_file_read(j->directory, journal_name, &content, why);
    if (rc == 0)
        replay(j, buffer_span(&content));
    else if (rc == FAULT_NOT_FOUND)
        rc = 0;
    buffer_fini(&content);
    j->was_empty = j->lines == 0;
    return rc;
}

static int open_for_append(struct journal *j, struct failure *why)
{
    int fd = openat(j->directory, journal_name,
                    O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return failure_errno(why, "open %s", journal_name);
    if (j->fd >= 0)
        close(j->fd);
    j->fd = fd;
    return 0;
}

int journal_open(int directory, const struct journal_ops *ops, void *owner, struct journal **out,
                 struct failure *why)
{
    struct journal *j = memory_new(sizeof *j);
    *j = (struct journal){.ops = ops, .owner = owner, .directory = directory, .lock = -1, .fd = -1};
    int rc = take_lock(j, why);
    if (rc == 0)
        rc = load(j, why);
    if (rc == 0)
        rc = open_for_append(j, why);
    if (rc == 0 && ftruncate(j->fd, j->size) != 0)
        rc = failure_errno(why, "cut %s", journal_name);
    if (rc != 0) {
        journal_close(j);
        return rc;
    }
    *out = j;
    return 0;
}

void journal_close(struct journal *j)
{
    if (j == NULL)
        return;
    if (j->fd >= 0)
        close(j->fd);
    if (j->lock >= 0)
        close(j->lock);
    free(j);
}

bool journal_was_empty(const struct journal *j)
{
    return j->was_empty;
}

int journal_append(struct journal *j, struct span line, struct failure *why)
{
    struct buffer whole;
    buffer_init(&whole, line.size + 1);
    int rc = buffer_append(&whole, line);
    if (rc == 0)
        rc = buffer_append_char(&whole, '\n');
    if (rc == 0 && file_write_all(j->fd, buffer_span(&whole)) != 0) {
        rc = failure_errno(why, "append to %s", journal_name);
        if (ftruncate(j->fd, j->size) != 0)
            failure_prefix(why, "and it could not be cut back");
    }
    if (rc == 0) {
        j->size += (off_t)buffer_size(&whole);
        j->lines++;
    }
    buffer_fini(&whole);
    return rc;
}

int journal_compact(struct journal *j, size_t live, struct failure *why)
{
    if (j->lines < 4 * live + SLACK_LINES)
        return 0;
    struct buffer content;
    buffer_init(&content, JOURNAL_BYTES);
    int rc = j->ops->write_all(j->owner, &content);
    if (rc != 0)
        failure_set(why, rc, "%s would grow past %d bytes", journal_name, JOURNAL_BYTES);
    if (rc == 0)
        rc = file_replace(j->directory, journal_name, buffer_span(&content), true, why);
    if (rc == 0)
        rc = open_for_append(j, why);
    if (rc == 0) {
        j->size = (off_t)buffer_size(&content);
        j->lines = live;
    }
    buffer_fini(&content);
    return rc;
}
