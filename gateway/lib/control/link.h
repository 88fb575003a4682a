// SPDX-License-Identifier: Apache-2.0
// The words between wrist-gateway and wrist-worker; see README.md.
#ifndef WRIST_GATEWAY_LIB_CONTROL_LINK_H
#define WRIST_GATEWAY_LIB_CONTROL_LINK_H

#include "gateway/lib/base/buffer.h"
#include "gateway/lib/base/failure.h"
#include "gateway/lib/base/random.h"

#define LINK_HEADER_SESSION "wrist-session"
#define LINK_HEADER_READER  "wrist-reader"
#define LINK_HEADER_CALL    "wrist-call"

enum { PRINCIPAL_HASH_SIZE = 65 }; // SHA-256 in hex

// The compare-and-set: the first one wins for the sandbox's life, further ones of the same
// principal, or of one that was granted, add a session.
struct link_bind {
    char principal[PRINCIPAL_HASH_SIZE];
    char session[ID_SIZE]; // "" for none
    int64_t generation;
    int64_t idle_ms;     // the sandbox's idle life; 0: leave as it is
    int64_t absolute_ms; // what is left of its absolute life, counted from now; 0: leave as it is
};

// The owner lets another principal use the sandbox, or no longer: it may bind sessions of its own.
enum { LINK_GRANTS_MOST = 8 };
struct link_grant {
    char principal[PRINCIPAL_HASH_SIZE];
    int64_t generation;
    int64_t granted; // 0: taken back, and what that principal runs ends
};

struct link_status {
    char sandbox[ID_SIZE];
    int64_t generation;
    char principal[PRINCIPAL_HASH_SIZE]; // "" while it is unbound
    int64_t idle_ms;                     // since the last use
    int64_t absolute_left_ms;            // -1 while it is unbound
    int64_t calls;                       // running now
    int64_t sessions;
};

int link_bind_write(const struct link_bind *b, struct buffer *out);
int link_bind_parse(struct span json, struct link_bind *out, struct failure *why);
int link_grant_write(const struct link_grant *g, struct buffer *out);
int link_grant_parse(struct span json, struct link_grant *out, struct failure *why);
int link_status_write(const struct link_status *s, struct buffer *out);
int link_status_parse(struct span json, struct link_status *out, struct failure *why);

#endif
