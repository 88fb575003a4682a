// SPDX-License-Identifier: Apache-2.0
#ifndef WRIST_GATEWAY_PROXY_ACCEPT_H
#define WRIST_GATEWAY_PROXY_ACCEPT_H

#include "gateway/lib/base/span.h"

struct accept {
    bool json, events;
};
// Lenient: absent is both; wildcards, order, case, spaces and parameters do not matter; q=0 does.
struct accept accept_parse(struct span header);
bool media_type_is_json(struct span content_type); // with any parameters

#endif
