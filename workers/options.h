// SPDX-License-Identifier: Apache-2.0
//
// How the worker was started: by a driver, which passes a document on fd 4 and a listener on fd 3,
// or by a person, stand-alone, with options and a token in a file.
#ifndef WRIST_WORKERS_OPTIONS_H
#define WRIST_WORKERS_OPTIONS_H

#include "gateway/lib/control/worker_start.h"
#include "gateway/lib/net/address.h"
#include "workers/link/link.h"

struct worker_options {
    struct worker_start start;
    struct address address;
    bool stand_alone;
    char authorization[LINK_AUTHORIZATION_SIZE]; // "Bearer …", what every request must have
};

// 0, a fault, or 1: help was printed and there is nothing to do.
int worker_options_read(int count, char *const *arguments, struct worker_options *out,
                        struct failure *why);

#endif
