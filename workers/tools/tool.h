// SPDX-License-Identifier: Apache-2.0
//
// The tools that a brain can call, one row each: name, texts, parameters, annotations, where it
// runs. Everything about a tool follows from its row: the inputSchema, the checking of arguments,
// the list. HAND tools block on files, so they run in a hand process (never in PID 1), as the
// command's uid; COMMAND tools are run by the worker itself.
#ifndef WRIST_WORKERS_TOOLS_TOOL_H
#define WRIST_WORKERS_TOOLS_TOOL_H

#include "gateway/lib/base/buffer.h"
#include "gateway/lib/base/clock.h"
#include "gateway/lib/base/failure.h"
#include "gateway/lib/base/span.h"
#include "gateway/lib/json/json.h"
#include "gateway/lib/json/writer.h"

struct arguments;     // workers/tools/arguments.h
struct export_limits; // workers/exports/export.h
struct workspace;     // workers/workspace/workspace.h

enum tool_place { TOOL_HAND, TOOL_COMMAND };

enum tool_type { TOOL_STRING, TOOL_INTEGER, TOOL_BOOLEAN, TOOL_STRINGS };

enum {
    TOOL_PARAMS_MAX = 16,
    TOOL_NO_FALLBACK = -1, // an absent string with choices stays absent
};

struct tool_param {
    const char *name; // NULL ends the list
    enum tool_type type;
    bool required;
    int64_t min, max;          // the value of an integer, the bytes of a string; max 0: no limit
    size_t most;               // TOOL_STRINGS: how many
    int64_t fallback;          // an absent integer or boolean; of a string, which choice
    const char *const *choice; // an enum of strings, ends with NULL
    const char *description;
};

struct tool_annotations {
    bool read_only;
    bool destructive;
    bool idempotent;
    bool open_world;
};

enum { TOOL_DIGEST_SIZE = 32 }; // SHA-256

enum tool_read_state {
    TOOL_READ_NEVER,   // this reader has not read the file
    TOOL_READ_STALE,   // it read other content
    TOOL_READ_CURRENT, // it read exactly this content
};

// What a call stands on. The worker fills it; the callbacks are synchronous.
struct tool_env {
    struct workspace *workspace;
    int snapshots_fd; // the file that snapshots lie in, or -1
    const struct export_limits *exports;
    const struct clock *clock;
    int64_t deadline_us; // monotonic; 0: none
    // `path` is the canonical one, for example "/workspace/src/main.c".
    enum tool_read_state (*was_read)(void *ctx, struct span path,
                                     const unsigned char digest[TOOL_DIGEST_SIZE]);
    void (*note_read)(void *ctx, struct span path, const unsigned char digest[TOOL_DIGEST_SIZE]);
    bool (*is_cancelled)(void *ctx);
    void *ctx;
};

// 0 to go on, FAULT_CANCELLED or FAULT_TIMEOUT. Cheap enough to be asked every few thousand lines.
int tool_env_check(const struct tool_env *env, struct failure *why);

// What the client gets: one text block, and structured content where the tool has an output schema.
struct tool_result {
    struct buffer text;       // any bytes; made valid UTF-8 by the JSON writer
    struct buffer structured; // one JSON object, or nothing
    bool is_error;
    struct tool_resource {
        const char *type;      // a media type; NULL: there is no resource
        bool is_text;          // else its bytes are given in base64
        struct buffer uri;     // "file:///workspace/…"
        struct buffer content; // any bytes
    } resource;
};

enum {
    TOOL_TEXT_LIMIT = 4 << 20, // no tool may answer with more; each has its own, lower budget
    TOOL_STRUCTURED_LIMIT = 64 << 10,
    TOOL_RESOURCE_LIMIT = 2 << 20,
};

void tool_result_init(struct tool_result *r);
void tool_result_fini(struct tool_result *r);
// Replaces all content by the failure's text.
void tool_result_fail(struct tool_result *r, const struct failure *why);
// The members of a CallToolResult (content, structuredContent, isError) into an open object.
void tool_result_write(const struct tool_result *r, struct json_writer *w);

struct tool {
    const char *name;
    const char *title;
    const char *description;
    const struct tool_param *params;
    const char *output_schema; // a JSON object, or NULL
    struct tool_annotations annotations;
    enum tool_place place;
    bool writes_file;  // "file_path", about which linters may then have something to say
    bool in_read_only; // offered where nobody can write
    // HAND only. A failure becomes an error result, so what stands in `why` is for the model.
    int (*run)(const struct tool_env *env, const struct arguments *args, struct tool_result *out,
               struct failure *why);
};

// The table, in the order of the list.
extern const struct tool tool_table[];
extern const size_t tool_count;
const struct tool *tool_find(struct span name, bool read_only); // NULL where there is none

// Checks the arguments (`args` may be JSON_NONE: an empty object) and runs a HAND tool. Always
// leaves a result in *out, of failures as well.
void tool_call(const struct tool *tool, const struct tool_env *env, const struct json *doc,
               int args, struct tool_result *out);

// The array of a tools/list result: every tool with schemas and annotations, or those that are
// offered where nobody can write.
void tool_list_write(struct json_writer *w, bool read_only);
// One tool's inputSchema, without any $ref.
void tool_schema_write(const struct tool *tool, struct json_writer *w);

#endif
