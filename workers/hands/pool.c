// SPDX-License-Identifier: Apache-2.0
#include "workers/hands/pool.h"

#include <signal.h>
#include <stdlib.h>

#include "gateway/lib/base/list.h"
#include "gateway/lib/base/memory.h"
#include "gateway/lib/loop/loop.h"
#include "gateway/lib/loop/timer.h"
#include "gateway/lib/net/stream.h"
#include "gateway/lib/telemetry/log.h"
#include "workers/hands/frame.h"
#include "workers/hands/reads.h"
#include "workers/init/reaper.h"
#include "workers/init/spawn.h"
#include "workers/tools/tool.h"

enum {
    READER_SIZE = 129,
    KILL_AFTER_MS = 2000, // past the deadline that the hand itself knows
    JOB_BYTES = 20 << 20, // what waits for a hand: arguments
    UPLOAD_HIGH = 1 << 20,
};

struct hand {
    struct list node; // in the pool's hands
    struct hand_pool *pool;
    struct stream *stream; // owned; NULL once it is dead
    pid_t pid;             // 0 once it was reaped
    struct hand_job *job;  // NULL: idle
    bool is_paused;        // what it says waits
};

struct hand_job {
    struct list node; // in the pool's waiting list
    struct hand_pool *pool;
    struct hand *hand;              // NULL while it waits
    const struct hand_job_ops *ops; // NULL: nobody asks any more
    void *owner;                    // borrowed
    struct timer timer;
    struct buffer pending; // frames until there is a hand
    char reader[READER_SIZE];
    bool changes_files, is_upload, is_export;
};

struct hand_pool {
    struct hand_pool_options options;
    struct list hands, waiting;
    size_t hand_count, waiting_count;
    bool changing; // a job that changes files runs
    struct task match;
};

static void job_free(void *object)
{
    struct hand_job *job = object;
    buffer_fini(&job->pending);
    free(job);
}

static void job_bury(struct hand_job *job)
{
    struct hand_pool *p = job->pool;
    timer_cancel(&job->timer);
    if (!list_is_empty(&job->node)) {
        list_remove(&job->node);
        p->waiting_count--;
    }
    if (job->hand != NULL) {
        job->hand->job = NULL;
        p->changing = p->changing && !job->changes_files;
    }
    job->hand = NULL;
    loop_bury(p->options.loop, job, job_free);
    loop_defer(p->options.loop, &p->match);
}

static void job_end(struct hand_job *job, const struct failure *why, bool is_error,
                    struct span json)
{
    const struct hand_job_ops *ops = job->ops;
    job->ops = NULL;
    job_bury(job);
    if (ops != NULL)
        ops->ended(job->owner, why, is_error, json);
}

static void hand_bury(struct hand *h)
{
    if (h->stream == NULL)
        return;
    stream_close(h->stream);
    h->stream = NULL;
    if (h->pid != 0) {
        kill(h->pid, SIGKILL);
        reaper_forget(h->pool->options.reaper, h->pid);
    }
    list_remove(&h->node);
    h->pool->hand_count--;
    loop_bury(h->pool->options.loop, h, free);
    loop_defer(h->pool->options.loop, &h->pool->match);
}

// The hand is gone or not to be believed; what it was doing may have been done in part.
static void hand_lose(struct hand *h, enum fault fault, const char *text)
{
    struct hand_job *job = h->job;
    struct failure why;
    hand_bury(h);
    failure_set(&why, fault, "%s", text);
    if (job != NULL)
        job_end(job, &why, true, SPAN_NONE);
}

static void on_reaped(void *owner, int status)
{
    struct hand *h = owner;
    (void)status;
    h->pid = 0; // the stream's end tells the rest
}

static void take_result(struct hand *h, struct span payload)
{
    struct frame_result head;
    struct failure why;
    struct hand_job *job = h->job;
    if (payload.size < sizeof head) {
        hand_lose(h, FAULT_LOST, "a helper of the sandbox failed");
        return;
    }
    memcpy(&head, payload.data, sizeof head);
    struct span text = span_slice(payload, sizeof head, payload.size);
    bool was_last = job->is_upload;
    failure_set(&why, (enum fault)head.fault, "%.*s", SPAN_ARGS(text));
    job_end(job, head.fault != 0 ? &why : NULL, head.is_error != 0, text);
    if (was_last)
        hand_bury(h);
}

