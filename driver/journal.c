// SPDX-License-Identifier: Apache-2.0
#include "driver/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "driver/files.h"
#include "gateway/lib/base/memory.h"
#include "gateway/lib/file/file.h"
#include "gateway/lib/json/json.h"
#include "gateway/lib/json/writer.h"

enum { ENTRY_LIMIT = 64 << 10 };

struct journal {
    char folder[FILE_PATH_SIZE];
    char installation[ID_SIZE];
    int lock;
};

static int installation_find(struct journal *j, const char *state_dir, struct failure *why)
{
    char path[FILE_PATH_SIZE];
    struct buffer text;
    int fault = path_format(path, why, "%s/installation", state_dir);
    if (fault != 0)
        return fault;
    buffer_init(&text, ENTRY_LIMIT);
    fault = file_read(path, &text, why);
    if (fault == FAULT_NOT_FOUND) {
        id_new(j->installation);
        fault = file_replace(AT_FDCWD, path, span_from_string(j->installation), true, why);
    } else if (fault == 0 && (!span_copy_string(span_trim(buffer_span(&text)), j->installation,
                                                sizeof j->installation) ||
                              strlen(j->installation) != ID_SIZE - 1)) {
        fault = failure_set(why, FAULT_INVALID, "%s is damaged", path);
    }
    buffer_fini(&text);
    return fault;
}

// The jobs of a driver that was killed hold its lock until they are dead too, which the kernel sees
// to (PR_SET_PDEATHSIG); a driver that is alive keeps it for longer than this.
static int lock_patiently(int fd)
{
    enum { TRIES = 250, PAUSE_MS = 20 };
    int rc = flock(fd, LOCK_EX | LOCK_NB);
    for (int i = 0; rc != 0 && errno == EWOULDBLOCK && i < TRIES; i++) {
        poll(NULL, 0, PAUSE_MS);
        rc = flock(fd, LOCK_EX | LOCK_NB);
    }
    return rc;
}

static int journal_lock(struct journal *j, const char *state_dir, struct failure *why)
{
    char path[FILE_PATH_SIZE];
    int fault = path_format(path, why, "%s/lock", state_dir);
    if (fault != 0)
        return fault;
    j->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (j->lock < 0)
        return failure_errno(why, "open %s", path);
    if (lock_patiently(j->lock) != 0)
        return errno == EWOULDBLOCK
                   ? failure_set(why, FAULT_CONFLICT, "another driver uses %s", state_dir)
                   : failure_errno(why, "lock %s", path);
    return 0;
}

int journal_open(const char *state_dir, struct journal **out, struct failure *why)
{
    struct journal *j = memory_new(sizeof *j);
    j->lock = -1;
    int fault = directory_make_all(state_dir, 0711, why);
    if (fault == 0)
        fault = journal_lock(j, state_dir, why);
    if (fault == 0)
        fault = path_format(j->folder, why, "%s/journal", state_dir);
    if (fault == 0)
        fault = directory_make(j->folder, 0700, why);
    if (fault == 0)
        fault = installation_find(j, state_dir, why);
    if (fault != 0) {
        journal_close(j);
        return fault;
    }
    *out = j;
    return 0;
}

void journal_close(struct journal *j)
{
    fd_close(&j->lock);
    free(j);
}

const char *journal_installation(const struct journal *j)
{
    return j->installation;
}

static int entry_format(const struct journal_entry *entry, struct buffer *out)
{
    struct json_writer w;
    struct buffer record;
    buffer_init(&record, ENTRY_LIMIT);
    int fault = driver_record_write(&entry->record, &record);
    json_writer_init(&w, out);
    json_object_open(&w);
    json_write_key(&w, "record");
    json_write_raw(&w, buffer_span(&record));
    json_write_member_bool(&w, "removing", entry->removing);
    json_write_member_i64(&w, "pid", entry->process.pid);
    json_write_member_i64(&w, "started", (int64_t)entry->process.started);
    json_write_member_string(&w, "boot", entry->process.boot);
    json_object_close(&w);
    buffer_fini(&record);
    return fault != 0 ? fault : json_writer_finish(&w);
}

