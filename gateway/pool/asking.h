// SPDX-License-Identifier: Apache-2.0
//
// A question to a worker that outlives whatever asked it: the sandbox may be gone when the answer
// comes. The answer finds its ward again by id and generation, or is told that there is none.
#ifndef WRIST_GATEWAY_POOL_ASKING_H
#define WRIST_GATEWAY_POOL_ASKING_H

#include "gateway/pool/state.h"

struct asking;
// `ward` is NULL where it is gone; *why then says so.
typedef void asking_done(void *owner, struct ward *ward, const struct worker_answer *answer,
                         const struct failure *why);

struct asking *ask_status(struct ward *w, asking_done *done, void *owner);
struct asking *ask_card(struct ward *w, asking_done *done, void *owner);
struct asking *ask_bind(struct ward *w, const char *principal, const char *session,
                        asking_done *done, void *owner);
struct asking *ask_grant(struct ward *w, const char *principal, bool granted, asking_done *done,
                         void *owner);
void asking_cancel(struct asking *a); // no callback any more
void askings_cancel_all(struct binder *b);

#endif
