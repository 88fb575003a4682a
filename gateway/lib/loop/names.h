// SPDX-License-Identifier: Apache-2.0
//
// The addresses of a host name, asked for without blocking: /etc/hosts, then the name servers and
// search domains of resolv.conf, which is read anew for each question.
#ifndef WRIST_GATEWAY_LIB_LOOP_NAMES_H
#define WRIST_GATEWAY_LIB_LOOP_NAMES_H

#include <stddef.h>
#include <sys/socket.h>

#include "gateway/lib/base/failure.h"

struct loop;
struct names_query;

enum { NAMES_MOST = 16 }; // addresses of one name; the rest is left out

// Once, from the loop: at least one address (its port is 0), or UNAVAILABLE.
typedef void names_done(void *owner, const struct sockaddr_storage *addresses, size_t count,
                        const struct failure *why);

// `resolv_conf` NULL is /etc/resolv.conf. The question has no deadline of its own: its owner
// cancels.
struct names_query *names_find(struct loop *loop, const char *host, const char *resolv_conf,
                               names_done *done, void *owner);
void names_cancel(struct names_query *q); // no callback any more; NULL is harmless

#endif
