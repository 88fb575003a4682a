// SPDX-License-Identifier: Apache-2.0
// export: a file, or a folder as a tar, as a resource in the answer where it is small enough.
#include "workers/tools/export.h"

#include <inttypes.h>

#include "gateway/lib/base/encode.h"
#include "gateway/lib/json/utf8.h"
#include "workers/exports/export.h"

static int go_on(void *ctx, struct failure *why)
{
    return tool_env_check(ctx, why);
}

static int collect(void *owner, struct span bytes)
{
    return buffer_append(owner, bytes);
}

static int put_uri(const struct export *e, struct buffer *out)
{
    char canonical[WORKSPACE_SHOWN_SIZE], piece[3 * WORKSPACE_NAME_SIZE + 1];
    const char *path = e->directory.path;
    if (e->facts.is_folder)
        workspace_path_canonical(e->directory.root, path, canonical);
    struct span rest = span_from_string(e->facts.is_folder ? canonical : e->file.canonical);
    int fault = buffer_append_string(out, "file://");
    rest = span_slice(rest, 1, rest.size);
    while (fault == 0 && !span_is_absent(rest)) {
        percent_encode(span_slice(span_split(&rest, '/'), 0, WORKSPACE_NAME_SIZE - 1), piece);
        fault = buffer_printf(out, "/%s", piece);
    }
    return fault;
}

// False where it is too large for an answer.
static bool put_resource(const struct tool_env *env, struct export *e, struct tool_result *out,
                         size_t *redacted, int *fault, struct failure *why)
{
    struct tool_resource *r = &out->resource;
    *redacted = 0;
    *fault = 0;
    if (e->facts.bytes > EXPORT_ANSWER_BYTES)
        return false;
    *fault = export_send(e, env->workspace, collect, &r->content, redacted, why);
    if (*fault == FAULT_TOO_LARGE || buffer_size(&r->content) > EXPORT_ANSWER_BYTES) {
        *fault = 0;
        buffer_clear(&r->content);
        return false;
    }
    if (*fault == 0)
        *fault = put_uri(e, &r->uri);
    r->type = e->facts.type;
    r->is_text = e->facts.is_text && utf8_is_valid(buffer_span(&r->content));
    return *fault == 0;
}

static void put_text(const struct export_facts *f, bool is_given, size_t redacted,
                     struct buffer *out)
{
    if (f->is_folder)
        buffer_printf(out, "%s: a folder with %" PRIu64 " files, %" PRIu64 " bytes", f->shown,
                      f->files, f->bytes);
    else
        buffer_printf(out, "%s: %s, %" PRIu64 " bytes", f->shown, f->type, f->bytes);
    buffer_append_string(out, is_given && f->is_folder ? "; given below as a tar\n"
                              : is_given               ? "; given below\n"
                                                       : "\n");
    if (!is_given)
        buffer_printf(out,
                      "[too large to be given in an answer, which may have %d bytes; whoever owns "
                      "the sandbox can download it: GET …/files?path=…]\n",
                      EXPORT_ANSWER_BYTES);
    if (redacted > 0)
        buffer_printf(out, "[%zu secrets were taken out of it]\n", redacted);
    if (f->left_out > 0)
        buffer_printf(out,
                      "[%" PRIu64 " left out: sockets, FIFOs, devices, links that lead out, what "
                      "cannot be read; for example %s]\n",
                      f->left_out, f->example);
}

static int put_structured(const struct export_facts *f, bool is_given, size_t redacted,
                          struct buffer *out)
{
    struct json_writer w;
    json_writer_init(&w, out);
    json_object_open(&w);
    json_write_member_string(&w, "path", f->shown);
    json_write_member_string(&w, "name", f->name);
    json_write_member_string(&w, "type", f->type);
    json_write_member_i64(&w, "files", (int64_t)f->files);
    json_write_member_i64(&w, "bytes", (int64_t)f->bytes);
    json_write_member_i64(&w, "left_out", (int64_t)f->left_out);
    json_write_member_i64(&w, "redacted", (int64_t)redacted);
    json_write_member_bool(&w, "given", is_given);
    json_object_close(&w);
    return json_writer_finish(&w);
}

int export_run(const struct tool_env *env, const struct arguments *args, struct tool_result *out,
               struct failure *why)
{
    struct export e;
    size_t redacted;
    int fault = export_open(env->workspace, argument_text(args, "path"), env->exports, go_on,
                            (void *)(uintptr_t)env, &e, why);
    if (fault != 0)
        return fault;
    bool is_given = put_resource(env, &e, out, &redacted, &fault, why);
    if (fault == 0) {
        put_text(&e.facts, is_given, redacted, &out->text);
        fault = put_structured(&e.facts, is_given, redacted, &out->structured);
    }
    export_close(&e);
    return fault;
}
