// SPDX-License-Identifier: Apache-2.0
//
// A sandbox's disk: ext4 of a fixed size and number of inodes on a loop device. The file behind it
// has no name and the device clears itself, so when the last mount of it goes (with the container's
// mount namespace), everything goes: nothing has to be found and undone after a crash.
#ifndef WRIST_DRIVER_OCI_DISK_H
#define WRIST_DRIVER_OCI_DISK_H

#include <stdint.h>

#include "driver/files.h"

enum { DISK_LABEL_SIZE = 64 };

// Formats the file at `path`, made or emptied: ext4 of that size. What outlives its sandbox has a
// journal, and is on the disk once this returns. Blocks.
int disk_format(const char *path, int64_t bytes, int64_t inodes, bool journal, struct failure *why);
// A formatted, sparse file of that size below `directory`; made where it is missing. Blocks.
int disk_template_make(const char *directory, int64_t bytes, int64_t inodes,
                       char path[FILE_PATH_SIZE], struct failure *why);
// Mounts a copy of the template (in the caller's mount namespace) and names its loop device.
int disk_mount(const char *template_path, const char *label, const char *target, int *loop_number,
               struct failure *why);
// Mounts the file behind `file` as ext4, as every disk of a sandbox is; the device keeps it open,
// and with it what is locked on it, until the last mount is gone.
int disk_mount_file(int file, const char *label, const char *target, int *loop_number,
                    struct failure *why);
// Whether loop device `loop_number` still belongs to the disk of this label.
bool disk_is_attached(int loop_number, const char *label);

#endif
