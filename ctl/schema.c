// SPDX-License-Identifier: Apache-2.0
// `wristctl schema flatten|check`: what the gateway does to a tool's schema, by hand.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "ctl/command.h"
#include "ctl/options.h"
#include "gateway/lib/base/memory.h"
#include "gateway/lib/json/json.h"
#include "gateway/lib/json/writer.h"
#include "schemas/check.h"
#include "schemas/flatten.h"
#include "schemas/names.h"
#include "schemas/results.h"

enum { EXIT_REFUSED = 3 };
static const size_t input_most = 64U << 20, output_most = 256U << 20;

enum kind { KIND_SCHEMA, KIND_OUTPUT, KIND_NAMES, KIND_RESULT };

struct job {
    enum kind kind;
    const struct provider *provider; // NULL for the results of Gemini
    struct flatten_options options;
    struct buffer in, out;
};

static int read_all(const char *path, struct buffer *in, struct failure *why)
{
    FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "rb");
    if (file == NULL)
        return failure_errno(why, "open %s", path);
    int rc = 0;
    for (size_t got = 1; got > 0 && rc == 0;) {
        char *room;
        rc = buffer_reserve(in, 64 * 1024, &room);
        if (rc != 0) {
            failure_set(why, rc, "%s: more than %zu bytes", path, input_most);
            break;
        }
        got = fread(room, 1, 64 * 1024, file);
        buffer_commit(in, got);
    }
    if (rc == 0 && ferror(file))
        rc = failure_errno(why, "read %s", path);
    if (file != stdin)
        fclose(file);
    return rc;
}

static int choose(struct job *job, const char *provider, const char *kind, struct failure *why)
{
    static const char *const kinds[] = {"schema", "outputSchema", "names", "result"};
    bool results = strcmp(provider, "gemini-result") == 0;
    job->kind = results ? KIND_RESULT : KIND_SCHEMA;
    if (kind != NULL) {
        size_t i = 0;
        while (i < ARRAY_COUNT(kinds) && strcmp(kinds[i], kind) != 0)
            i++;
        if (i == ARRAY_COUNT(kinds))
            return failure_set(why, FAULT_INVALID,
                               "--kind is schema, outputSchema, names or result");
        if (!results)
            job->kind = (enum kind)i;
    }
    job->options.kind = job->kind == KIND_OUTPUT ? SCHEMA_OUTPUT : SCHEMA_INPUT;
    job->provider = provider_find(span_from_string(provider));
    if (job->provider != NULL || results)
        return 0;
    char names[400] = "";
    size_t size = 0;
    for (size_t i = 0; provider_list[i] != NULL; i++)
        size += (size_t)snprintf(names + size, sizeof names - size, " %s", provider_list[i]->name);
    return failure_set(why, FAULT_INVALID, "no provider \"%s\"; there are%s gemini-result",
                       provider, names);
}

static int prepare(int argc, char **argv, struct job *job, struct failure *why)
{
    const char *provider = NULL, *kind = NULL, *file = NULL, *depth = NULL;
    const struct option_row rows[] = {{"--provider", &provider, true},
                                      {"--kind", &kind, false},
                                      {"--depth", &depth, false},
                                      {NULL, NULL, false}};
    int rc = options_parse(argc, argv, rows, &file, 1, why);
    if (rc != 0)
        return rc;
    uint64_t levels = 0;
    if (depth != NULL &&
        (!span_to_u64(span_from_string(depth), &levels) || levels < 1 || levels > 16))
        return failure_set(why, FAULT_INVALID, "--depth is a number from 1 to 16");
    job->options.recursion_depth = (unsigned)levels;
    if (file == NULL)
        return failure_set(why, FAULT_INVALID, "a file, or - for the standard input, is missing");
    rc = choose(job, provider, kind, why);
    return rc != 0 ? rc : read_all(file, &job->in, why);
}

static void print_notes(const struct flatten_result *r)
{
    for (unsigned i = 0; r != NULL && i < r->note_count; i++) {
        const struct flatten_note *n = &r->note[i];
        fprintf(stderr, "note %s \"%.*s\": %.*s\n", loss_name(n->row), SPAN_ARGS(n->pointer),
                SPAN_ARGS(n->text));
    }
    for (unsigned i = 0; r != NULL && i < r->rename_count; i++)
        fprintf(stderr, "renamed \"%.*s\" to \"%.*s\"\n", SPAN_ARGS(r->rename[i].from),
                SPAN_ARGS(r->rename[i].to));
    if (r != NULL && !span_is_absent(r->description))
        fprintf(stderr, "for the tool's description: %.*s\n", SPAN_ARGS(r->description));
}

