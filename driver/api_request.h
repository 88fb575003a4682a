// SPDX-License-Identifier: Apache-2.0
// One request of the driver's API, from its head to its answer: route, body, handler.
#ifndef WRIST_DRIVER_API_REQUEST_H
#define WRIST_DRIVER_API_REQUEST_H

#include <sys/types.h>

#include "driver/config.h"
#include "driver/engine.h"
#include "gateway/lib/http/exchange.h"

struct events;
struct sandboxes;
struct volumes;

struct api_context {
    const struct driver_config *config; // all borrowed
    const struct engine *engine;
    struct events *events;
    struct sandboxes *sandboxes;
    struct volumes *volumes;
};

void api_request_begin(const struct api_context *context, uid_t peer_uid, struct exchange *ex);
void api_request_body(struct exchange *ex, struct span bytes);
void api_request_body_ended(struct exchange *ex);
void api_request_drained(struct exchange *ex);
void api_request_closed(struct exchange *ex, const struct failure *why);

#endif
