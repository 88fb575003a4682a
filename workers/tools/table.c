// SPDX-License-Identifier: Apache-2.0
// Every tool once. The texts are read by models: say what they need to use the tool right.
#include "workers/tools/export.h"
#include "workers/tools/files.h"
#include "workers/tools/search.h"
#include "workers/tools/snapshot.h"
#include "workers/tools/tool.h"

#include "gateway/lib/base/memory.h"

enum {
    PATH_BYTES = 4096,
    PATTERN_BYTES = 4096,
    CONTENT_BYTES = 16 << 20,
    COMMAND_BYTES = 128 << 10, // MAX_ARG_STRLEN: the most one argument of a program may have
    LINES_MAX = 1000000,
};

static const struct tool_param read_params[] = {
    {.name = "file_path",
     .type = TOOL_STRING,
     .required = true,
     .min = 1,
     .max = PATH_BYTES,
     .description = "The file to read: absolute (/workspace/… or /inputs/…), or relative to "
                    "/workspace"},
    {.name = "offset",
     .type = TOOL_INTEGER,
     .min = 1,
     .fallback = 1,
     .description = "The line to begin at, counted from 1"},
    {.name = "limit",
     .type = TOOL_INTEGER,
     .min = 1,
     .max = LINES_MAX,
     .fallback = READ_LINES_DEFAULT,
     .description = "How many lines to read"},
    {0},
};

static const struct tool_param write_params[] = {
    {.name = "file_path",
     .type = TOOL_STRING,
     .required = true,
     .min = 1,
     .max = PATH_BYTES,
     .description = "The file to write: absolute under /workspace, or relative to it. Missing "
                    "directories are made"},
    {.name = "content",
     .type = TOOL_STRING,
     .required = true,
     .max = CONTENT_BYTES,
     .description = "The whole new content of the file"},
    {0},
};

static const struct tool_param edit_params[] = {
    {.name = "file_path",
     .type = TOOL_STRING,
     .required = true,
     .min = 1,
     .max = PATH_BYTES,
     .description = "The file to edit: absolute under /workspace, or relative to it"},
    {.name = "old_string",
     .type = TOOL_STRING,
     .required = true,
     .min = 1,
     .max = CONTENT_BYTES,
     .description = "The text to replace, exactly as in the file, without Read's line numbers. It "
                    "must occur once, unless replace_all is set"},
    {.name = "new_string",
     .type = TOOL_STRING,
     .required = true,
     .max = CONTENT_BYTES,
     .description = "The text to put in its place"},
    {.name = "replace_all",
     .type = TOOL_BOOLEAN,
     .description = "Replace every occurrence of old_string"},
    {0},
};

static const struct tool_param glob_params[] = {
    {.name = "pattern",
     .type = TOOL_STRING,
     .required = true,
     .min = 1,
     .max = PATTERN_BYTES,
     .description = "For example **/*.c, src/*.{h,c} or [A-Z]*.md. Without a / it is matched "
                    "against file names at any depth, else against the path below `path`"},
    {.name = "path",
     .type = TOOL_STRING,
     .min = 1,
     .max = PATH_BYTES,
     .description = "The directory to search; /workspace by default"},
    {.name = "limit",
     .type = TOOL_INTEGER,
     .min = 1,
     .max = GLOB_LIMIT_MAX,
     .fallback = GLOB_LIMIT_DEFAULT,
     .description = "How many files to list"},
    {.name = "include_ignored",
     .type = TOOL_BOOLEAN,
     .description = "Also list what .gitignore and .ignore files leave out"},
    {0},
};

static const char *const grep_modes[] = {"content", "files_with_matches", "count", NULL};

