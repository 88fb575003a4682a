// SPDX-License-Identifier: Apache-2.0
//
// Who may talk to us from a browser: Origin and Host against the allow-lists, and CORS.
#ifndef WRIST_GATEWAY_PROXY_GUARD_H
#define WRIST_GATEWAY_PROXY_GUARD_H

#include "gateway/config/config.h"
#include "gateway/lib/http/exchange.h"

// 0 or FAULT_DENIED. An absent Origin is fine; a present one must be allowed, be that of the public
// URL, or be a loopback name on a loopback listener. Being equal to Host proves nothing.
int guard_check(const struct config *config, bool loopback_listener, const struct exchange *ex,
                struct failure *why);
// Headers that stand once only, since two readers might believe different ones.
int guard_check_repeats(const struct exchange *ex, struct failure *why);

// The names that may be asked for by a preflight, checked for what a header list may hold.
struct span guard_requested_headers(const struct exchange *ex);

#endif
