// SPDX-License-Identifier: Apache-2.0
//
// What whoever starts a worker tells it, once: a JSON document on WORKER_START_FD (a pipe or memfd,
// read to its end and closed), beside the listening socket on WORKER_LISTEN_FD. Nothing of it ever
// stands in an environment or an argument list.
#ifndef WRIST_GATEWAY_LIB_CONTROL_WORKER_START_H
#define WRIST_GATEWAY_LIB_CONTROL_WORKER_START_H

#include <stdbool.h>
#include <stdint.h>

#include "gateway/lib/base/buffer.h"
#include "gateway/lib/base/failure.h"
#include "gateway/lib/base/random.h"
#include "gateway/lib/control/driver_api.h"
#include "gateway/lib/control/link.h"

enum {
    WORKER_LISTEN_FD = 3, // a listening unix or TCP socket
    WORKER_START_FD = 4,
    WORKER_START_LIMIT = 16 << 10, // bytes of the document
    WORKER_PATH_SIZE = 256,
    WORKER_TYPES_SIZE = 512,
};

// Of every command, on top of the container's own caps. 0: as the worker's.
struct worker_limits {
    int64_t processes;    // of the command's uid together
    int64_t file_bytes;   // the largest file it can write
    int64_t open_files;   // per process
    int64_t memory_bytes; // address space per process
};

// What may be exported from the sandbox.
struct worker_exports {
    int64_t bytes;                 // by one export
    char types[WORKER_TYPES_SIZE]; // media types as "text/*,image/png"; "": any
};

struct worker_start {
    char id[ID_SIZE]; // the sandbox
    char profile[PROFILE_NAME_SIZE];
    int64_t generation;
    unsigned char secret[LINK_SECRET_BYTES];
    char principal[PRINCIPAL_HASH_SIZE]; // whose it is from the start; "": the first one's to bind
    int64_t orphan_ms;                   // ends itself when no gateway came for so long; 0: never
    int64_t grace_ms;                    // from SIGTERM or /end to its exit
    int64_t worker_uid, worker_gid;      // whom PID 1 is to be; the same as now: nothing to change
    int64_t command_uid, command_gid;
    struct worker_limits limits;
    struct worker_exports exports;
    char workspace[WORKER_PATH_SIZE]; // "/workspace"
    char inputs[WORKER_PATH_SIZE];    // "/inputs"; "" for none
    // Commands run with the worker's own uid, since no other can be had here.
    bool weak_isolation;
    // Nobody can write to the workspace; only the tools that read are offered.
    bool read_only;
};

// Everything but id, generation, secret and the uids.
void worker_start_default(struct worker_start *s);
int worker_start_write(const struct worker_start *s, struct buffer *out);
// Every member must be there but `inputs`; unknown ones are passed over, so that an older worker
// starts.
int worker_start_parse(struct span json, struct worker_start *out, struct failure *why);

#endif
