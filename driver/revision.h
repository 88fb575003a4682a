// SPDX-License-Identifier: Apache-2.0
// What a sandbox of a profile is made of, as one short name: it changes with the image, the worker,
// the runtime and every limit, so that gateways see which warm sandboxes are out of date.
#ifndef WRIST_DRIVER_REVISION_H
#define WRIST_DRIVER_REVISION_H

#include "driver/config.h"

// `digest`: of image and worker.
void profile_revision(const struct driver_profile *p, const char *digest, char out[REVISION_SIZE]);

#endif
