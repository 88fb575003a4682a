// SPDX-License-Identifier: Apache-2.0
// Trial mode: the host's /usr stands in for an image, with an /etc that tells nothing of the host.
#ifndef WRIST_DRIVER_OCI_TRIAL_H
#define WRIST_DRIVER_OCI_TRIAL_H

#include <stddef.h>

#include "gateway/lib/base/failure.h"

struct sha256;

extern const char *const trial_folders[]; // of "/", each bound or, where it is a link, copied
extern const size_t trial_folder_count;

// What changes when the host's programs do.
int trial_hash(struct sha256 *hash, struct failure *why);
int trial_etc_make(const char *root, struct failure *why); // makes <root>/etc

#endif
