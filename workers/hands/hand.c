// SPDX-License-Identifier: Apache-2.0
#include "workers/hands/hand.h"

#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gateway/lib/base/memory.h"
#include "gateway/lib/confine/privileges.h"
#include "workers/hands/frame.h"
#include "workers/tools/tool.h"
#include "workers/workspace/unpack.h"

struct hand {
    int socket;
    struct buffer in;
    struct workspace *workspace;
    int snapshots_fd;
    struct export_limits exports;
};

static int become(const struct hand_task *task, struct failure *why)
{
    if (!task->same_user) {
        if (setgroups(0, NULL) != 0)
            return failure_errno(why, "give up the supplementary groups");
        setfsgid(task->gid);
        setfsuid(task->uid);
        if ((uid_t)setfsuid((uid_t)-1) != task->uid || (gid_t)setfsgid((gid_t)-1) != task->gid)
            return failure_set(why, FAULT_DENIED, "cannot use files as user %u",
                               (unsigned)task->uid);
    }
    int fault = privileges_keep(0, why);
    if (fault == 0)
        fault = privileges_seal(why);
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0); // after the user: changing it takes this back
    umask(022);
    return fault;
}

static enum tool_read_state was_read(void *ctx, struct span path,
                                     const unsigned char digest[TOOL_DIGEST_SIZE])
{
    struct hand *h = ctx;
    enum frame_kind kind;
    struct span payload;
    buffer_consume(&h->in, buffer_size(&h->in)); // the call was read whole, nothing follows it
    if (frame_send(h->socket, FRAME_ASK, span_of(digest, TOOL_DIGEST_SIZE), path) != 0 ||
        frame_receive(h->socket, &h->in, &kind, &payload) != 0 || kind != FRAME_ANSWER ||
        payload.size != 1)
        _exit(1);
    enum tool_read_state state = (enum tool_read_state)payload.data[0];
    buffer_consume(&h->in, frame_bytes(payload));
    return state;
}

static void note_read(void *ctx, struct span path, const unsigned char digest[TOOL_DIGEST_SIZE])
{
    const struct hand *h = ctx;
    if (frame_send(h->socket, FRAME_NOTE, span_of(digest, TOOL_DIGEST_SIZE), path) != 0)
        _exit(1);
}

// PID 1 ends a hand whose call was cancelled.
static bool is_cancelled(void *ctx)
{
    (void)ctx;
    return false;
}

static void send_result(const struct hand *h, int fault, bool is_error, struct span text)
{
    const struct frame_result head = {fault, is_error};
    if (frame_send(h->socket, FRAME_RESULT, span_of(&head, sizeof head), text) != 0)
        _exit(1);
}

static void send_tool_result(const struct hand *h, struct tool_result *result)
{
    struct buffer json;
    struct json_writer w;
    buffer_init(&json, FRAME_LIMIT - sizeof(struct frame_result));
    json_writer_init(&w, &json);
    json_object_open(&w);
    tool_result_write(result, &w);
    json_object_close(&w);
    if (json_writer_finish(&w) != 0)
        _exit(1);
    send_result(h, 0, result->is_error, buffer_span(&json));
    buffer_fini(&json);
}

static void run_call(struct hand *h, struct span payload)
{
    struct frame_call call;
    struct failure why = {0};
    struct json *doc = NULL;
    if (payload.size < sizeof call)
        _exit(1);
    memcpy(&call, payload.data, sizeof call);
    CLEANUP_FREE char *arguments = memory_copy_span(span_slice(payload, sizeof call, payload.size));
    struct span source = span_of(arguments, payload.size - sizeof call);
    struct tool_result result;
    tool_result_init(&result);
    const struct tool_env env = {
        .workspace = h->workspace,
        .snapshots_fd = h->snapshots_fd,
        .exports = &h->exports,
        .clock = clock_system(),
        .deadline_us = call.deadline_us,
        .was_read = was_read,
        .note_read = note_read,
        .is_cancelled = is_cancelled,
        .ctx = h,
    };
    buffer_consume(&h->in, frame_bytes(payload));
    if (call.tool >= tool_count || json_parse(source, NULL, &doc, &why) != 0)
        tool_result_fail(&result, &why);
    else
        tool_call(&tool_table[call.tool], &env, doc, JSON_ROOT, &result);
    send_tool_result(h, &result);
    tool_result_fini(&result);
    json_free(doc);
}

