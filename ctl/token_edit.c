// SPDX-License-Identifier: Apache-2.0
#include "ctl/token_edit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gateway/lib/base/memory.h"
#include "gateway/lib/file/file.h"

enum { FILE_MOST = 4 << 20, PATH_SIZE = 4096 };

static const char first_lines[] =
    "# Tokens of the gateway, by their SHA-256; see `wristctl token`. SIGHUP reads it again.\n";

// One edit of one file.
struct edit {
    const char *file;
    int folder_fd; // locked while the edit lasts; -1 before
    bool exists;
    struct stat was;
    struct buffer text;
    struct token_file tokens;
    struct key_source *source;
    struct buffer next;
};

static void edit_fini(struct edit *e)
{
    key_source_free(e->source);
    token_file_release(&e->tokens);
    buffer_fini(&e->text);
    buffer_fini(&e->next);
    if (e->folder_fd >= 0)
        close(e->folder_fd);
}

static int lock_folder(struct edit *e, struct failure *why)
{
    char folder[PATH_SIZE];
    const char *slash = strrchr(e->file, '/');
    if (slash == NULL)
        snprintf(folder, sizeof folder, ".");
    else
        snprintf(folder, sizeof folder, "%.*s", (int)(slash - e->file + 1), e->file);
    e->folder_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (e->folder_fd < 0 || flock(e->folder_fd, LOCK_EX) != 0)
        return failure_errno(why, "lock %s", folder);
    return 0;
}

