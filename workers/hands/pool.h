// SPDX-License-Identifier: Apache-2.0
//
// The hands: a few forked processes that run blocking file work. Jobs that only read run side by
// side; jobs that change files run one after another, so that no update is lost. Queue, number of
// hands and sizes are bounded.
//
// A job lives from its start until `ended` returns or hand_job_cancel.
#ifndef WRIST_WORKERS_HANDS_POOL_H
#define WRIST_WORKERS_HANDS_POOL_H

#include "gateway/lib/base/failure.h"
#include "gateway/lib/base/span.h"
#include "workers/hands/hand.h"
#include "workers/workspace/workspace.h"

struct frame_facts; // workers/hands/frame.h
struct hand_job;
struct hand_pool;
struct loop;
struct reads;
struct reaper;
struct tool;

struct hand_pool_options {
    struct loop *loop; // borrowed, as all of this
    struct reaper *reaper;
    struct reads *reads;
    struct hand_task task;
    size_t hands;   // at most
    size_t waiting; // jobs in line at most; past it FAULT_QUOTA
};

struct hand_pool *hand_pool_new(const struct hand_pool_options *options);
void hand_pool_free(struct hand_pool *p); // ends the hands; no callback

struct hand_job_ops {
    // Once, last. `why` is NULL when the hand answered: `json` is then the object of a tool result
    // or of an upload's counts, gone after the call.
    void (*ended)(void *owner, const struct failure *why, bool is_error, struct span json);
    void (*drained)(void *owner); // uploads: more may be written
    // Exports: what it is, and then its bytes.
    void (*facts)(void *owner, const struct frame_facts *facts);
    void (*data)(void *owner, struct span bytes);
};

// A HAND tool. `arguments` is a JSON value; `reader` says whose reads count.
struct hand_job *hand_call_start(struct hand_pool *p, const struct tool *tool,
                                 struct span arguments, struct span reader, int64_t timeout_ms,
                                 const struct hand_job_ops *ops, void *owner, struct failure *why);

// A tar stream into a root.
struct hand_job *hand_files_start(struct hand_pool *p, enum workspace_root root, int64_t timeout_ms,
                                  const struct hand_job_ops *ops, void *owner, struct failure *why);
void hand_files_write(struct hand_job *job, struct span bytes);
void hand_files_end(struct hand_job *job);
bool hand_files_is_choked(const struct hand_job *job);

// A file or a folder, which goes out as its bytes are taken; limits and types are the task's.
struct hand_job *hand_export_start(struct hand_pool *p, struct span path, int64_t timeout_ms,
                                   const struct hand_job_ops *ops, void *owner,
                                   struct failure *why);
void hand_export_pause(struct hand_job *job); // no data, until
void hand_export_resume(struct hand_job *job);

// No callback any more. A hand that only reads is ended; one that changes files finishes its job,
// whose result is dropped.
void hand_job_cancel(struct hand_job *job);

#endif