static int take_export(struct hand_job *job, enum frame_kind kind, struct span payload)
{
    struct frame_facts facts;
    if (kind == FRAME_DATA) {
        job->ops->data(job->owner, payload);
        return 0;
    }
    if (payload.size != sizeof facts)
        return FAULT_PEER;
    memcpy(&facts, payload.data, sizeof facts);
    facts.type[sizeof facts.type - 1] = '\0';
    facts.name[sizeof facts.name - 1] = '\0';
    job->ops->facts(job->owner, &facts);
    return 0;
}

static int take_frame(struct hand *h, enum frame_kind kind, struct span payload)
{
    struct hand_job *job = h->job;
    struct reads *reads = h->pool->options.reads;
    if (job == NULL)
        return FAULT_PEER;
    if (kind == FRAME_RESULT) {
        take_result(h, payload);
        return 0;
    }
    if (job->is_export && (kind == FRAME_FACTS || kind == FRAME_DATA))
        return take_export(job, kind, payload);
    if ((kind != FRAME_ASK && kind != FRAME_NOTE) || payload.size <= TOOL_DIGEST_SIZE ||
        payload.size > TOOL_DIGEST_SIZE + WORKSPACE_SHOWN_SIZE)
        return FAULT_PEER;
    const unsigned char *digest = (const unsigned char *)payload.data;
    struct span path = span_slice(payload, TOOL_DIGEST_SIZE, payload.size);
    struct span reader = span_from_string(job->reader);
    if (kind == FRAME_NOTE) {
        reads_note(reads, reader, path, digest);
        return 0;
    }
    const struct frame_head head = {1, FRAME_ANSWER};
    char state = (char)reads_state(reads, reader, path, digest);
    int fault = stream_write(h->stream, span_of(&head, sizeof head));
    return fault != 0 ? fault : stream_write(h->stream, span_of(&state, 1));
}

static void on_readable(void *owner, struct buffer *in)
{
    struct hand *h = owner;
    enum frame_kind kind;
    struct span payload;
    int got = 0;
    while (h->stream != NULL && !h->is_paused && (got = frame_peek(in, &kind, &payload)) > 0) {
        int fault = take_frame(h, kind, payload);
        if (h->stream == NULL)
            return;
        buffer_consume(in, frame_bytes(payload));
        if (fault != 0) {
            got = fault;
            break;
        }
    }
    if (h->stream != NULL && got < 0)
        hand_lose(h, FAULT_LOST, "a helper of the sandbox broke its protocol");
}

static void on_read_ended(void *owner)
{
    hand_lose(owner, FAULT_LOST, "a helper of the sandbox died; the call may have run in part");
}

static void on_drained(void *owner)
{
    const struct hand *h = owner;
    if (h->job != NULL && h->job->ops != NULL && h->job->ops->drained != NULL)
        h->job->ops->drained(h->job->owner);
}

static void on_closed(void *owner, const struct failure *why)
{
    (void)why;
    on_read_ended(owner);
}

static const struct stream_ops hand_ops = {
    .readable = on_readable,
    .read_ended = on_read_ended,
    .drained = on_drained,
    .closed = on_closed,
};

