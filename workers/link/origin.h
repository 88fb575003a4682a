// SPDX-License-Identifier: Apache-2.0
// Stand-alone, on a port of this machine: web pages may not reach it through a browser or a name
// that they make point here.
#ifndef WRIST_WORKERS_LINK_ORIGIN_H
#define WRIST_WORKERS_LINK_ORIGIN_H

#include "gateway/lib/http/exchange.h"

// Host names this machine's loopback, and so does Origin where there is one.
bool origin_is_local(const struct exchange *ex);
bool authority_is_local(struct span authority); // "localhost:8080", "[::1]"

#endif
