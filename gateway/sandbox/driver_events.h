// SPDX-License-Identifier: Apache-2.0
// The held stream of a driver's events, one JSON object a line, opened anew whenever it breaks.
#ifndef WRIST_GATEWAY_SANDBOX_DRIVER_EVENTS_H
#define WRIST_GATEWAY_SANDBOX_DRIVER_EVENTS_H

#include "gateway/sandbox/driver.h"

struct http_client;
struct driver_event_stream;

// The client is borrowed and used by nobody else.
struct driver_event_stream *driver_event_stream_open(struct loop *loop, struct http_client *client,
                                                     const struct driver_events *events,
                                                     void *owner);
void driver_event_stream_close(struct driver_event_stream *s); // NULL is harmless

#endif