static struct hand *hand_spawn(struct hand_pool *p, struct failure *why)
{
    static const struct stream_limits limits = {
        .read_bytes = FRAME_LIMIT + sizeof(struct frame_head),
        .write_bytes = JOB_BYTES + (4 << 20),
        .high_water = UPLOAD_HIGH,
        .low_water = UPLOAD_HIGH / 4,
    };
    struct hand_task task = p->options.task;
    struct spawn spawn = {.run = hand_run, .task = &task};
    for (int root = 0; root < WORKSPACE_ROOTS; root++)
        if (workspace_has_root(task.workspace, (enum workspace_root)root))
            spawn.keep[spawn.keep_count++] =
                workspace_root_fd(task.workspace, (enum workspace_root)root);
    if (task.snapshots_fd >= 0)
        spawn.keep[spawn.keep_count++] = task.snapshots_fd;
    int socket;
    pid_t pid = spawn_start(&spawn, &socket, why);
    if (pid < 0)
        return NULL;
    struct address peer = {.inherited_fd = -1};
    struct hand *h = memory_new(sizeof *h);
    *h = (struct hand){.pool = p, .pid = pid};
    h->stream = stream_from_fd(p->options.loop, socket, &peer, &limits);
    stream_set_owner(h->stream, &hand_ops, h);
    reaper_watch(p->options.reaper, pid, on_reaped, h);
    list_append(&p->hands, &h->node);
    p->hand_count++;
    return h;
}

static struct hand *hand_idle(struct hand_pool *p)
{
    LIST_EACH(node, &p->hands)
    {
        struct hand *h = LIST_ENTRY(node, struct hand, node);
        if (h->job == NULL)
            return h;
    }
    return NULL;
}

static struct hand_job *job_next(struct hand_pool *p)
{
    LIST_EACH(node, &p->waiting)
    {
        struct hand_job *job = LIST_ENTRY(node, struct hand_job, node);
        if (!job->changes_files || !p->changing)
            return job;
    }
    return NULL;
}

static void job_give(struct hand_pool *p, struct hand_job *job, struct hand *h)
{
    list_remove(&job->node);
    p->waiting_count--;
    p->changing = p->changing || job->changes_files;
    job->hand = h;
    h->job = job;
    if (stream_write(h->stream, buffer_span(&job->pending)) != 0)
        hand_lose(h, FAULT_INTERNAL, "the call could not be handed over");
    buffer_release(&job->pending);
}

// Waiting jobs and free hands meet here, once a turn.
static void match(struct task *task)
{
    struct hand_pool *p = CONTAINER_OF(task, struct hand_pool, match);
    struct hand_job *job;
    while ((job = job_next(p)) != NULL) {
        struct failure why;
        struct hand *h = hand_idle(p);
        if (h == NULL && p->hand_count >= p->options.hands)
            return;
        if (h == NULL)
            h = hand_spawn(p, &why);
        if (h != NULL)
            job_give(p, job, h);
        else
            job_end(job, &why, true, SPAN_NONE);
    }
}

struct hand_pool *hand_pool_new(const struct hand_pool_options *options)
{
    struct hand_pool *p = memory_new(sizeof *p);
    struct failure why;
    p->options = *options;
    list_init(&p->hands);
    list_init(&p->waiting);
    task_init(&p->match, match);
    if (hand_spawn(p, &why) == NULL) // the first is there before the first call; not needed yet
        LOG(LOG_WARN, "hands.spawn", LOG_FAILURE(&why));
    return p;
}

void hand_pool_free(struct hand_pool *p)
{
    if (p == NULL)
        return;
    LIST_EACH(node, &p->waiting)
    {
        struct hand_job *job = LIST_ENTRY(node, struct hand_job, node);
        job_bury(job);
    }
    LIST_EACH(node, &p->hands)
    {
        struct hand *h = LIST_ENTRY(node, struct hand, node);
        if (h->job != NULL)
            job_bury(h->job);
        hand_bury(h);
    }
    task_cancel(&p->match);
    free(p);
}

static void on_deadline(struct timer *timer)
{
    struct hand_job *job = CONTAINER_OF(timer, struct hand_job, timer);
    struct failure why;
    struct hand *h = job->hand;
    failure_set(&why, FAULT_TIMEOUT, "the call took too long and was ended");
    job_end(job, &why, true, SPAN_NONE);
    if (h != NULL)
        hand_bury(h);
}

