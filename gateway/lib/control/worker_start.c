// SPDX-License-Identifier: Apache-2.0
#include "gateway/lib/control/worker_start.h"

#include "gateway/lib/base/memory.h"
#include "gateway/lib/control/fields.h"

static const char *const isolation_words[] = {"full", "weak", NULL};
static const char *const access_words[] = {"write", "read_only", NULL};

// One document, two tables: a table has 16 rows at most.
struct isolation {
    int weak;
    int read_only;
};

static const struct field sandbox_rows[] = {
    {"id", FIELD_ID, FIELD_AT(struct worker_start, id)},
    {"profile", FIELD_NAME, FIELD_AT(struct worker_start, profile)},
    {"generation", FIELD_I64, FIELD_AT(struct worker_start, generation), .least = 1},
    {"secret", FIELD_BYTES, FIELD_AT(struct worker_start, secret)},
    {"orphan_ms", FIELD_I64, FIELD_AT(struct worker_start, orphan_ms)},
    {"grace_ms", FIELD_I64, FIELD_AT(struct worker_start, grace_ms)},
    {"worker_uid", FIELD_I64, FIELD_AT(struct worker_start, worker_uid)},
    {"worker_gid", FIELD_I64, FIELD_AT(struct worker_start, worker_gid)},
    {"command_uid", FIELD_I64, FIELD_AT(struct worker_start, command_uid)},
    {"command_gid", FIELD_I64, FIELD_AT(struct worker_start, command_gid)},
    {"workspace", FIELD_TEXT, FIELD_AT(struct worker_start, workspace)},
    {"inputs", FIELD_TEXT, FIELD_AT(struct worker_start, inputs), .optional = true},
    {"principal", FIELD_HASH, FIELD_AT(struct worker_start, principal), .optional = true},
};
static const struct fields sandbox_fields = {"worker start", sandbox_rows,
                                             ARRAY_COUNT(sandbox_rows)};

static const struct field limit_rows[] = {
    {"processes", FIELD_I64, FIELD_AT(struct worker_limits, processes)},
    {"file_bytes", FIELD_I64, FIELD_AT(struct worker_limits, file_bytes)},
    {"open_files", FIELD_I64, FIELD_AT(struct worker_limits, open_files)},
    {"memory_bytes", FIELD_I64, FIELD_AT(struct worker_limits, memory_bytes)},
};
static const struct fields limit_fields = {"command limits", limit_rows, ARRAY_COUNT(limit_rows)};

static const struct field export_rows[] = {
    {"bytes", FIELD_I64, FIELD_AT(struct worker_exports, bytes)},
    {"types", FIELD_TEXT, FIELD_AT(struct worker_exports, types), .optional = true},
};
static const struct fields export_fields = {"exports", export_rows, ARRAY_COUNT(export_rows)};

static const struct field isolation_rows[] = {
    {"isolation", FIELD_WORD, FIELD_AT(struct isolation, weak), .words = isolation_words},
    {"workspace_access", FIELD_WORD, FIELD_AT(struct isolation, read_only), .words = access_words},
};
static const struct fields isolation_fields = {"isolation", isolation_rows,
                                               ARRAY_COUNT(isolation_rows)};

void worker_start_default(struct worker_start *s)
{
    *s = (struct worker_start){
        .generation = 1,
        .grace_ms = 5000,
        .limits = {.processes = 512, .file_bytes = INT64_C(4) << 30, .open_files = 4096},
        .exports = {.bytes = INT64_C(1) << 30},
        .workspace = "/workspace",
        .inputs = "/inputs",
    };
}

int worker_start_write(const struct worker_start *s, struct buffer *out)
{
    const struct isolation isolation = {s->weak_isolation, s->read_only};
    struct json_writer w;
    json_writer_init(&w, out);
    json_object_open(&w);
    json_write_key(&w, "sandbox");
    fields_write_value(&sandbox_fields, s, &w);
    json_write_key(&w, "limits");
    fields_write_value(&limit_fields, &s->limits, &w);
    json_write_key(&w, "exports");
    fields_write_value(&export_fields, &s->exports, &w);
    json_write_key(&w, "isolation");
    fields_write_value(&isolation_fields, &isolation, &w);
    json_object_close(&w);
    return json_writer_finish(&w);
}

static int read_parts(const struct json *j, struct worker_start *out, struct failure *why)
{
    struct isolation isolation = {0};
    struct worker_limits limits = {0};
    struct worker_exports exports = {0};
    int fault = fields_read_node(&sandbox_fields, j, json_get(j, JSON_ROOT, "sandbox"), out,
                                 sizeof *out, why);
    if (fault == 0)
        fault = fields_read_node(&limit_fields, j, json_get(j, JSON_ROOT, "limits"), &limits,
                                 sizeof limits, why);
    if (fault == 0)
        fault = fields_read_node(&export_fields, j, json_get(j, JSON_ROOT, "exports"), &exports,
                                 sizeof exports, why);
    if (fault == 0)
        fault = fields_read_node(&isolation_fields, j, json_get(j, JSON_ROOT, "isolation"),
                                 &isolation, sizeof isolation, why);
    out->limits = limits;
    out->exports = exports;
    out->weak_isolation = isolation.weak != 0;
    out->read_only = isolation.read_only != 0;
    return fault;
}

int worker_start_parse(struct span json, struct worker_start *out, struct failure *why)
{
    static const struct json_limits limits = {WORKER_START_LIMIT, 256, 8};
    struct json *j;
    *out = (struct worker_start){0};
    int fault = json_parse(json, &limits, &j, why);
    if (fault != 0)
        return failure_prefix(why, "worker start");
    fault = read_parts(j, out, why);
    json_free(j);
    if (fault == 0 && out->workspace[0] != '/')
        fault = failure_set(why, FAULT_INVALID, "worker start: workspace must be absolute");
    return fault;
}
