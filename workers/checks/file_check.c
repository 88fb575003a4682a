// SPDX-License-Identifier: Apache-2.0
#include "workers/checks/file_check.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gateway/lib/base/memory.h"
#include "gateway/lib/json/json.h"
#include "workers/checks/rerun.h"
#include "workers/checks/run.h"
#include "workers/tools/text.h"

enum { LINE_BYTES = 64 << 10, DATABASE_BYTES = 32 << 20, MESSAGE_SHOWN = 300 };

// $FILE is the file, relative to the workspace. A line that finds no program says nothing.
static const struct row {
    const char *endings[8];
    const char *line;
    const struct parser *out, *err;
    bool compiles; // the line of compile_commands.json, if it is there, is better
} rows[] = {
    {{".py", ".pyi"},
     "if command -v ruff >/dev/null; then ruff check --quiet --no-fix --output-format=json-lines "
     "-- \"$FILE\"; elif command -v python3 >/dev/null; then python3 -I -c '\n"
     "import sys\n"
     "try: compile(open(sys.argv[1], \"rb\").read(), sys.argv[1], \"exec\", dont_inherit=True)\n"
     "except SyntaxError as e: print(\"%s:%d:%d: error: %s\" % (sys.argv[1], e.lineno or 1, "
     "e.offset or 1, e.msg), file=sys.stderr)\n"
     "' \"$FILE\"; fi",
     &parser_lint_json,
     &parser_diagnostics,
     false},
    {{".go"},
     "command -v gofmt >/dev/null && gofmt -e -l -- \"$FILE\" >/dev/null && [ -f go.mod ] && go "
     "vet "
     "\"./$(dirname -- \"$FILE\")\"",
     NULL,
     &parser_diagnostics,
     false},
    {{".rs"},
     "[ -f Cargo.toml ] && command -v cargo >/dev/null && cargo check --message-format=json",
     &parser_cargo,
     NULL,
     false},
    {{".c", ".h"},
     "command -v cc >/dev/null && cc -fsyntax-only -Wall -I. -Iinclude -Isrc -x c \"./$FILE\"",
     NULL,
     &parser_diagnostics,
     true},
    {{".cc", ".cpp", ".cxx", ".hpp", ".hh"},
     "command -v c++ >/dev/null && c++ -fsyntax-only -Wall -I. -Iinclude -Isrc -x c++ \"./$FILE\"",
     NULL,
     &parser_diagnostics,
     true},
    {{".js", ".mjs", ".cjs", ".jsx"},
     "if [ -x node_modules/.bin/eslint ]; then node_modules/.bin/eslint --format=json -- "
     "\"$FILE\"; "
     "elif command -v node >/dev/null && [ \"${FILE##*.}\" != jsx ]; then said=$(node --check "
     "\"$FILE\" 2>&1) || { line=$(printf '%s\\n' \"$said\" | sed -n "
     "'s/.*:\\([0-9][0-9]*\\)$/\\1/p;1q'); text=$(printf '%s\\n' \"$said\" | grep -m1 'Error: '); "
     "echo \"$FILE:${line:-1}:1: error: $text\" >&2; }; fi",
     &parser_lint_json,
     &parser_diagnostics,
     false},
    {{".ts", ".tsx", ".mts", ".cts"},
     "[ -x node_modules/.bin/tsc ] && [ -f tsconfig.json ] && node_modules/.bin/tsc --noEmit "
     "--pretty false",
     &parser_diagnostics,
     NULL,
     false},
    {{".sh", ".bash"},
     "if command -v shellcheck >/dev/null; then shellcheck -f gcc -- \"$FILE\"; else bash -n -- "
     "\"$FILE\" 2>&1 | sed 's/: line \\([0-9]*\\): /:\\1:1: error: /'; fi",
     &parser_diagnostics,
     NULL,
     false},
};

static const struct row *row_of(struct span path)
{
    for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
        for (size_t e = 0; e < ARRAY_COUNT(rows[i].endings) && rows[i].endings[e] != NULL; e++) {
            struct span ending = span_from_string(rows[i].endings[e]);
            if (path.size > ending.size &&
                span_equals(span_slice(path, path.size - ending.size, path.size), ending))
                return &rows[i];
        }
    }
    return NULL;
}

bool file_check_knows(struct span path)
{
    return row_of(path) != NULL;
}

// --- C and C++: how the project compiles the file ------------------------------------------------

static char *read_file(const char *path, size_t *size)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    if (fd < 0)
        return NULL;
    char *bytes = NULL;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0 &&
        st.st_size <= DATABASE_BYTES) {
        bytes = memory_new((size_t)st.st_size);
        ssize_t n = read(fd, bytes, (size_t)st.st_size);
        *size = n > 0 ? (size_t)n : 0;
    }
    close(fd);
    return bytes;
}

static bool is_entry_of(const struct json *doc, int entry, const char *absolute)
{
    struct buffer file;
    char resolved[PATH_MAX];
    buffer_init(&file, PATH_MAX - 1);
    bool is = json_string(doc, json_get(doc, entry, "file"), &file) &&
              buffer_append_char(&file, '\0') == 0 &&
              realpath(buffer_span(&file).data, resolved) != NULL &&
              strcmp(resolved, absolute) == 0;
    buffer_fini(&file);
    return is;
}

static bool put_entry(const struct json *doc, int entry, struct buffer *line)
{
    struct buffer folder, command;
    buffer_init(&folder, PATH_MAX);
    buffer_init(&command, LINE_BYTES / 2);
    bool good = json_string(doc, json_get(doc, entry, "directory"), &folder) &&
                json_string(doc, json_get(doc, entry, "command"), &command);
    if (good) {
        buffer_append_string(line, "cd ");
        rerun_quote(buffer_span(&folder), line);
        buffer_append_string(line, " && ");
        buffer_append(line, buffer_span(&command));
        buffer_append_string(line, " -fsyntax-only");
    }
    buffer_fini(&folder);
    buffer_fini(&command);
    return good;
}