static struct hand_job *job_new(struct hand_pool *p, int64_t timeout_ms,
                                const struct hand_job_ops *ops, void *owner, struct failure *why)
{
    if (p->waiting_count >= p->options.waiting) {
        failure_set(why, FAULT_QUOTA, "%zu file calls of this sandbox wait already",
                    p->waiting_count);
        return NULL;
    }
    struct hand_job *job = memory_new(sizeof *job);
    *job = (struct hand_job){.pool = p, .ops = ops, .owner = owner};
    buffer_init(&job->pending, JOB_BYTES);
    timer_init(&job->timer, p->options.loop, on_deadline);
    timer_start(&job->timer, timeout_ms + KILL_AFTER_MS);
    list_append(&p->waiting, &job->node);
    p->waiting_count++;
    loop_defer(p->options.loop, &p->match);
    return job;
}

struct hand_job *hand_call_start(struct hand_pool *p, const struct tool *tool,
                                 struct span arguments, struct span reader, int64_t timeout_ms,
                                 const struct hand_job_ops *ops, void *owner, struct failure *why)
{
    const struct frame_call call = {
        .tool = (uint32_t)(tool - tool_table),
        .deadline_us = clock_monotonic_us(loop_clock(p->options.loop)) + timeout_ms * 1000,
    };
    struct hand_job *job = job_new(p, timeout_ms, ops, owner, why);
    if (job == NULL)
        return NULL;
    job->changes_files = !tool->annotations.read_only;
    if (span_copy_string(reader, job->reader, sizeof job->reader) &&
        frame_append(&job->pending, FRAME_CALL, span_of(&call, sizeof call), arguments) == 0)
        return job;
    job_bury(job);
    failure_set(why, FAULT_TOO_LARGE, "the arguments are too large");
    return NULL;
}

struct hand_job *hand_files_start(struct hand_pool *p, enum workspace_root root, int64_t timeout_ms,
                                  const struct hand_job_ops *ops, void *owner, struct failure *why)
{
    const struct frame_files files = {root};
    struct hand_job *job = job_new(p, timeout_ms, ops, owner, why);
    if (job == NULL)
        return NULL;
    job->is_upload = true;
    frame_append(&job->pending, FRAME_FILES, span_of(&files, sizeof files), SPAN_NONE);
    return job;
}

static void files_frame(struct hand_job *job, enum frame_kind kind, struct span bytes)
{
    struct buffer frame;
    if (job->hand == NULL) {
        (void)frame_append(&job->pending, kind, bytes, SPAN_NONE);
        return;
    }
    buffer_init(&frame, sizeof(struct frame_head) + bytes.size);
    frame_append(&frame, kind, bytes, SPAN_NONE);
    if (stream_write(job->hand->stream, buffer_span(&frame)) != 0)
        hand_lose(job->hand, FAULT_INTERNAL, "the upload came faster than it could be written");
    buffer_fini(&frame);
}

void hand_files_write(struct hand_job *job, struct span bytes)
{
    files_frame(job, FRAME_DATA, bytes);
}

void hand_files_end(struct hand_job *job)
{
    files_frame(job, FRAME_DATA_END, SPAN_NONE);
}

bool hand_files_is_choked(const struct hand_job *job)
{
    if (job->hand == NULL)
        return buffer_size(&job->pending) > UPLOAD_HIGH;
    return stream_is_choked(job->hand->stream);
}

struct hand_job *hand_export_start(struct hand_pool *p, struct span path, int64_t timeout_ms,
                                   const struct hand_job_ops *ops, void *owner, struct failure *why)
{
    struct hand_job *job = job_new(p, timeout_ms, ops, owner, why);
    if (job == NULL)
        return NULL;
    job->is_export = true;
    frame_append(&job->pending, FRAME_EXPORT, path, SPAN_NONE);
    return job;
}

void hand_export_pause(struct hand_job *job)
{
    if (job->hand == NULL)
        return;
    job->hand->is_paused = true;
    stream_pause(job->hand->stream);
}

void hand_export_resume(struct hand_job *job)
{
    if (job->hand == NULL || !job->hand->is_paused)
        return;
    job->hand->is_paused = false;
    stream_resume(job->hand->stream);
}

void hand_job_cancel(struct hand_job *job)
{
    struct hand *h = job->hand;
    bool ends = h == NULL || !job->changes_files;
    job->ops = NULL;
    if (!ends)
        return; // its hand or its deadline ends it
    job_bury(job);
    if (h != NULL)
        hand_bury(h);
}
