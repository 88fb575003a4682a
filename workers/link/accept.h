// SPDX-License-Identifier: Apache-2.0
// The Accept header of an MCP request, read leniently: absent or */* is both.
#ifndef WRIST_WORKERS_LINK_ACCEPT_H
#define WRIST_WORKERS_LINK_ACCEPT_H

#include "gateway/lib/base/span.h"

struct accepted {
    bool json, events;
};

bool accept_read(struct span header, struct accepted *out); // false: neither

#endif
