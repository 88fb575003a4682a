// SPDX-License-Identifier: Apache-2.0
//
// What leaves a sandbox on purpose: one file, or a folder as a tar stream. It is measured and its
// types are looked at before a byte goes; text is scrubbed of secrets on its way.
#ifndef WRIST_WORKERS_EXPORTS_EXPORT_H
#define WRIST_WORKERS_EXPORTS_EXPORT_H

#include "workers/workspace/file.h"
#include "workers/workspace/walk.h"

enum { EXPORT_MEMBERS_MAX = 200000 }; // as many as an upload takes

struct export_limits {
    uint64_t bytes;    // of all files together, before they are scrubbed
    uint64_t members;  // files, folders and links
    const char *types; // what files may be: "text/*,image/png"; "" or "*": anything
};

struct export_facts {
    bool is_folder;
    bool is_text;          // a file whose bytes are scrubbed
    const char *type;      // a media type; of a folder application/x-tar
    uint64_t files, bytes; // regular files, and what they hold
    uint64_t left_out;     // sockets, FIFOs, devices, what cannot be read, and links that
                           // lead out of the folder
    char example[WORKSPACE_SHOWN_SIZE]; // one of them
    char shown[WORKSPACE_SHOWN_SIZE];   // as it is called in the sandbox
    char name[WORKSPACE_NAME_SIZE + 4]; // to keep it under: "report.pdf", "dist.tar"
};

struct export
{
    struct file file;           // of a file
    struct directory directory; // of a folder
    struct export_limits limits;
    struct export_facts facts;
    int (*go_on)(void *ctx, struct failure *why); // asked on the way; a failure ends it
    void *ctx;
};

// FAULT_NOT_FOUND; FAULT_TOO_LARGE past a limit; FAULT_DENIED for a type that may not leave, or a
// file whose content is not what its name says. `limits.types` and `ctx` are borrowed.
int export_open(const struct workspace *ws, struct span path, const struct export_limits *limits,
                int (*go_on)(void *ctx, struct failure *why), void *ctx, struct export *out,
                struct failure *why);
// Everything, in order. What `put` returns, if not 0, ends it. *redacted: secrets that were taken
// out. FAULT_CONFLICT where a file changed meanwhile so that it cannot be told whole.
int export_send(struct export *e, const struct workspace *ws,
                int (*put)(void *owner, struct span bytes), void *owner, size_t *redacted,
                struct failure *why);
void export_close(struct export *e);

#endif
