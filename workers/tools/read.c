// SPDX-License-Identifier: Apache-2.0
// Read: one pass over the file in constant memory. Lines are shown inside the window; all of the
// file is counted and digested, since that digest is what Write and Edit ask for.
#include <inttypes.h>

#include "gateway/lib/crypto/digest.h"
#include "workers/tools/files.h"
#include "workers/tools/text.h"

enum { BINARY_PROBE = 8 << 10 };

struct reading {
    int64_t first, last;        // the window, counted from 1, inclusive
    struct buffer *out;         // borrowed
    struct sha256 *digest;      // owned until it is finished
    char line[READ_LINE_SHOWN]; // what is shown of the current line
    size_t kept;                // bytes in `line`
    uint64_t line_size;         // bytes the line has so far
    int64_t line_number;        // of the current line
    int64_t shown;              // the last line that was put out
    uint64_t bytes;
    bool binary;
    bool full;      // the budget is used up
    bool cr_before; // the current line's last byte so far is CR
    bool crlf;
};

static bool is_wanted(const struct reading *r)
{
    return !r->full && !r->binary && r->line_number >= r->first && r->line_number <= r->last;
}

static void put_line(struct reading *r)
{
    bool is_cut = r->line_size > r->kept;
    size_t size = r->kept;
    if (is_cut)
        size = text_whole_chars(span_of(r->line, size));
    else if (r->cr_before)
        size--;
    size_t before = buffer_size(r->out);
    if (before > 0 && before + size + 64 > READ_BUDGET) {
        r->full = true;
        return;
    }
    buffer_printf(r->out, "%" PRId64 "\t", r->line_number);
    buffer_append(r->out, span_of(r->line, size));
    if (is_cut)
        buffer_printf(r->out, "… [line cut: it has %" PRIu64 " bytes]", r->line_size);
    buffer_append_char(r->out, '\n');
    r->shown = r->line_number;
}

static void end_line(struct reading *r)
{
    if (is_wanted(r))
        put_line(r);
    r->kept = 0;
    r->line_size = 0;
    r->cr_before = false;
    r->line_number++;
}

static void add_to_line(struct reading *r, struct span part)
{
    if (part.size == 0)
        return;
    if (is_wanted(r)) {
        size_t room = sizeof r->line - r->kept;
        size_t size = part.size < room ? part.size : room;
        memcpy(r->line + r->kept, part.data, size);
        r->kept += size;
    }
    r->line_size += part.size;
    r->cr_before = part.data[part.size - 1] == '\r';
}

static struct span without_mark(struct span bytes)
{
    return span_starts_with(bytes, SPAN_LITERAL("\xef\xbb\xbf")) ? span_slice(bytes, 3, bytes.size)
                                                                 : bytes;
}

static int read_piece(void *ctx, struct span bytes, struct failure *why)
{
    struct reading *r = ctx;
    (void)why;
    sha256_update(r->digest, bytes);
    if (r->bytes == 0) {
        struct span probe = span_slice(bytes, 0, BINARY_PROBE);
        r->binary = memchr(probe.data, '\0', probe.size) != NULL;
    }
    struct span rest = r->bytes == 0 ? without_mark(bytes) : bytes;
    r->bytes += bytes.size;
    while (!r->binary && rest.size > 0) {
        const char *end = memchr(rest.data, '\n', rest.size);
        if (end == NULL) {
            add_to_line(r, rest);
            break;
        }
        size_t size = (size_t)(end - rest.data);
        add_to_line(r, span_slice(rest, 0, size));
        r->crlf = r->crlf || r->cr_before;
        end_line(r);
        rest = span_slice(rest, size + 1, rest.size);
    }
    return 0;
}

// What the model must know beyond the lines: that there is more, and how line ends are.
static void put_notes(const struct reading *r, int64_t lines)
{
    if (r->shown < lines)
        buffer_printf(r->out,
                      "[lines %" PRId64 "-%" PRId64 " of %" PRId64 "%s; go on with offset=%" PRId64
                      "]\n",
                      r->first, r->shown, lines, r->full ? ", cut at 256 KiB" : "", r->shown + 1);
    if (r->crlf)
        buffer_append_string(r->out, "[line ends are CRLF; Edit and Write keep them]\n");
}

static int conclude(const struct reading *r, const struct file *f, struct failure *why)
{
    int64_t lines = r->line_number - (r->line_size > 0 ? 0 : 1);
    if (r->binary) {
        buffer_printf(r->out,
                      "[%s is a binary file of %" PRIu64 " bytes; its content is not shown]\n",
                      f->shown, r->bytes);
        return 0;
    }
    if (r->bytes == 0) {
        buffer_printf(r->out, "[%s is empty]\n", f->shown);
        return 0;
    }
    if (r->first > lines)
        return failure_set(why, FAULT_INVALID,
                           "offset %" PRId64 " is past the end: %.200s has %" PRId64 " lines",
                           r->first, f->shown, lines);
    put_notes(r, lines);
    return 0;
}

static int read_lines(const struct tool_env *env, const struct file *f, struct reading *r,
                      struct failure *why)
{
    unsigned char digest[SHA256_SIZE];
    int rc = file_each_piece(env, f, read_piece, r, why);
    if (rc != 0) {
        sha256_free(r->digest);
        return rc;
    }
    sha256_finish(r->digest, digest);
    if (r->line_size > 0 && is_wanted(r))
        put_line(r);
    env->note_read(env->ctx, span_from_string(f->canonical), digest);
    return conclude(r, f, why);
}

int read_run(const struct tool_env *env, const struct arguments *args, struct tool_result *out,
             struct failure *why)
{
    struct file f;
    int rc = file_open(env->workspace, argument_text(args, "file_path"), FILE_READ, &f, why);
    if (rc != 0)
        return rc;
    int64_t first = argument_integer(args, "offset");
    int64_t limit = argument_integer(args, "limit");
    struct reading r = {
        .first = first,
        .last = first > INT64_MAX - limit ? INT64_MAX : first + limit - 1,
        .out = &out->text,
        .digest = sha256_start(),
        .line_number = 1,
    };
    rc = read_lines(env, &f, &r, why);
    file_close(&f);
    return rc;
}
