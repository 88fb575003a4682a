// SPDX-License-Identifier: Apache-2.0
//
// Names that clients hold for us. A session id seals {session, issued, revision, what its client's
// name and URL said at its beginning}, bound to the
// principal and to the place (profile or sandbox) it was made at, so that anybody else's opens as
// unknown. A handle seals {sandbox, profile}: its owner's as it is, that of a principal it was
// granted to bound to that one. Neither opens as the other, or without the key ring.
#ifndef WRIST_GATEWAY_PROXY_SEALED_H
#define WRIST_GATEWAY_PROXY_SEALED_H

#include "gateway/auth/principal.h"
#include "gateway/config/config.h"
#include "gateway/lib/control/driver_api.h"
#include "gateway/lib/mcp/revision.h"

struct keyring;

enum { PROVIDER_NAME_SIZE = 32, SESSION_MARK_SIZE = 9 };
enum { SEALED_TEXT_SIZE = 512 }; // what a session id or a handle has less than

struct session_name {
    char id[ID_SIZE];  // internal
    int64_t issued_ms; // wall time
    enum mcp_revision revision;
    char provider[PROVIDER_NAME_SIZE]; // that the client's name told; "" for none
    char volume[VOLUME_NAME_SIZE];     // that its sandbox has as its workspace; "" for none
    char mark[SESSION_MARK_SIZE];      // what logs call it: the start of the id's hash
};
void session_name_mark(struct session_name *name); // from its id
// `place` is the profile's name, or the sandbox id where the URL names a sandbox.
int session_name_seal(const struct keyring *ring, const struct principal *principal,
                      struct span place, const struct session_name *name, struct buffer *out);
int session_name_open(const struct keyring *ring, const struct principal *principal,
                      struct span place, struct span text, struct session_name *out);

struct handle_name {
    char sandbox[ID_SIZE];
    char profile[PROFILE_NAME_SIZE];
};
// `grantee` is the hash of the principal whose handle it is to be; "" for the owner.
int handle_name_seal(const struct keyring *ring, const char *grantee,
                     const struct handle_name *name, struct buffer *out);
// For that principal: the owner's handles and those that were made for it.
int handle_name_open(const struct keyring *ring, const char *principal, struct span text,
                     struct handle_name *out);

#endif
