// SPDX-License-Identifier: Apache-2.0
//
// The engine of runc, crun and runsc: an OCI bundle per sandbox, no daemon.
//
// A creation is one process of ours that makes the disk in a mount namespace of its own and then
// becomes the runtime. The disk is therefore mounted nowhere but in the container, and the kernel
// takes it down with it.
#ifndef WRIST_DRIVER_OCI_OCI_H
#define WRIST_DRIVER_OCI_OCI_H

#include "driver/engine.h"

// Finds runtimes, builds roots and disk templates. Blocks; called once at start. `installation`
// tells this driver's containers from those of another one on the machine.
int oci_open(const struct driver_config *config, const char *installation, struct engine *out,
             struct failure *why);

#endif
