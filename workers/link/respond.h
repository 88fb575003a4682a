// SPDX-License-Identifier: Apache-2.0
// Responses as JSON-RPC, from a result or an error.
#ifndef WRIST_WORKERS_LINK_RESPOND_H
#define WRIST_WORKERS_LINK_RESPOND_H

#include "gateway/lib/base/span.h"

struct answer;

void respond_result(struct answer *answer, struct span id, struct span result);
// A modern result, which says that it is one, and no question.
void respond_complete(struct answer *answer, struct span id, struct span result);
void respond_error(struct answer *answer, struct span id, int code, struct span text);

#endif
