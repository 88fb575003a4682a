// SPDX-License-Identifier: Apache-2.0
// Small files of the state directory (0600), read and replaced as a whole.
#ifndef WRIST_GATEWAY_STORE_STATE_FILE_H
#define WRIST_GATEWAY_STORE_STATE_FILE_H

#include "gateway/lib/base/buffer.h"
#include "gateway/lib/base/random.h"

// The directory, made (0700) where it is missing; an fd, or a fault.
int state_directory_open(const char *path, int *out, struct failure *why);
int state_file_read(int directory, const char *name, struct buffer *out, struct failure *why);

// The id that marks everything of ours, made at the first start.
int fleet_id_load(int directory, char out[ID_SIZE], struct failure *why);

#endif
