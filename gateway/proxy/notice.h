// SPDX-License-Identifier: Apache-2.0
//
// Messages of a session that nobody waits for an answer to, as a cancellation: they go to its
// sandbox whichever process carries the call they are about, and are dropped where it has none.
#ifndef WRIST_GATEWAY_PROXY_NOTICE_H
#define WRIST_GATEWAY_PROXY_NOTICE_H

#include "gateway/pool/binder.h"

struct notices;

enum { NOTICES_MAX = 256, NOTICE_BYTES = 64 << 10 }; // on their way at once; of one

struct notices *notices_new(struct binder *binder);
void notices_free(struct notices *all);
// The spans may go after the call; `version` is a constant. What is past the bounds is dropped.
void notice_send(struct notices *all, const struct bind_request *session, const char *version,
                 struct span message);

#endif
