// SPDX-License-Identifier: Apache-2.0
#include "workers/options.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gateway/lib/base/encode.h"
#include "gateway/lib/base/memory.h"

enum { TOKEN_MIN = 16, TOKEN_MAX = 256 };

struct raw_options {
    const char *listen, *token_file, *workspace, *inputs, *command_user;
    bool weak_isolation;
};

static const struct option_row {
    const char *name, *value, *text;
    size_t offset; // of a string in struct raw_options; 0 and no value: the flag
} rows[] = {
    {"--listen", "ADDRESS", "where to listen, such as 127.0.0.1:8931 or unix:/run/worker.sock",
     offsetof(struct raw_options, listen)},
    {"--token-file", "FILE", "the bearer token that clients must send, alone in a file",
     offsetof(struct raw_options, token_file)},
    {"--workspace", "DIR", "the folder that tools work in; brains call it /workspace",
     offsetof(struct raw_options, workspace)},
    {"--inputs", "DIR", "a folder that tools may only read; brains call it /inputs",
     offsetof(struct raw_options, inputs)},
    {"--command-user", "UID:GID", "whom commands run as; by default the workspace's owner",
     offsetof(struct raw_options, command_user)},
    {"--weak-isolation", NULL, "commands run as the worker's own user, and can harm it", 0},
};

static void print_help(void)
{
    printf("usage: wrist-worker [options]\n\n"
           "Without options it takes a start document on fd 4 and a listener on fd 3, as\n"
           "wrist-driver passes them. With options it stands alone as an MCP server:\n\n");
    for (size_t i = 0; i < ARRAY_COUNT(rows); i++)
        printf("  %-16s %-8s %s\n", rows[i].name, rows[i].value != NULL ? rows[i].value : "",
               rows[i].text);
}

static const struct option_row *row_find(const char *name)
{
    for (size_t i = 0; i < ARRAY_COUNT(rows); i++)
        if (strcmp(rows[i].name, name) == 0)
            return &rows[i];
    return NULL;
}

static int read_arguments(int count, char *const *arguments, struct raw_options *out,
                          struct failure *why)
{
    for (int i = 1; i < count; i++) {
        const struct option_row *row = row_find(arguments[i]);
        if (row == NULL)
            return failure_set(why, FAULT_INVALID, "unknown option %s; see --help", arguments[i]);
        if (row->value == NULL) {
            out->weak_isolation = true;
            continue;
        }
        if (++i == count)
            return failure_set(why, FAULT_INVALID, "%s needs a %s", row->name, row->value);
        *(const char **)(void *)((char *)out + row->offset) = arguments[i];
    }
    if (out->listen == NULL || out->token_file == NULL || out->workspace == NULL)
        return failure_set(why, FAULT_INVALID,
                           "--listen, --token-file and --workspace are all needed");
    return 0;
}

static int read_file(int fd, struct buffer *out, struct failure *why)
{
    for (;;) {
        char *room;
        size_t size = out->limit - buffer_size(out);
        if (size == 0 || buffer_reserve(out, size, &room) != 0)
            return failure_set(why, FAULT_TOO_LARGE, "more than %zu bytes", out->limit);
        ssize_t got = read(fd, room, size);
        if (got == 0)
            return 0;
        if (got < 0 && errno != EINTR)
            return failure_errno(why, "read");
        buffer_commit(out, got > 0 ? (size_t)got : 0);
    }
}

static void buffer_wipe(struct buffer *b)
{
    if (b->data != NULL)
        memory_wipe(b->data, b->capacity);
    buffer_fini(b);
}

static int set_token(struct span token, struct worker_options *out, struct failure *why)
{
    while (token.size > 0 && (unsigned char)token.data[token.size - 1] <= ' ')
        token.size--;
    for (size_t i = 0; i < token.size; i++)
        if (token.data[i] <= ' ' || token.data[i] > '~')
            return failure_set(why, FAULT_INVALID, "a token is one word of visible ASCII");
    if (token.size < TOKEN_MIN || token.size > TOKEN_MAX)
        return failure_set(why, FAULT_INVALID, "a token has %d to %d characters", TOKEN_MIN,
                           TOKEN_MAX);
    memcpy(out->authorization, "Bearer ", 7);
    memcpy(out->authorization + 7, token.data, token.size);
    return 0;
}

static int read_token(const char *path, struct worker_options *out, struct failure *why)
{
    struct buffer text;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return failure_errno(why, "open %s", path);
    buffer_init(&text, 4096);
    int fault = read_file(fd, &text, why);
    close(fd);
    if (fault == 0)
        fault = set_token(buffer_span(&text), out, why);
    buffer_wipe(&text);
    return fault != 0 ? failure_prefix(why, "%s", path) : 0;
}