static const struct tool_param grep_params[] = {
    {.name = "pattern",
     .type = TOOL_STRING,
     .required = true,
     .min = 1,
     .max = PATTERN_BYTES,
     .description = "A regular expression (Perl syntax, UTF-8)"},
    {.name = "path",
     .type = TOOL_STRING,
     .min = 1,
     .max = PATH_BYTES,
     .description = "A file or directory to search; /workspace by default"},
    {.name = "glob",
     .type = TOOL_STRING,
     .min = 1,
     .max = PATTERN_BYTES,
     .description = "Search only files that match, for example *.{ts,tsx}; with a leading ! only "
                    "those that do not"},
    {.name = "type",
     .type = TOOL_STRING,
     .choice = search_type_names,
     .fallback = TOOL_NO_FALLBACK,
     .description = "Search only files of this kind"},
    {.name = "output_mode",
     .type = TOOL_STRING,
     .choice = grep_modes,
     .description = "content: path:line:text; files_with_matches: paths only; count: "
                    "path:number of matches"},
    {.name = "case_insensitive", .type = TOOL_BOOLEAN, .description = "Ignore case"},
    {.name = "multiline",
     .type = TOOL_BOOLEAN,
     .description = "Let the pattern match across lines, and . also a line end"},
    {.name = "context_before",
     .type = TOOL_INTEGER,
     .max = GREP_CONTEXT_MAX,
     .description = "Lines to show before each match (content mode)"},
    {.name = "context_after",
     .type = TOOL_INTEGER,
     .max = GREP_CONTEXT_MAX,
     .description = "Lines to show after each match (content mode)"},
    {.name = "context",
     .type = TOOL_INTEGER,
     .max = GREP_CONTEXT_MAX,
     .description = "Lines to show before and after each match (content mode)"},
    {.name = "head_limit",
     .type = TOOL_INTEGER,
     .min = 1,
     .max = LINES_MAX,
     .fallback = GREP_HEAD_DEFAULT,
     .description = "How many lines of output to give"},
    {.name = "include_ignored",
     .type = TOOL_BOOLEAN,
     .description = "Also search what .gitignore and .ignore files leave out"},
    {0},
};

static const struct tool_param bash_params[] = {
    {.name = "command",
     .type = TOOL_STRING,
     .required = true,
     .min = 1,
     .max = COMMAND_BYTES,
     .description = "The command line, run by bash -c in /workspace"},
    {.name = "description",
     .type = TOOL_STRING,
     .max = PATTERN_BYTES,
     .description = "What it does, in a few words; for people who read the log"},
    {.name = "timeout",
     .type = TOOL_INTEGER,
     .min = 1,
     .max = 600,
     .fallback = 120,
     .description = "Seconds after which the command and all that it started are killed; not for "
                    "commands in the background"},
    {.name = "run_in_background",
     .type = TOOL_BOOLEAN,
     .description = "Return at once with a shell_id, for BashOutput and KillShell"},
    {0},
};

static const struct tool_param bash_output_params[] = {
    {.name = "shell_id",
     .type = TOOL_STRING,
     .required = true,
     .min = 1,
     .max = 64,
     .description = "As Bash with run_in_background returned it"},
    {.name = "offset",
     .type = TOOL_INTEGER,
     .description = "The byte of the output to begin at. Left out: after what was given last"},
    {0},
};

static const struct tool_param kill_shell_params[] = {
    {.name = "shell_id",
     .type = TOOL_STRING,
     .required = true,
     .min = 1,
     .max = 64,
     .description = "As Bash with run_in_background returned it"},
    {0},
};

static const struct tool_param watch_process_params[] = {
    {.name = "command",
     .type = TOOL_STRING,
     .required = true,
     .min = 1,
     .max = COMMAND_BYTES,
     .description = "The command line, run by bash -c in /workspace, in the background"},
    {.name = "description",
     .type = TOOL_STRING,
     .max = PATTERN_BYTES,
     .description = "What it does, in a few words; for people who read the log"},
    {.name = "error_patterns",
     .type = TOOL_STRINGS,
     .min = 1,
     .max = 500,
     .most = 32,
     .description =
         "Regular expressions (Perl syntax); a line of the output that matches one is an "
         "event. Left out: the usual words of errors, panics and tracebacks. []: none"},
    {.name = "idle_timeout_seconds",
     .type = TOOL_INTEGER,
     .max = 3600,
     .description = "So many seconds without output are an event; 0: never"},
    {0}};

static const struct tool_param watch_process_events_params[] = {
    {.name = "shell_id",
     .type = TOOL_STRING,
     .required = true,
     .min = 1,
     .max = 64,
     .description = "As watch_process returned it"},
    {.name = "since_event_id",
     .type = TOOL_INTEGER,
     .description = "Give the events after this one"},
    {0}};

