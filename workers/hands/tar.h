// SPDX-License-Identifier: Apache-2.0
//
// The records of a tar stream: ustar, pax extended headers, GNU long names and base-256 sizes. Pure
// parsing; nothing here touches a file.
#ifndef WRIST_WORKERS_HANDS_TAR_H
#define WRIST_WORKERS_HANDS_TAR_H

#include "gateway/lib/base/failure.h"
#include "gateway/lib/base/span.h"

enum {
    TAR_BLOCK = 512,
    TAR_NAME_SIZE = 4096,
    TAR_EXTENSION_MAX = 64 << 10, // bytes of one extended header or long name
};

enum tar_kind {
    TAR_END, // an empty block
    TAR_FILE,
    TAR_DIRECTORY,
    TAR_LINK,      // symbolic or hard
    TAR_SPECIAL,   // devices, fifos, and what we do not know
    TAR_PAX,       // its content speaks of the next member
    TAR_LONG_NAME, // its content is the next member's name
    TAR_IGNORED,   // a global header, a long link name
};

struct tar_member {
    enum tar_kind kind;
    char name[TAR_NAME_SIZE];
    uint64_t size; // of the content, which is padded to whole blocks
    unsigned mode; // permission bits
};

// What an extended header said about the member after it.
struct tar_override {
    char name[TAR_NAME_SIZE]; // "": nothing
    bool has_size;
    uint64_t size;
};

int tar_header_parse(const unsigned char block[TAR_BLOCK], struct tar_member *out,
                     struct failure *why);
int tar_pax_parse(struct span content, struct tar_override *out, struct failure *why);
int tar_long_name_parse(struct span content, struct tar_override *out, struct failure *why);
void tar_override_apply(const struct tar_override *o, struct tar_member *m);

// The name without "./" and slashes at its ends, "" for the root itself. FAULT_DENIED where it is
// absolute or has a ".." in it.
int tar_name_clean(const char *name, char out[TAR_NAME_SIZE], unsigned *depth, struct failure *why);

#endif