static bool database_line(const char *path, struct buffer *line)
{
    static const char *const places[] = {"build/compile_commands.json", "compile_commands.json"};
    static const struct json_limits limits = {DATABASE_BYTES, 1 << 20, 16};
    char absolute[PATH_MAX];
    bool found = false;
    for (size_t i = 0; !found && i < ARRAY_COUNT(places); i++) {
        size_t size = 0;
        struct json *doc = NULL;
        char *text = realpath(path, absolute) != NULL ? read_file(places[i], &size) : NULL;
        if (text != NULL && json_parse(span_of(text, size), &limits, &doc, NULL) == 0)
            JSON_EACH(entry, doc, JSON_ROOT)
            {
                found = found || (is_entry_of(doc, entry, absolute) && put_entry(doc, entry, line));
            }
        json_free(doc);
        free(text);
    }
    return found;
}

// --- the run -------------------------------------------------------------------------------------

static void put_line(const struct file_check_task *task, const struct row *row, struct buffer *line,
                     bool *is_certain)
{
    buffer_append_string(line,
                         "PATH=$PATH:/usr/local/go/bin:/usr/local/cargo/bin:$HOME/.cargo/bin; "
                         "export PATH; FILE=");
    rerun_quote(span_from_string(task->path), line);
    buffer_append_string(line, "; ");
    *is_certain = !row->compiles || database_line(task->path, line);
    if (!row->compiles || !*is_certain)
        buffer_append_string(line, row->line);
    buffer_append_char(line, '\0');
}

static bool is_about(const char *file, const char *path)
{
    size_t file_size = strlen(file), path_size = strlen(path);
    if (strncmp(file, "./", 2) == 0)
        return is_about(file + 2, path);
    if (file_size > path_size) // absolute, or with a part in front
        return file[file_size - path_size - 1] == '/' &&
               strcmp(file + file_size - path_size, path) == 0;
    // relative to a directory of the path: go vet, a build folder
    return strcmp(path + path_size - file_size, file) == 0 &&
           (file_size == path_size || path[path_size - file_size - 1] == '/');
}

// Without the project's own line an include that is not found says more about us than about the
// file.
static bool lacks_context(const struct report *r)
{
    for (size_t i = 0; i < r->count; i++)
        if (strstr(r->findings[i].message, "No such file or directory") != NULL ||
            strstr(r->findings[i].message, "file not found") != NULL)
            return true;
    return false;
}

static void put_finding(const struct finding *f, struct buffer *out)
{
    struct span message = span_slice(span_from_string(f->message), 0, MESSAGE_SHOWN);
    const char *end = message.size > 0 ? memchr(message.data, '\n', message.size) : NULL;
    if (end != NULL)
        message.size = (size_t)(end - message.data);
    message.size = text_whole_chars(message);
    bool says_it = span_starts_with(message, SPAN_LITERAL("error")) ||
                   span_starts_with(message, SPAN_LITERAL("fatal error")) ||
                   span_starts_with(message, SPAN_LITERAL("warning"));
    const char *severity = f->kind == FINDING_WARNING ? "warning: " : "error: ";
    buffer_printf(out, "  line %" PRId64 ": %s", f->line, says_it ? "" : severity);
    if (f->name[0] != '\0')
        buffer_printf(out, "%s: ", f->name);
    buffer_append(out, message);
    buffer_append_char(out, '\n');
}

static void put_findings(const struct report *r, const char *path, struct buffer *out)
{
    struct buffer shown;
    size_t count = 0;
    buffer_init(&shown, FILE_CHECK_OUTPUT_BYTES - PATH_MAX - 128);
    for (size_t i = 0; i < r->count; i++)
        if (is_about(r->findings[i].file, path) && ++count <= FILE_CHECK_SHOWN)
            put_finding(&r->findings[i], &shown);
    if (count > 0) {
        buffer_printf(out, "findings in %s: %zu\n", path, count);
        buffer_append(out, buffer_span(&shown));
    }
    if (count > FILE_CHECK_SHOWN)
        buffer_printf(out, "  [%zu more]\n", count - FILE_CHECK_SHOWN);
    buffer_fini(&shown);
}

static int print(struct span text)
{
    while (text.size > 0) {
        ssize_t size = write(STDOUT_FILENO, text.data, text.size);
        if (size <= 0)
            return 1;
        text = span_slice(text, (size_t)size, text.size);
    }
    return 0;
}

int file_check_run(void *of)
{
    const struct file_check_task *task = of;
    const struct row *row = row_of(span_from_string(task->path));
    struct buffer line, out;
    struct report report;
    struct output shown;
    struct ending ending;
    struct failure why;
    bool is_certain;
    if (row == NULL)
        return 0;
    report_init(&report);
    output_init(&shown, 4096);
    buffer_init(&line, LINE_BYTES);
    buffer_init(&out, FILE_CHECK_OUTPUT_BYTES);
    put_line(task, row, &line, &is_certain);
    const struct run run = {
        .who = task->who,
        .line = buffer_span(&line).data,
        .out = row->out,
        .err = row->err,
        .report = &report,
        .shown = &shown,
        .timeout_ms = task->timeout_ms,
    };
    if (run_line(&run, &ending, &why) == 0 && (is_certain || !lacks_context(&report)))
        put_findings(&report, task->path, &out);
    if (ending.timed_out)
        buffer_printf(&out, "[looking at %s took longer than %" PRId64 " s and was given up]\n",
                      task->path, task->timeout_ms / 1000);
    return print(buffer_span(&out)); // the process ends, and with it all that it has
}
