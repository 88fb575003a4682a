// SPDX-License-Identifier: Apache-2.0
// The held streams of GET /v1/events. A reader that does not keep up is cut off: it connects again
// and lists.
#ifndef WRIST_DRIVER_EVENTS_H
#define WRIST_DRIVER_EVENTS_H

#include "gateway/lib/base/list.h"
#include "gateway/lib/control/driver_api.h"

struct exchange;
struct events;

struct events_reader {
    struct list node;
    struct exchange *exchange;
};

struct events *events_new(void);
void events_free(struct events *e);
// Answers the exchange and keeps writing to it until events_leave, which its `closed` calls.
void events_join(struct events *e, struct events_reader *reader, struct exchange *exchange);
void events_leave(struct events_reader *reader);
void events_exited(struct events *e, const struct driver_record *record, const char *reason);
void events_volume_expired(struct events *e, const struct driver_volume *volume);
void events_profiles(struct events *e); // what new sandboxes are made of has changed
void events_end(struct events *e);      // ends every stream in order

#endif
