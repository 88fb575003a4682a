// SPDX-License-Identifier: Apache-2.0
//
// What a URL names: a profile, or one sandbox by its handle. And which session a request is of.
#ifndef WRIST_GATEWAY_PROXY_PLACE_H
#define WRIST_GATEWAY_PROXY_PLACE_H

#include "gateway/pool/binder.h"
#include "gateway/proxy/sealed.h"
#include "gateway/proxy/visit.h"

struct place {
    const struct profile *profile; // NULL where the place is dead
    char sandbox[ID_SIZE];         // "" where no handle names one
    bool is_handle;
    char volume[VOLUME_NAME_SIZE]; // that the URL names; "" for none
    bool has_bad_volume;           // a name that none can have
    bool is_dead;                  // a handle that names nothing (any more)
};

// 0, NOT_FOUND (no such profile) or DENIED (not for this principal). A dead handle is no failure
// here: what it answers depends on the message.
int place_find(struct visit *v, struct place *out, struct failure *why);
// INVALID: the URL names a volume that nobody can have there. Asked where something new is bound;
// what is bound already is served whatever the URL says.
int place_check_volume(const struct place *p, struct failure *why);
struct span place_key(const struct place *p); // what a session is bound to

enum session_state { SESSION_ABSENT, SESSION_UNKNOWN, SESSION_KNOWN };
struct session {
    enum session_state state;
    struct session_name name; // where it is known
};
void session_read(struct visit *v, const struct place *place, struct session *out);
// Fills the visit's field for logs: a prefix of the id's hash.
void session_note(struct visit *v, const struct session_name *name);

// What a sandbox that is bound now gets as its workspace, "" for none: what the session began with,
// or without a session what the URL names.
const char *place_volume(const struct place *place, const struct session *session);
// The request to the binder for this place and session.
struct bind_request place_bind_request(struct visit *v, const struct place *place,
                                       const struct session *session);

#endif
