// SPDX-License-Identifier: Apache-2.0
//
// Which endpoint serves a path. A pattern is made of literal segments and of one-segment
// parameters in braces; a trailing slash is served equally and never redirected.
#ifndef WRIST_GATEWAY_PROXY_ROUTE_H
#define WRIST_GATEWAY_PROXY_ROUTE_H

#include "gateway/lib/base/span.h"

struct visit;

enum { ROUTE_METHODS = 4, ROUTE_PARAMETERS = 2 };

struct route {
    const char *name;    // for metrics and the audit line
    const char *pattern; // "/s/{handle}/mcp"
    struct {
        const char *method; // NULL after the last
        void (*enter)(struct visit *v);
    } methods[ROUTE_METHODS];
};

struct route_match {
    const struct route *route; // NULL: no such path
    size_t parameter_count;
    struct span parameters[ROUTE_PARAMETERS];
};

struct route_match route_find(const struct route *routes, size_t count, struct span path);
// "GET, POST, OPTIONS"
void route_allow(const struct route *route, char *out, size_t out_size);

#endif
