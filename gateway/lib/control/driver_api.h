// SPDX-License-Identifier: Apache-2.0
// The words between wrist-gateway and wrist-driver; see README.md.
#ifndef WRIST_GATEWAY_LIB_CONTROL_DRIVER_API_H
#define WRIST_GATEWAY_LIB_CONTROL_DRIVER_API_H

#include "gateway/lib/base/buffer.h"
#include "gateway/lib/base/failure.h"
#include "gateway/lib/base/random.h"

enum {
    PROFILE_NAME_SIZE = 64, // [a-z0-9][a-z0-9-]*
    ENDPOINT_SIZE = 128,
    DIGEST_SIZE = 72, // "sha256:" and 64 hex digits
    REVISION_SIZE = 33,
    LINK_SECRET_BYTES = 32,
    NOTE_SIZE = 1025,
    VOLUME_HASH_SIZE = 65, // SHA-256 in hex
    VOLUME_LABEL_SIZE = 257,
};

struct driver_create {
    char id[ID_SIZE];
    char fleet[ID_SIZE];
    char profile[PROFILE_NAME_SIZE];
    int64_t generation;
    unsigned char secret[LINK_SECRET_BYTES];
    int64_t orphan_ms; // the worker ends itself when no gateway came for so long
    // The workspace outlives the sandbox; made where it is missing. "": it does not. The worker is
    // its owner's from its start.
    char volume[VOLUME_HASH_SIZE];
    char volume_owner[VOLUME_HASH_SIZE];
    char volume_label[VOLUME_LABEL_SIZE]; // the gateway's; kept with it and shown
    int64_t volume_keep_ms;               // deleted when nobody used it for so long
    int64_t volumes_most;                 // of this owner and profile
};

#define DRIVER_STATE_TABLE(X)                                                                      \
    X(CREATING, "creating") /* journalled; the container may or may not exist */                   \
    X(RUNNING, "running")   /* the worker listens */                                               \
    X(EXITED, "exited")     /* the container ended; what it left is still there */
enum driver_state {
#define X(name, text) DRIVER_STATE_##name,
    DRIVER_STATE_TABLE(X)
#undef X
};

struct driver_record {
    char id[ID_SIZE];
    char fleet[ID_SIZE];
    char profile[PROFILE_NAME_SIZE];
    int64_t generation;
    enum driver_state state;
    int64_t created_ms; // wall time
    char endpoint[ENDPOINT_SIZE];
    char digest[DIGEST_SIZE];     // of the image and the worker in it: the card's key
    char revision[REVISION_SIZE]; // of all that it is made of, limits too
    char note[NOTE_SIZE];         // "" where there is none
    char volume[VOLUME_HASH_SIZE];
};

// A workspace that outlives its sandboxes. At most one of them has it at a time.
struct driver_volume {
    char id[VOLUME_HASH_SIZE];
    char fleet[ID_SIZE];
    char owner[VOLUME_HASH_SIZE];
    char label[VOLUME_LABEL_SIZE];
    char profile[PROFILE_NAME_SIZE];
    int64_t bytes;
    int64_t keep_ms;             // unused for so long, it is deleted
    int64_t created_ms, used_ms; // wall time
    char sandbox[ID_SIZE];       // that has it; "" for none
};

int driver_create_write(const struct driver_create *c, struct buffer *out);
int driver_create_parse(struct span json, struct driver_create *out, struct failure *why);
int driver_record_write(const struct driver_record *r, struct buffer *out);
int driver_record_parse(struct span json, struct driver_record *out, struct failure *why);
int driver_volume_write(const struct driver_volume *v, struct buffer *out);
int driver_volume_parse(struct span json, struct driver_volume *out, struct failure *why);

// `{"error":{"fault":…,"message":…}}`; parsing one always returns a fault, INTERNAL if it is
// unclear.
int failure_write(const struct failure *why, struct buffer *out);
int failure_parse(struct span json, struct failure *why);

#endif