static int flatten_names(struct job *job, struct failure *why)
{
    struct json *j;
    int rc = json_parse(buffer_span(&job->in), NULL, &j, why);
    if (rc != 0)
        return rc;
    struct arena *arena = arena_new((size_t)1 << 30);
    int list = json_get(j, JSON_ROOT, "names");
    size_t count = json_count(j, list), at = 0;
    struct tool_name *rows = memory_new_array(count + 1, sizeof *rows);
    JSON_EACH(one, j, list)
    {
        rows[at].from = SPAN_LITERAL("");
        (void)json_string_arena(j, one, arena, &rows[at++].from);
    }
    names_map(rows, count, job->provider, arena);
    struct json_writer w;
    json_writer_init(&w, &job->out);
    json_object_open(&w);
    json_write_key(&w, "names");
    json_array_open(&w);
    for (size_t i = 0; i < count; i++)
        json_write_string(&w, rows[i].to);
    json_array_close(&w);
    json_object_close(&w);
    free(rows);
    arena_free(arena);
    json_free(j);
    return json_writer_finish(&w);
}

static int flatten_job(struct job *job, struct failure *why)
{
    if (job->kind == KIND_RESULT)
        return results_rewrite(buffer_span(&job->in), &job->out, why);
    if (job->kind == KIND_NAMES)
        return flatten_names(job, why);
    struct flatten_result *r;
    job->options.notes = true;
    int rc = flatten(buffer_span(&job->in), job->provider, &job->options, &job->out, &r, why);
    print_notes(r);
    flatten_result_free(r);
    return rc;
}

static int report(const struct failure *why, int status)
{
    fprintf(stderr, "wristctl: %s\n", why->text);
    return status;
}

static void job_init(struct job *job)
{
    *job = (struct job){.provider = NULL};
    buffer_init(&job->in, input_most);
    buffer_init(&job->out, output_most);
}

static void job_fini(struct job *job)
{
    buffer_fini(&job->in);
    buffer_fini(&job->out);
}

int schema_flatten_command(int argc, char **argv)
{
    struct failure why = {0};
    struct job job;
    job_init(&job);
    int status = 0, rc = prepare(argc, argv, &job, &why);
    if (rc != 0) {
        status = report(&why, rc == FAULT_INVALID ? 2 : 1);
    } else if ((rc = flatten_job(&job, &why)) != 0) {
        status = report(&why, rc == FAULT_UNSUPPORTED ? EXIT_REFUSED : 1);
    } else {
        struct span out = buffer_span(&job.out);
        bool written = fwrite(out.data, 1, out.size, stdout) == out.size && putchar('\n') != EOF;
        if (!written || fflush(stdout) != 0) {
            failure_errno(&why, "write");
            status = report(&why, 1);
        }
    }
    job_fini(&job);
    return status;
}

static int check_job(struct job *job, struct findings **found, struct failure *why)
{
    struct span in = buffer_span(&job->in);
    if (job->kind == KIND_RESULT)
        return check_result(in, found, why);
    if (job->kind == KIND_NAMES)
        return check_names(in, job->provider, found, why);
    return check_schema(in, job->provider, found, why);
}

int schema_check_command(int argc, char **argv)
{
    struct failure why = {0};
    struct findings *found = NULL;
    struct job job;
    job_init(&job);
    int rc = prepare(argc, argv, &job, &why), status = 0;
    if (rc != 0) {
        status = report(&why, rc == FAULT_INVALID ? 2 : 1);
    } else if (check_job(&job, &found, &why) != 0) {
        status = report(&why, 1);
    } else {
        for (unsigned i = 0; i < found->count; i++)
            printf("%s \"%.*s\": %.*s\n", found->list[i].refused ? "refused" : "minded",
                   SPAN_ARGS(found->list[i].pointer), SPAN_ARGS(found->list[i].rule));
        status = found->refused > 0 ? 1 : 0;
    }
    findings_free(found);
    job_fini(&job);
    return status;
}