static int parse_user(const char *text, struct worker_start *start, struct failure *why)
{
    struct span rest = span_from_string(text);
    struct span uid = span_split(&rest, ':');
    struct span gid = span_is_absent(rest) ? uid : rest;
    uint64_t u, g;
    if (!span_to_u64(uid, &u) || !span_to_u64(gid, &g) || u > UINT32_MAX - 1 || g > UINT32_MAX - 1)
        return failure_set(why, FAULT_INVALID, "--command-user: %s is not UID or UID:GID", text);
    start->command_uid = (int64_t)u;
    start->command_gid = (int64_t)g;
    return 0;
}

// Root gives commands to another user; anybody else has only their own.
static int choose_user(const struct raw_options *raw, struct worker_start *start,
                       struct failure *why)
{
    struct stat workspace;
    start->worker_uid = getuid();
    start->worker_gid = getgid();
    start->weak_isolation = raw->weak_isolation || getuid() != 0;
    start->command_uid = start->worker_uid;
    start->command_gid = start->worker_gid;
    if (start->weak_isolation)
        return 0;
    if (raw->command_user != NULL)
        return parse_user(raw->command_user, start, why);
    if (stat(start->workspace, &workspace) != 0)
        return failure_errno(why, "%s", start->workspace);
    if (workspace.st_uid == 0)
        return failure_set(why, FAULT_INVALID,
                           "%s belongs to root; say whom commands run as with --command-user",
                           start->workspace);
    start->command_uid = workspace.st_uid;
    start->command_gid = workspace.st_gid;
    return 0;
}

static int set_folder(const char *option, const char *given, char out[WORKER_PATH_SIZE],
                      struct failure *why)
{
    CLEANUP_FREE char *real = realpath(given, NULL);
    if (real == NULL)
        return failure_errno(why, "%s %s", option, given);
    if (!span_copy_string(span_from_string(real), out, WORKER_PATH_SIZE))
        return failure_set(why, FAULT_INVALID, "%s: the path is too long", option);
    return 0;
}

static int read_stand_alone(int count, char *const *arguments, struct worker_options *out,
                            struct failure *why)
{
    struct raw_options raw = {0};
    out->stand_alone = true;
    worker_start_default(&out->start);
    id_new(out->start.id);
    out->start.inputs[0] = '\0';
    int fault = read_arguments(count, arguments, &raw, why);
    if (fault == 0)
        fault = set_folder("--workspace", raw.workspace, out->start.workspace, why);
    if (fault == 0 && raw.inputs != NULL)
        fault = set_folder("--inputs", raw.inputs, out->start.inputs, why);
    if (fault == 0)
        fault = choose_user(&raw, &out->start, why);
    if (fault == 0)
        fault = read_token(raw.token_file, out, why);
    if (fault == 0)
        fault = address_parse(span_from_string(raw.listen), &out->address, why);
    if (fault == 0 && !address_is_loopback(&out->address))
        fault = failure_set(why, FAULT_INVALID, "--listen: %s is not on this machine's loopback",
                            raw.listen);
    return fault;
}

static int read_document(struct worker_options *out, struct failure *why)
{
    struct buffer json;
    char secret[2 * LINK_SECRET_BYTES + 1];
    buffer_init(&json, WORKER_START_LIMIT);
    int fault = read_file(WORKER_START_FD, &json, why);
    close(WORKER_START_FD);
    if (fault == 0)
        fault = worker_start_parse(buffer_span(&json), &out->start, why);
    buffer_wipe(&json);
    if (fault != 0)
        return failure_prefix(why, "fd %d", WORKER_START_FD);
    hex_encode(span_of(out->start.secret, LINK_SECRET_BYTES), secret);
    snprintf(out->authorization, sizeof out->authorization, "Bearer %s", secret);
    memory_wipe(secret, sizeof secret);
    memory_wipe(out->start.secret, LINK_SECRET_BYTES);
    return address_parse(SPAN_LITERAL("fd:3"), &out->address, why);
}

int worker_options_read(int count, char *const *arguments, struct worker_options *out,
                        struct failure *why)
{
    *out = (struct worker_options){0};
    if (count == 2 && strcmp(arguments[1], "--help") == 0) {
        print_help();
        return 1;
    }
    return count > 1 ? read_stand_alone(count, arguments, out, why) : read_document(out, why);
}