int journal_write(const struct journal *j, const struct journal_entry *entry, bool durable,
                  struct failure *why)
{
    char path[FILE_PATH_SIZE];
    struct buffer text;
    buffer_init(&text, ENTRY_LIMIT);
    int fault = path_format(path, why, "%s/%s.json", j->folder, entry->record.id);
    if (fault == 0 && entry_format(entry, &text) != 0)
        fault = failure_set(why, FAULT_INTERNAL, "write the record of %s", entry->record.id);
    if (fault == 0)
        fault = file_replace(AT_FDCWD, path, buffer_span(&text), durable, why);
    buffer_fini(&text);
    return fault;
}

int journal_remove(const struct journal *j, const char *id, struct failure *why)
{
    char path[FILE_PATH_SIZE];
    int fault = path_format(path, why, "%s/%s.json", j->folder, id);
    if (fault == 0 && unlink(path) != 0 && errno != ENOENT)
        fault = failure_errno(why, "remove %s", path);
    return fault;
}

static int entry_parse(struct span text, const char *id, struct journal_entry *out)
{
    struct json *doc = NULL;
    struct span boot;
    int64_t pid = 0, started = 0;
    *out = (struct journal_entry){0};
    int fault = json_parse(text, &json_limits_default, &doc, NULL);
    if (fault != 0)
        return fault;
    fault =
        driver_record_parse(json_raw(doc, json_get(doc, JSON_ROOT, "record")), &out->record, NULL);
    if (!json_bool(doc, json_get(doc, JSON_ROOT, "removing"), &out->removing) ||
        !json_i64(doc, json_get(doc, JSON_ROOT, "pid"), &pid) ||
        !json_i64(doc, json_get(doc, JSON_ROOT, "started"), &started) ||
        !json_string_plain(doc, json_get(doc, JSON_ROOT, "boot"), &boot) ||
        !span_copy_string(boot, out->process.boot, sizeof out->process.boot) ||
        strcmp(out->record.id, id) != 0)
        fault = FAULT_INVALID;
    out->process.pid = (pid_t)pid;
    out->process.started = (uint64_t)started;
    json_free(doc);
    return fault;
}

struct reading {
    const struct journal *journal;
    void (*found)(void *owner, const char *id, const struct journal_entry *entry);
    void *owner;
};

static bool ends_with(const char *name, const char *tail)
{
    size_t size = strlen(name), tail_size = strlen(tail);
    return size >= tail_size && strcmp(name + size - tail_size, tail) == 0;
}

// A driver ended before its rename: what it was about to say never became true.
static int half_written_remove(const struct journal *j, const char *name, struct failure *why)
{
    char path[FILE_PATH_SIZE];
    int fault = path_format(path, why, "%s/%s", j->folder, name);
    if (fault == 0 && unlink(path) != 0 && errno != ENOENT)
        fault = failure_errno(why, "remove %s", path);
    return fault;
}

static int entry_read(void *owner, const char *name, struct failure *why)
{
    const struct reading *r = owner;
    char path[FILE_PATH_SIZE], id[ID_SIZE];
    struct journal_entry entry;
    struct buffer text;
    if (ends_with(name, ".json.new"))
        return half_written_remove(r->journal, name, why);
    if (strlen(name) != ID_SIZE - 1 + strlen(".json") || !ends_with(name, ".json"))
        return 0;
    memcpy(id, name, ID_SIZE - 1);
    id[ID_SIZE - 1] = '\0';
    int fault = path_format(path, why, "%s/%s", r->journal->folder, name);
    if (fault != 0)
        return fault;
    buffer_init(&text, ENTRY_LIMIT);
    fault = file_read(path, &text, why);
    if (fault == 0)
        fault = entry_parse(buffer_span(&text), id, &entry);
    r->found(r->owner, id, fault == 0 ? &entry : NULL);
    buffer_fini(&text);
    return 0;
}

int journal_each(const struct journal *j,
                 void (*found)(void *owner, const char *id, const struct journal_entry *entry),
                 void *owner, struct failure *why)
{
    struct reading r = {j, found, owner};
    return directory_each(j->folder, entry_read, &r, why);
}
