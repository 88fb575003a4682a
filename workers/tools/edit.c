// SPDX-License-Identifier: Apache-2.0
// Edit: replaces a string of a file. Every byte outside the matches stays as it is, so files that
// are not UTF-8 or mix line ends survive.
#include <errno.h>
#include <inttypes.h>
#include <unistd.h>

#include "gateway/lib/crypto/digest.h"
#include "gateway/lib/scrub/scrub.h"
#include "workers/tools/files.h"
#include "workers/tools/match.h"
#include "workers/tools/text.h"

enum { LINES_NAMED_MAX = 10 };

struct edit {
    struct change change;
    struct buffer old_content;
    struct buffer new_content;
    struct span old_string, new_string; // borrowed
    bool replace_all;
    size_t matches;
    struct buffer lines; // "4, 10, 22"
};

static int take_piece(void *ctx, struct span bytes, struct failure *why)
{
    struct edit *e = ctx;
    if (buffer_append(&e->old_content, bytes) != 0)
        return failure_set(why, FAULT_TOO_LARGE,
                           "%.300s has more than %d MiB; Edit does not take it",
                           e->change.file.shown, EDIT_FILE_MAX >> 20);
    return 0;
}

static int load(struct edit *e, struct failure *why)
{
    unsigned char digest[SHA256_SIZE];
    int rc = file_each_piece(e->change.env, &e->change.file, take_piece, e, why);
    if (rc != 0)
        return rc;
    struct span text = buffer_span(&e->old_content);
    line_style_add(&e->change.style, text, true, '\0');
    sha256(text, digest);
    return change_check_read(&e->change, digest, "edit", why);
}

static void name_line(struct edit *e, size_t line)
{
    if (e->matches <= LINES_NAMED_MAX)
        buffer_printf(&e->lines, "%s%zu", e->matches > 1 ? ", " : "", line);
    else if (e->matches == LINES_NAMED_MAX + 1)
        buffer_append_string(&e->lines, ", …");
}

// The new string with the line ends that its place has.
static int append_new(struct edit *e, const struct match *m)
{
    const struct line_style *style = &e->change.style;
    struct span rest = e->new_string;
    bool has_line_end = memchr(e->old_string.data, '\n', e->old_string.size) != NULL;
    bool crlf = m->crlf || (!has_line_end && style->crlf > style->lf);
    int rc = 0;
    if (!crlf)
        return buffer_append(&e->new_content, rest);
    while (rc == 0 && rest.size > 0) {
        const char *end = memchr(rest.data, '\n', rest.size);
        size_t size = end != NULL ? (size_t)(end - rest.data) : rest.size;
        size_t text = end != NULL && size > 0 && rest.data[size - 1] == '\r' ? size - 1 : size;
        rc = buffer_append(&e->new_content, span_slice(rest, 0, text));
        if (rc == 0 && end != NULL)
            rc = buffer_append(&e->new_content, SPAN_LITERAL("\r\n"));
        rest = span_slice(rest, size + 1, rest.size);
    }
    return rc;
}

static int replace_matches(struct edit *e, struct failure *why)
{
    struct span text = buffer_span(&e->old_content);
    struct match m;
    size_t done = 0, line = 1;
    int rc = 0;
    for (size_t from = 0; rc == 0 && match_next(text, e->old_string, from, &m); from = m.to) {
        struct span between = span_slice(text, done, m.from);
        line += text_line_of(between, between.size) - 1;
        e->matches++;
        name_line(e, line);
        rc = buffer_append(&e->new_content, between);
        if (rc == 0)
            rc = append_new(e, &m);
        struct span matched = span_slice(text, m.from, m.to);
        line += text_line_of(matched, matched.size) - 1;
        done = m.to;
        if (rc == 0 && e->matches % 1024 == 0 && tool_env_check(e->change.env, why) != 0)
            return why != NULL ? why->fault : FAULT_CANCELLED;
    }
    if (rc == 0)
        rc = buffer_append(&e->new_content, span_slice(text, done, text.size));
    return rc == 0 ? 0
                   : failure_set(why, FAULT_TOO_LARGE, "%.300s would become larger than %d MiB",
                                 e->change.file.shown, EDIT_FILE_MAX >> 20);
}

static int refuse_count(struct edit *e, struct failure *why)
{
    const char *shown = e->change.file.shown;
    struct buffer hint;
    buffer_init(&hint, 256);
    if (e->matches == 0)
        match_explain_miss(buffer_span(&e->old_content), e->old_string, &hint);
    struct span said = buffer_span(&hint);
    int rc = e->matches == 0
                 ? failure_set(why, FAULT_NOT_FOUND, "old_string not found in %.250s%.*s", shown,
                               SPAN_ARGS(said))
                 : failure_set(why, FAULT_CONFLICT,
                               "old_string matched %zu times in %.250s (lines %.*s); give more of "
                               "the surrounding text, or set replace_all",
                               e->matches, shown, SPAN_ARGS(buffer_span(&e->lines)));
    buffer_fini(&hint);
    return rc;
}

static bool has_secret(struct span text)
{
    struct scrub *s = scrub_new(NULL, NULL);
    bool found = scrub_push(s, text) == 0 && scrub_finish(s) == 0 && scrub_found(s) > 0;
    scrub_free(s);
    return found;
}

static int check_marks(const struct edit *e, struct failure *why)
{
    struct span text = buffer_span(&e->old_content);
    if (e->matches == 0 && scrub_has_mark(e->old_string) && has_secret(text))
        return change_refuse_mark(&e->change, "old_string", why);
    if (scrub_has_mark(e->new_string) && has_secret(text))
        return change_refuse_mark(&e->change, "new_string", why);
    return 0;
}

static int edit_file(struct edit *e, struct tool_result *out, struct failure *why)
{
    int rc = load(e, why);
    if (rc == 0)
        rc = replace_matches(e, why);
    if (rc == 0)
        rc = check_marks(e, why);
    if (rc == 0 && (e->matches == 0 || (e->matches > 1 && !e->replace_all)))
        rc = refuse_count(e, why);
    if (rc == 0)
        rc = change_commit(&e->change, buffer_span(&e->new_content), why);
    if (rc == 0)
        buffer_printf(&out->text, "replaced %zu occurrence%s in %s (line%s %.*s)", e->matches,
                      e->matches == 1 ? "" : "s", e->change.file.shown, e->matches == 1 ? "" : "s",
                      SPAN_ARGS(buffer_span(&e->lines)));
    return rc;
}

int edit_run(const struct tool_env *env, const struct arguments *args, struct tool_result *out,
             struct failure *why)
{
    struct edit e = {
        .old_string = argument_text(args, "old_string"),
        .new_string = argument_text(args, "new_string"),
        .replace_all = argument_boolean(args, "replace_all"),
    };
    if (span_equals(e.old_string, e.new_string))
        return failure_set(why, FAULT_INVALID, "old_string and new_string are the same");
    buffer_init(&e.old_content, EDIT_FILE_MAX);
    buffer_init(&e.new_content, EDIT_FILE_MAX);
    buffer_init(&e.lines, 256);
    int rc = change_open(&e.change, env, argument_text(args, "file_path"), FILE_CHANGE, why);
    if (rc == 0)
        rc = edit_file(&e, out, why);
    change_close(&e.change);
    buffer_fini(&e.old_content);
    buffer_fini(&e.new_content);
    buffer_fini(&e.lines);
    return rc;
}