static int read_text(struct edit *e, struct failure *why)
{
    int fd = open(e->file, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT ? 0 : failure_errno(why, "open %s", e->file);
    int rc = fstat(fd, &e->was) != 0 ? failure_errno(why, "stat %s", e->file) : 0;
    e->exists = true;
    if (rc == 0)
        rc = file_read_all(fd, e->file, &e->text, why);
    close(fd);
    return rc;
}

static int edit_init(struct edit *e, const char *file, struct failure *why)
{
    *e = (struct edit){.file = file, .folder_fd = -1};
    buffer_init(&e->text, FILE_MOST);
    buffer_init(&e->next, FILE_MOST);
    int rc = lock_folder(e, why);
    if (rc == 0)
        rc = read_text(e, why);
    if (rc == 0)
        rc = token_file_parse(buffer_span(&e->text), file, &e->tokens, &e->source, why);
    return rc;
}

static int replace_file(struct edit *e, struct failure *why)
{
    char fresh[PATH_SIZE];
    snprintf(fresh, sizeof fresh, "%.4000s.new", e->file);
    unlink(fresh); // what a broken-off edit left; nobody else writes it under the lock
    int fd = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return failure_errno(why, "create %s", fresh);
    int rc = 0;
    if (e->exists && ((e->was.st_uid != geteuid() || e->was.st_gid != getegid()) &&
                      fchown(fd, e->was.st_uid, e->was.st_gid) != 0))
        rc = failure_errno(why, "keep the owner of %s", e->file);
    if (rc == 0 && e->exists && fchmod(fd, e->was.st_mode & 0777) != 0)
        rc = failure_errno(why, "keep the mode of %s", e->file);
    if (rc == 0 && (file_write_all(fd, buffer_span(&e->next)) != 0 || fsync(fd) != 0))
        rc = failure_errno(why, "write %s", fresh);
    close(fd);
    if (rc == 0 && (rename(fresh, e->file) != 0 || fsync(e->folder_fd) != 0))
        rc = failure_errno(why, "rename %s", fresh);
    if (rc != 0)
        unlink(fresh);
    return rc;
}

static bool rows_are_equal(const struct token_row *a, const struct token_row *b)
{
    struct buffer x, y;
    buffer_init(&x, 16384);
    buffer_init(&y, 16384);
    bool equal = token_row_write(a, 0, &x) == 0 && token_row_write(b, 0, &y) == 0 &&
                 span_equals(buffer_span(&x), buffer_span(&y));
    buffer_fini(&x);
    buffer_fini(&y);
    return equal;
}

static bool says_what_is_wanted(const struct edit *e, const struct token_row *const *wanted,
                                size_t count)
{
    struct token_file got;
    if (token_file_parse(buffer_span(&e->next), e->file, &got, NULL, NULL) != 0)
        return false;
    bool same = got.count == count;
    for (size_t i = 0; i < count && same; i++)
        same = rows_are_equal(&got.rows[i], wanted[i]);
    token_file_release(&got);
    return same;
}

static int write_anew(struct edit *e, const struct token_row *const *wanted, size_t count)
{
    buffer_clear(&e->next);
    int rc = buffer_printf(&e->next, "%stokens:%s\n", first_lines, count == 0 ? " []" : "");
    for (size_t i = 0; i < count && rc == 0; i++)
        rc = token_row_write(wanted[i], 2, &e->next);
    return rc;
}

// `rc` tells whether the edited text in `next` could be made at all.
static int finish(struct edit *e, int rc, const struct token_row *const *wanted, size_t count,
                  struct failure *why)
{
    if (rc == 0 && !says_what_is_wanted(e, wanted, count))
        rc = write_anew(e, wanted, count);
    if (rc != 0)
        return failure_set(why, FAULT_TOO_LARGE, "%s: would become larger than 4 MiB", e->file);
    if (!says_what_is_wanted(e, wanted, count))
        return failure_set(why, FAULT_INVALID,
                           "%s: the new entry would not read back as it was "
                           "meant; nothing was changed",
                           e->file);
    return replace_file(e, why);
}

static struct span line_at(struct span text, size_t line)
{
    struct span found = SPAN_NONE;
    for (size_t i = 0; i < line && !span_is_absent(text); i++)
        found = span_split(&text, '\n');
    return found;
}

// How far the file's own entries are indented.
static int entry_indent(const struct edit *e)
{
    struct span line = line_at(buffer_span(&e->text), key_source_line(e->source, "tokens[0]"));
    int indent = 0;
    while ((size_t)indent < line.size && line.data[indent] == ' ')
        indent++;
    return e->tokens.count > 0 && indent < 32 ? indent : 2;
}

static int append_text(struct edit *e, const struct token_row *row)
{
    struct span text = buffer_span(&e->text);
    int rc = buffer_append(&e->next, e->exists ? text : SPAN_LITERAL(first_lines));
    if (rc == 0 && text.size > 0 && text.data[text.size - 1] != '\n')
        rc = buffer_append_char(&e->next, '\n');
    if (rc == 0 && !key_source_has(e->source, "tokens"))
        rc = buffer_append_string(&e->next, "tokens:\n");
    return rc != 0 ? rc : token_row_write(row, entry_indent(e), &e->next);
}

int token_edit_append(const char *file, const struct token_row *row, struct failure *why)
{
    struct edit CLEANUP(edit_fini) e;
    int rc = edit_init(&e, file, why);
    if (rc != 0)
        return rc;
    size_t count = e.tokens.count + 1;
    const struct token_row **wanted CLEANUP_FREE = memory_new_array(count, sizeof(void *));
    for (size_t i = 0; i + 1 < count; i++)
        wanted[i] = &e.tokens.rows[i];
    wanted[count - 1] = row;
    return finish(&e, append_text(&e, row), wanted, count, why);
}

// The line on which an entry begins; 0 where there is none.
static size_t line_of_entry(const struct edit *e, size_t index)
{
    char path[40];
    snprintf(path, sizeof path, "tokens[%zu]", index);
    return key_source_line(e->source, path);
}

// The entries' own lines go, from an entry's first to the one before the next entry's.
static int remove_text(struct edit *e, const bool *goes)
{
    struct span rest = buffer_span(&e->text);
    size_t index = 0, begins = line_of_entry(e, 0);
    bool skipping = false;
    int rc = 0;
    for (size_t line = 1; rest.size > 0 && rc == 0; line++) {
        const char *end = memchr(rest.data, '\n', rest.size);
        size_t size = end != NULL ? (size_t)(end - rest.data) + 1 : rest.size;
        if (line == begins) {
            skipping = goes[index++];
            begins = line_of_entry(e, index);
        }
        if (!skipping)
            rc = buffer_append(&e->next, span_of(rest.data, size));
        rest = span_slice(rest, size, rest.size);
    }
    return rc;
}

int token_edit_remove(const char *file, bool (*goes)(const void *wish, const struct token_row *row),
                      const void *wish, size_t *removed, struct failure *why)
{
    struct edit CLEANUP(edit_fini) e;
    int rc = edit_init(&e, file, why);
    if (rc != 0)
        return rc;
    size_t kept = 0;
    const struct token_row **wanted CLEANUP_FREE =
        memory_new_array(e.tokens.count + 1, sizeof(void *));
    bool *out CLEANUP_FREE = memory_new_array(e.tokens.count + 1, sizeof *out);
    for (size_t i = 0; i < e.tokens.count; i++) {
        out[i] = goes(wish, &e.tokens.rows[i]);
        if (!out[i])
            wanted[kept++] = &e.tokens.rows[i];
    }
    *removed = e.tokens.count - kept;
    return *removed == 0 ? 0 : finish(&e, remove_text(&e, out), wanted, kept, why);
}