static const char watch_process_events_schema[] =
    "{\"type\":\"object\",\"properties\":{"
    "\"status\":{\"type\":\"string\"},\"running\":{\"type\":\"boolean\"},"
    "\"events\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":{"
    "\"id\":{\"type\":\"integer\"},\"kind\":{\"type\":\"string\",\"enum\":[\"started\","
    "\"error\",\"idle_timeout\",\"exited\"]},\"time\":{\"type\":\"string\"},"
    "\"offset\":{\"type\":\"integer\",\"description\":\"in the output, for BashOutput\"},"
    "\"pattern\":{\"type\":\"string\"},\"line\":{\"type\":\"string\"},"
    "\"exit_code\":{\"type\":\"integer\"}},\"required\":[\"id\",\"kind\",\"time\"]}},"
    "\"last_event_id\":{\"type\":\"integer\"},"
    "\"lost_events\":{\"type\":\"integer\",\"description\":\"asked for, but no longer "
    "kept\"}},\"required\":[\"status\",\"running\",\"events\",\"last_event_id\","
    "\"lost_events\"]}";

#define SNAPSHOT_NAME_PARAM                                                                        \
    {                                                                                              \
        .name = "name", .type = TOOL_STRING, .required = true, .min = 1, .max = 64,                \
        .description = "The snapshot's name: letters, digits, '.', '-' and '_'"                    \
    }

static const struct tool_param snapshot_create_params[] = {
    SNAPSHOT_NAME_PARAM,
    {.name = "description",
     .type = TOOL_STRING,
     .max = 1024,
     .description = "What it is, for the list"},
    {.name = "replace",
     .type = TOOL_BOOLEAN,
     .description = "Take the place of a snapshot with this name"},
    {0}};

static const struct tool_param snapshot_restore_params[] = {
    SNAPSHOT_NAME_PARAM,
    {.name = "keep_current",
     .type = TOOL_BOOLEAN,
     .fallback = 1,
     .description = "Keep the present state first, as the snapshot before-restore"},
    {0}};

static const struct tool_param snapshot_diff_params[] = {
    SNAPSHOT_NAME_PARAM,
    {.name = "to",
     .type = TOOL_STRING,
     .min = 1,
     .max = 64,
     .description = "Another snapshot to compare with; left out: the workspace as it is now"},
    {.name = "names_only",
     .type = TOOL_BOOLEAN,
     .description = "Only which paths differ, not their lines"},
    {0}};

static const struct tool_param export_params[] = {
    {.name = "path",
     .type = TOOL_STRING,
     .required = true,
     .min = 1,
     .max = PATH_BYTES,
     .description = "The file or folder, for example dist or /workspace/report.pdf"},
    {0}};

static const char export_schema[] =
    "{\"type\":\"object\",\"properties\":{"
    "\"path\":{\"type\":\"string\"},\"name\":{\"type\":\"string\"},"
    "\"type\":{\"type\":\"string\",\"description\":\"a media type\"},"
    "\"files\":{\"type\":\"integer\"},\"bytes\":{\"type\":\"integer\"},"
    "\"left_out\":{\"type\":\"integer\"},\"redacted\":{\"type\":\"integer\"},"
    "\"given\":{\"type\":\"boolean\",\"description\":\"in this answer\"}},"
    "\"required\":[\"path\",\"name\",\"type\",\"files\",\"bytes\",\"left_out\",\"redacted\","
    "\"given\"]}";

static const struct tool_param no_params[] = {{0}};

static const char check_output_schema[] =
    "{\"type\":\"object\",\"properties\":{"
    "\"verdict\":{\"type\":\"string\",\"enum\":[\"passed\",\"failed\",\"build_error\",\"no_tests\","
    "\"unparsed\",\"crash\",\"timeout\",\"not_run\"]},"
    "\"project\":{\"type\":\"string\"},\"command\":{\"type\":\"string\"},"
    "\"exit_code\":{\"type\":\"integer\"},\"duration_ms\":{\"type\":\"integer\"},"
    "\"passed\":{\"type\":\"integer\"},\"failed\":{\"type\":\"integer\"},"
    "\"skipped\":{\"type\":\"integer\"},\"errors\":{\"type\":\"integer\"},"
    "\"warnings\":{\"type\":\"integer\"},"
    "\"failures\":{\"type\":\"array\",\"description\":\"the first 50\",\"items\":{\"type\":"
    "\"object\",\"properties\":{\"kind\":{\"type\":\"string\",\"enum\":[\"test\",\"error\","
    "\"warning\"]},\"name\":{\"type\":\"string\"},\"suite\":{\"type\":\"string\"},\"file\":{"
    "\"type\":\"string\"},\"line\":{\"type\":\"integer\"},\"message\":{\"type\":\"string\"}},"
    "\"required\":[\"kind\",\"message\"]}}},"
    "\"required\":[\"verdict\",\"exit_code\",\"passed\",\"failed\",\"skipped\",\"failures\"]}";

#define TIMEOUT_PARAM(most, usual)                                                                 \
    {                                                                                              \
        .name = "timeout", .type = TOOL_INTEGER, .min = 1, .max = (most), .fallback = (usual),     \
        .description = "Seconds after which it is killed and counts as failed"                     \
    }

static const char *const check_languages[] = {"go",    "rust",  "node", "python", "c",
                                              "cmake", "meson", "make", NULL};

#define LANGUAGE_PARAM                                                                             \
    {                                                                                              \
        .name = "language", .type = TOOL_STRING, .choice = check_languages,                        \
        .fallback = TOOL_NO_FALLBACK,                                                              \
        .description = "Only needed where /workspace holds several kinds of project"               \
    }

#define DETAIL_PARAM                                                                               \
    {                                                                                              \
        .name = "detail", .type = TOOL_BOOLEAN,                                                    \
        .description = "Also give the output itself (its last 60 KB)"                              \
    }

static const struct tool_param run_tests_params[] = {
    TIMEOUT_PARAM(1800, 300), LANGUAGE_PARAM, DETAIL_PARAM, {0}};

static const struct tool_param run_check_params[] = {
    TIMEOUT_PARAM(600, 120), LANGUAGE_PARAM, DETAIL_PARAM, {0}};

static const struct tool_param run_script_params[] = {
    {.name = "name",
     .type = TOOL_STRING,
     .required = true,
     .min = 1,
     .max = 256,
     .description = "A script of package.json, or a target of the Makefile"},
    TIMEOUT_PARAM(1800, 300),
    LANGUAGE_PARAM,
    DETAIL_PARAM,
    {0}};

static const struct tool_param last_test_failures_params[] = {{.name = "limit",
                                                               .type = TOOL_INTEGER,
                                                               .min = 1,
                                                               .max = 50,
                                                               .fallback = 50,
                                                               .description = "How many to give"},
                                                              {0}};

static const char bash_output_tool_schema[] =
    "{\"type\":\"object\",\"properties\":{"
    "\"status\":{\"type\":\"string\"},"
    "\"running\":{\"type\":\"boolean\"},"
    "\"exit_code\":{\"type\":\"integer\",\"description\":\"once it has ended\"},"
    "\"offset\":{\"type\":\"integer\",\"description\":\"of the first byte given\"},"
    "\"next_offset\":{\"type\":\"integer\"},"
    "\"output_bytes\":{\"type\":\"integer\",\"description\":\"ever written\"},"
    "\"lost_bytes\":{\"type\":\"integer\",\"description\":\"asked for, but no longer kept\"}},"
    "\"required\":[\"status\",\"running\",\"offset\",\"next_offset\",\"output_bytes\","
    "\"lost_bytes\"]}";

static const char bash_output_schema[] =
    "{\"type\":\"object\",\"properties\":{"
    "\"exit_code\":{\"type\":\"integer\",\"description\":\"128+n where signal n ended it; 124 "
    "after a timeout\"},"
    "\"timed_out\":{\"type\":\"boolean\"},"
    "\"output_bytes\":{\"type\":\"integer\",\"description\":\"of stdout and stderr together, "
    "before any cut\"},"
    "\"shell_id\":{\"type\":\"string\",\"description\":\"of a command in the background, which has "
    "none of the others\"},"
    "\"status\":{\"type\":\"string\"},"
    "\"truncated\":{\"type\":\"boolean\",\"description\":\"the middle of the output is left "
    "out\"},"
    "\"killed_at_end\":{\"type\":\"integer\"}}}";

const struct tool tool_table[] = {
    {.name = "Bash",
     .title = "Run a command",
     .description =
         "Runs a command line with bash in /workspace and returns its output (stdout and stderr "
         "in one) and a last line `exit: N`. Each call is a fresh shell: no directory or variable "
         "is kept. Everything the command started ends with the call, unless run_in_background is "
         "set: use it for servers and for what takes long. Long output is cut in the "
         "middle. For reading, searching and editing files prefer Read, Grep, Glob and Edit.",
     .params = bash_params,
     .output_schema = bash_output_schema,
     .annotations = {.destructive = true, .open_world = true},
     .place = TOOL_COMMAND},
    {.name = "BashOutput",
     .title = "Output of a background command",
     .description =
         "Gives what a background command has written since the last look (stdout and stderr in "
         "one), its status, and `exit: N` once it has ended; all that it wrote has then been "
         "collected. The last 1 MiB is kept and can be read again with offset.",
     .params = bash_output_params,
     .output_schema = bash_output_tool_schema,
     .annotations = {.read_only = true},
     .place = TOOL_COMMAND},
    {.name = "Edit",
     .title = "Edit a file",
     .description =
         "Replaces old_string by new_string in a file, all or nothing. The file must have been "
         "read before and be unchanged since. old_string must match exactly and once (or set "
         "replace_all); give enough surrounding lines to make it unique. Line ends in CRLF files "
         "are matched and kept. What the linter or compiler finds in the file comes with the "
         "answer.",
     .params = edit_params,
     .annotations = {.destructive = true},
     .place = TOOL_HAND,
     .writes_file = true,
     .run = edit_run},
    {.name = "Glob",
     .title = "Find files by name",
     .description =
         "Lists files whose path matches a pattern (*, ?, [...], **, {a,b}), newest first. Hidden "
         "files are included, the content of .git is not, and .gitignore and .ignore are "
         "honoured. The answer says how many matched in all.",
     .params = glob_params,
     .annotations = {.read_only = true, .idempotent = true},
     .place = TOOL_HAND,
     .in_read_only = true,
     .run = glob_run},
    {.name = "Grep",
     .title = "Search in files",
     .description =
         "Searches file contents for a regular expression (PCRE2). Hidden files are included, the "
         "content of .git is not, .gitignore and .ignore are honoured, and binary files are "
         "skipped with a note. Long lines are cut; the answer says how much was left out.",
     .params = grep_params,
     .annotations = {.read_only = true, .idempotent = true},
     .place = TOOL_HAND,
     .in_read_only = true,
     .run = grep_run},
    {.name = "KillShell",
     .title = "End a background command",
     .description = "Kills a background command and every process that it started, and returns "
                    "once none is left. Its output is gone then.",
     .params = kill_shell_params,
     .annotations = {.destructive = true, .idempotent = true},
     .place = TOOL_COMMAND},
    {.name = "Read",
     .title = "Read a file",
     .description =
         "Reads a text file and returns its lines as number, tab, text. By default up to 2000 "
         "lines from the beginning; longer files say how to go on. Very long lines are cut. Read a "
         "file before you Write over it or Edit it.",
     .params = read_params,
     .annotations = {.read_only = true, .idempotent = true},
     .place = TOOL_HAND,
     .in_read_only = true,
     .run = read_run},
    {.name = "Write",
     .title = "Write a file",
     .description =
         "Writes a whole file, all or nothing, making missing directories. A file that exists must "
         "have been read before and be unchanged since; its mode and owner are kept. To change a "
         "part of a file prefer Edit. What the linter or compiler finds in it comes with the "
         "answer.",
     .params = write_params,
     .annotations = {.destructive = true, .idempotent = true},
     .place = TOOL_HAND,
     .writes_file = true,
     .run = write_run},
    {.name = "export",
     .title = "Hand out a file or folder",
     .description =
         "Hands a file, or a folder as a tar, out of the sandbox: as a resource in the answer up "
         "to "
         "1 MiB, else for download by the sandbox's owner. Secrets in text are taken out. A file "
         "must be what its name says. The answer says what was left out.",
     .params = export_params,
     .output_schema = export_schema,
     .annotations = {.read_only = true, .idempotent = true},
     .place = TOOL_HAND,
     .in_read_only = true,
     .run = export_run},
    {.name = "last_test_failures",
     .title = "Failures of the last test run",
     .description = "Gives the failures of the last run_tests or run_failing_tests again: name, "
                    "place and message, build errors included.",
     .params = last_test_failures_params,
     .output_schema = check_output_schema,
     .annotations = {.read_only = true, .idempotent = true},
     .place = TOOL_COMMAND},
    {.name = "run_failing_tests",
     .title = "Run what failed again",
     .description = "Runs only the tests that failed last, where the runner can (Go, Rust, pytest, "
                    "ctest), else all of them. If none runs that is an error.",
     .params = run_tests_params,
     .output_schema = check_output_schema,
     .annotations = {.destructive = true, .open_world = true},
     .place = TOOL_COMMAND},
    {.name = "run_lint",
     .title = "Run the linter",
     .description =
         "Runs the project's linter (golangci-lint or go vet, clippy, the lint script or "
         "eslint, ruff, cppcheck). It passes only with no finding and exit code 0.",
     .params = run_check_params,
     .output_schema = check_output_schema,
     .annotations = {.destructive = true, .open_world = true},
     .place = TOOL_COMMAND},
    {.name = "run_script",
     .title = "Run a script of the project",
     .description = "Runs a script of package.json with the project's package manager, or a target "
                    "of the Makefile.",
     .params = run_script_params,
     .output_schema = check_output_schema,
     .annotations = {.destructive = true, .open_world = true},
     .place = TOOL_COMMAND},
    {.name = "run_tests",
     .title = "Run the tests",
     .description =
         "Finds out what kind of project /workspace is (Go, Rust, Node, Python, CMake, Meson, "
         "Make), builds it where needed, runs its tests and says how many failed, passed and were "
         "skipped, then each failure with its place. A build error, no test at all, an outcome "
         "that cannot be read, a crash or a timeout is not a pass.",
     .params = run_tests_params,
     .output_schema = check_output_schema,
     .annotations = {.destructive = true, .open_world = true},
     .place = TOOL_COMMAND},
    {.name = "run_typecheck",
     .title = "Check types, or compile",
     .description =
         "Runs go vet, cargo check, the typecheck script or tsc, mypy, or the build of a "
         "C or C++ project, and lists errors and warnings with their places.",
     .params = run_check_params,
     .output_schema = check_output_schema,
     .annotations = {.destructive = true, .open_world = true},
     .place = TOOL_COMMAND},
    {.name = "snapshot_create",
     .title = "Take a snapshot",
     .description =
         "Keeps the whole workspace as it is now under a name: every file, ignored ones, .git and "
         "empty directories too, with modes and times. It lies outside the workspace, ends with "
         "the sandbox, and unchanged contents are kept only once.",
     .params = snapshot_create_params,
     .annotations = {.destructive = false},
     .place = TOOL_HAND,
     .run = snapshot_create_run},
    {.name = "snapshot_diff",
     .title = "Compare with a snapshot",
     .description = "Shows what differs between a snapshot and the workspace now (or another "
                    "snapshot): A added, D removed, M content, T type, m mode; then unified "
                    "diffs. The answer says what it leaves out.",
     .params = snapshot_diff_params,
     .annotations = {.read_only = true, .idempotent = true},
     .place = TOOL_HAND,
     .run = snapshot_diff_run},
    {.name = "snapshot_list",
     .title = "List the snapshots",
     .description = "Lists the snapshots, newest first, with their time, files and bytes.",
     .params = no_params,
     .annotations = {.read_only = true, .idempotent = true},
     .place = TOOL_HAND,
     .run = snapshot_list_run},
    {.name = "snapshot_restore",
     .title = "Go back to a snapshot",
     .description =
         "Makes the workspace exactly what it was at a snapshot: what was added since is removed, "
         "what was removed or changed comes back, modes and times too. Says what it changed. The "
         "present state is kept first as before-restore. End background commands that write "
         "before it.",
     .params = snapshot_restore_params,
     .annotations = {.destructive = true, .idempotent = true},
     .place = TOOL_HAND,
     .run = snapshot_restore_run},
    {.name = "watch_process",
     .title = "Watch a command in the background",
     .description = "Starts a command in the background, as Bash with run_in_background does, and "
                    "notes events: "
                    "lines that look like errors, silence, its end. Returns a shell_id for "
                    "watch_process_events, BashOutput and KillShell.",
     .params = watch_process_params,
     .output_schema = bash_output_schema,
     .annotations = {.destructive = true, .open_world = true},
     .place = TOOL_COMMAND},
    {.name = "watch_process_events",
     .title = "Events of a watched command",
     .description = "Gives what happened to a command of watch_process since an event: errors with "
                    "their lines, silence, the exit. The last 512 events are kept.",
     .params = watch_process_events_params,
     .output_schema = watch_process_events_schema,
     .annotations = {.read_only = true, .idempotent = true},
     .place = TOOL_COMMAND},
};

const size_t tool_count = ARRAY_COUNT(tool_table);
