// SPDX-License-Identifier: Apache-2.0
//
// Session ids that were opened lately. A client sends the same id with each request, and opening it
// costs more than the rest of its routing; what an id says never changes while its key is known. A
// bounded table: a place for each of the last characters, so that a newer one takes the older's.
#ifndef WRIST_GATEWAY_PROXY_OPENED_H
#define WRIST_GATEWAY_PROXY_OPENED_H

#include "gateway/proxy/sealed.h"

struct opened;

struct opened *opened_new(const struct keyring *ring); // borrowed
void opened_free(struct opened *o);

// As session_name_open, from the table where it has the text for this principal and place.
int opened_session(struct opened *o, const struct principal *principal, struct span place,
                   struct span text, struct session_name *out);

#endif
