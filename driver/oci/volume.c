// SPDX-License-Identifier: Apache-2.0
#include "driver/oci/volume.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "driver/job.h"
#include "driver/oci/disk.h"
#include "gateway/lib/base/memory.h"
#include "gateway/lib/telemetry/log.h"

int volume_make(const char *image, int64_t bytes, int64_t inodes, struct failure *why)
{
    char fresh[FILE_PATH_SIZE];
    if (access(image, F_OK) == 0)
        return 0;
    int fault = path_format(fresh, why, "%s.new-%d", image, (int)getpid());
    if (fault == 0)
        fault = disk_format(fresh, bytes, inodes, true, why);
    // A name that is there already is another's that was first; its content counts.
    if (fault == 0 && link(fresh, image) != 0 && errno != EEXIST)
        fault = failure_errno(why, "name %s", image);
    unlink(fresh);
    return fault == 0 ? 0 : failure_prefix(why, "format a volume");
}

// A container that has just ended takes its mount down in its own time.
static int image_lock(int file, struct failure *why)
{
    enum { TRIES = 250, PAUSE_MS = 20 };
    struct stat about;
    int rc = flock(file, LOCK_EX | LOCK_NB);
    for (int i = 0; rc != 0 && errno == EWOULDBLOCK && i < TRIES; i++) {
        poll(NULL, 0, PAUSE_MS);
        rc = flock(file, LOCK_EX | LOCK_NB);
    }
    if (rc != 0)
        return errno == EWOULDBLOCK ? failure_set(why, FAULT_CONFLICT, "the volume is mounted")
                                    : failure_errno(why, "lock the volume");
    if (fstat(file, &about) != 0 || about.st_nlink == 0)
        return failure_set(why, FAULT_CONFLICT, "the volume was deleted meanwhile");
    return 0;
}

// After a clean end this looks at the superblock and no more.
static int image_check(const char *image, struct failure *why)
{
    enum { CORRECTED = 1, ERRORS_LEFT = 4 };
    char file[FILE_PATH_SIZE];
    struct failure said;
    int status = 0;
    int fault = path_format(file, why, "%s", image);
    if (fault != 0)
        return fault;
    char *const argv[] = {(char[]){"/sbin/e2fsck"}, (char[]){"-p"}, file, NULL};
    fault = program_status(argv, &status, &said);
    if (fault != 0 || status >= ERRORS_LEFT) {
        LOG(LOG_ERROR, "volume.damaged", LOG_STRING("image", image), LOG_FAILURE(&said));
        return failure_set(why, FAULT_IO, "the volume is damaged: the operator has to check it");
    }
    if (status >= CORRECTED)
        LOG(LOG_WARN, "volume.mended", LOG_STRING("image", image), LOG_I64("status", status));
    return 0;
}

int volume_mount(const char *image, const char *label, const char *target, int *loop_number,
                 struct failure *why)
{
    CLEANUP(fd_close) int file = open(image, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (file < 0)
        return failure_errno(why, "open %s", image);
    int fault = image_lock(file, why);
    if (fault == 0)
        fault = image_check(image, why);
    return fault != 0 ? fault : disk_mount_file(file, label, target, loop_number, why);
}

int volume_remove(const char *image, struct failure *why)
{
    CLEANUP(fd_close) int file = open(image, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (file < 0 && errno == ENOENT)
        return 0;
    if (file < 0)
        return failure_errno(why, "open %s", image);
    int fault = image_lock(file, why);
    if (fault == 0 && unlink(image) != 0)
        fault = failure_errno(why, "remove %s", image);
    return fault;
}
