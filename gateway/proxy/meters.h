// SPDX-License-Identifier: Apache-2.0
// What the request path counts.
#ifndef WRIST_GATEWAY_PROXY_METERS_H
#define WRIST_GATEWAY_PROXY_METERS_H

#include <stdint.h>

struct metrics;
struct meters;

struct meters *meters_new(struct metrics *metrics);
void meters_free(struct meters *m);

void meters_exchange_opened(struct meters *m);
// route: a constant; NULL where the path is unknown.
void meters_exchange_closed(struct meters *m, const char *route, int status, int64_t us);
void meters_stream(struct meters *m, int change);      // SSE answers open now
void meters_session_opened(struct meters *m);          // initialize answered
void meters_session_ended(struct meters *m);           // DELETE
void meters_call(struct meters *m, const char *fault); // tools/call by how it ended; NULL: well

#endif
