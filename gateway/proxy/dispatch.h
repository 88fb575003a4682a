// SPDX-License-Identifier: Apache-2.0
//
// Who answers a method, per era: the gateway from the card, or the sandbox.
#ifndef WRIST_GATEWAY_PROXY_DISPATCH_H
#define WRIST_GATEWAY_PROXY_DISPATCH_H

#include "gateway/lib/mcp/method.h"

enum handling {
    HANDLE_UNKNOWN,    // no such method here
    HANDLE_INITIALIZE, // from the card; makes a session
    HANDLE_DISCOVER,   // from the card
    HANDLE_PING,
    HANDLE_LIST,    // from the card's member
    HANDLE_SANDBOX, // needs hands
    HANDLE_LISTEN,  // a held stream
};

struct dispatch {
    enum handling handling;
    const char *member;     // of the card, for lists
    const char *capability; // that the card must have, else the method is unknown; NULL: none
};

// The eras that are served: bits of enum mcp_era.
extern const unsigned dispatch_eras;
const struct dispatch *dispatch_find(enum mcp_era era, enum mcp_method method);

#endif
