// SPDX-License-Identifier: Apache-2.0
//
// Where a listener or a peer is: "127.0.0.1:8443", "[::1]:8443", "unix:/run/wrist/driver.sock",
// or "fd:3" for a listener that was passed in.
#ifndef WRIST_GATEWAY_LIB_NET_ADDRESS_H
#define WRIST_GATEWAY_LIB_NET_ADDRESS_H

#include <stdbool.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "gateway/lib/base/failure.h"
#include "gateway/lib/base/span.h"

struct address {
    struct sockaddr_storage storage;
    socklen_t size;
    int inherited_fd; // of "fd:N"; -1 otherwise
};

enum { ADDRESS_TEXT_SIZE = 128 };

int address_parse(struct span text, struct address *out, struct failure *why); // literals, no names
void address_format(const struct address *a, char out[ADDRESS_TEXT_SIZE]);
// Without the port, for limits per peer; "unix" for unix sockets.
void address_format_host(const struct address *a, char out[ADDRESS_TEXT_SIZE]);
// Of the `by`-th process beside the first: its port and so many, or its path, a dot and the number.
int address_shift(struct address *a, unsigned by, struct failure *why);
bool address_is_loopback(const struct address *a); // also unix sockets
bool address_is_unix(const struct address *a);
// A unix socket on whose file nobody listens any more: a definite answer, and at once. False for
// everything else.
bool address_is_deserted(const struct address *a);

#endif