// Feeds the stream's frames to the unpacker until its end.
static int unpack_stream(struct hand *h, struct unpack *u, struct failure *why)
{
    for (;;) {
        enum frame_kind kind;
        struct span payload;
        if (frame_receive(h->socket, &h->in, &kind, &payload) != 0)
            _exit(1);
        if (kind != FRAME_DATA)
            return kind == FRAME_DATA_END ? 0 : FAULT_PEER;
        int fault = unpack_feed(u, payload, why);
        buffer_consume(&h->in, frame_bytes(payload));
        if (fault != 0)
            return fault;
    }
}

// Inputs belong to the worker, so that commands cannot change them. Needs no capability: the real
// uid has stayed the worker's.
static void use_files_as_worker(void)
{
    setfsgid(getgid());
    setfsuid(getuid());
}

static void send_counts(const struct hand *h, const struct unpack_counts *counts)
{
    struct buffer text;
    buffer_init(&text, 256);
    buffer_printf(&text, "{\"files\":%llu,\"bytes\":%llu}", (unsigned long long)counts->files,
                  (unsigned long long)counts->bytes);
    send_result(h, 0, false, buffer_span(&text));
    buffer_fini(&text);
}

// The last job of a hand: the way back to the command's user may be closed, and after a failure the
// rest of the stream still comes. PID 1 ends it once it has the result.
static void run_files(struct hand *h, struct span payload)
{
    struct frame_files files;
    struct failure why = {0};
    struct unpack_counts counts = {0};
    if (payload.size != sizeof files)
        _exit(1);
    memcpy(&files, payload.data, sizeof files);
    buffer_consume(&h->in, frame_bytes(payload));
    if (files.root == WORKSPACE_INPUTS)
        use_files_as_worker();
    struct unpack *u =
        unpack_new(h->workspace, (enum workspace_root)files.root, &unpack_limits_default);
    int fault = unpack_stream(h, u, &why);
    if (fault == 0)
        fault = unpack_finish(u, &counts, &why);
    unpack_free(u);
    if (fault != 0)
        send_result(h, fault, true, span_from_string(why.text));
    else
        send_counts(h, &counts);
    char rest[4096];
    while (read(h->socket, rest, sizeof rest) > 0)
        ;
    _exit(0);
}

// --- exports
// --------------------------------------------------------------------------------------

// PID 1 ends a hand whose export nobody wants any more.
static int go_on(void *ctx, struct failure *why)
{
    (void)ctx;
    (void)why;
    return 0;
}

// Blocks while PID 1 does not read: the client's pace is ours.
static int send_data(void *owner, struct span bytes)
{
    const struct hand *h = owner;
    if (bytes.size > 0 && frame_send(h->socket, FRAME_DATA, bytes, SPAN_NONE) != 0)
        _exit(1);
    return 0;
}

static void run_export(struct hand *h, struct span payload)
{
    struct export e;
    struct failure why = {0};
    size_t redacted;
    CLEANUP_FREE char *path = memory_copy_span(payload);
    size_t size = payload.size;
    buffer_consume(&h->in, frame_bytes(payload));
    int fault = export_open(h->workspace, span_of(path, size), &h->exports, go_on, NULL, &e, &why);
    if (fault == 0) {
        struct frame_facts facts = {e.facts.files, e.facts.bytes, e.facts.left_out, "", ""};
        snprintf(facts.type, sizeof facts.type, "%s", e.facts.type);
        snprintf(facts.name, sizeof facts.name, "%s", e.facts.name);
        if (frame_send(h->socket, FRAME_FACTS, span_of(&facts, sizeof facts), SPAN_NONE) != 0)
            _exit(1);
        fault = export_send(&e, h->workspace, send_data, h, &redacted, &why);
        export_close(&e);
    }
    send_result(h, fault, fault != 0, fault != 0 ? span_from_string(why.text) : SPAN_LITERAL("{}"));
}

static void serve(struct hand *h)
{
    enum frame_kind kind;
    struct span payload;
    while (frame_receive(h->socket, &h->in, &kind, &payload) == 0) {
        if (kind == FRAME_CALL)
            run_call(h, payload);
        else if (kind == FRAME_FILES)
            run_files(h, payload);
        else if (kind == FRAME_EXPORT)
            run_export(h, payload);
        else
            _exit(1);
        buffer_release(&h->in);
    }
}

void hand_run(int socket, void *task)
{
    const struct hand_task *t = task;
    struct hand h = {.socket = socket,
                     .workspace = t->workspace,
                     .snapshots_fd = t->snapshots_fd,
                     .exports = t->exports};
    buffer_init(&h.in, FRAME_LIMIT + sizeof(struct frame_head) + (64 << 10));
    if (become(t, NULL) == 0)
        serve(&h);
    _exit(0);
}
