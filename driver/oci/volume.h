// SPDX-License-Identifier: Apache-2.0
//
// A volume: ext4 with a journal in a file that stays. Whoever mounts it holds the file's lock, and
// the kernel holds it for as long as the file system is mounted anywhere, whatever became of us: so
// no volume is ever mounted twice. Everything here blocks: in a job's process.
#ifndef WRIST_DRIVER_OCI_VOLUME_H
#define WRIST_DRIVER_OCI_VOLUME_H

#include <stdint.h>

#include "driver/files.h"

// Formats the file where there is none; what is there stays as it is.
int volume_make(const char *image, int64_t bytes, int64_t inodes, struct failure *why);
// Locks the file, has it checked, and mounts it in the caller's mount namespace. FAULT_CONFLICT
// where somebody else has it mounted, FAULT_IO where the check needs a person.
int volume_mount(const char *image, const char *label, const char *target, int *loop_number,
                 struct failure *why);
// 0 where there is none; FAULT_CONFLICT where it is mounted.
int volume_remove(const char *image, struct failure *why);

#endif
