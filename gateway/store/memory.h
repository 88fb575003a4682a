// SPDX-License-Identifier: Apache-2.0
//
// The store of a single gateway: everything in this process, and on disk what a restart needs, the
// sandboxes and the bindings. Pools, deadlines and quotas follow from asking the sandboxes again;
// leases end with the process.
#ifndef WRIST_GATEWAY_STORE_MEMORY_H
#define WRIST_GATEWAY_STORE_MEMORY_H

#include "gateway/store/store.h"

struct loop;

// `directory` is an fd of the state directory, borrowed; -1: nothing is kept on disk.
int store_memory_open(struct loop *loop, int directory, struct store **out, struct failure *why);

#endif
