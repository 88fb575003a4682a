// SPDX-License-Identifier: Apache-2.0
#include "driver/oci/disk.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/loop.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "driver/job.h"
#include "gateway/lib/base/memory.h"

enum { LOOP_TRIES = 64 };

int disk_format(const char *path, int64_t bytes, int64_t inodes, bool journal, struct failure *why)
{
    char size[32], count[32], file[FILE_PATH_SIZE];
    char with_journal[] = "^resize_inode", without_journal[] = "^has_journal,^resize_inode";
    CLEANUP(fd_close) int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || ftruncate(fd, bytes) != 0)
        return failure_errno(why, "create %s", path);
    snprintf(size, sizeof size, "%lldk", (long long)(bytes / 1024));
    snprintf(count, sizeof count, "%lld", (long long)inodes);
    int fault = path_format(file, why, "%s", path);
    if (fault != 0)
        return fault;
    // Inode tables stay holes in the file.
    char *const argv[] = {(char[]){"/sbin/mkfs.ext4"},
                          (char[]){"-q"},
                          (char[]){"-F"},
                          (char[]){"-b"},
                          (char[]){"4096"},
                          (char[]){"-m"},
                          (char[]){"0"},
                          (char[]){"-O"},
                          journal ? with_journal : without_journal,
                          (char[]){"-E"},
                          (char[]){"lazy_itable_init=1,nodiscard"},
                          (char[]){"-N"},
                          count,
                          file,
                          size,
                          NULL};
    fault = program_run(argv, why);
    if (fault == 0 && journal && fsync(fd) != 0)
        fault = failure_errno(why, "write %s", path);
    return fault;
}

int disk_template_make(const char *directory, int64_t bytes, int64_t inodes,
                       char path[FILE_PATH_SIZE], struct failure *why)
{
    int fault = path_format(path, why, "%s/v2-%lld-%lld.ext4", directory, (long long)bytes,
                            (long long)inodes);
    if (fault != 0 || access(path, R_OK) == 0)
        return fault;
    char fresh[FILE_PATH_SIZE];
    fault = path_format(fresh, why, "%s.new", path);
    if (fault == 0)
        fault = disk_format(fresh, bytes, inodes, false, why);
    if (fault == 0 && rename(fresh, path) != 0)
        fault = failure_errno(why, "rename %s", fresh);
    return fault == 0 ? 0 : failure_prefix(why, "format a disk template");
}

static int copy_range(int from, int to, off_t at, off_t end)
{
    if (lseek(from, at, SEEK_SET) < 0 || lseek(to, at, SEEK_SET) < 0)
        return -1;
    while (at < end) {
        ssize_t got = copy_file_range(from, NULL, to, NULL, (size_t)(end - at), 0);
        if (got <= 0)
            return -1;
        at += got;
    }
    return 0;
}

// Only what is not a hole, or nothing at all where the file system can share blocks.
static int copy_sparse(int from, int to, struct failure *why)
{
    struct stat about;
    if (ioctl(to, FICLONE, from) == 0)
        return 0;
    if (fstat(from, &about) != 0 || ftruncate(to, about.st_size) != 0)
        return failure_errno(why, "size the disk");
    for (off_t at = 0;;) {
        off_t data = lseek(from, at, SEEK_DATA);
        if (data < 0)
            return errno == ENXIO ? 0 : failure_errno(why, "read the disk template");
        off_t hole = lseek(from, data, SEEK_HOLE);
        if (hole < 0 || copy_range(from, to, data, hole) != 0)
            return failure_errno(why, "copy the disk template");
        at = hole;
    }
}

static int disk_copy(const char *template_path, int *fd, struct failure *why)
{
    char folder[FILE_PATH_SIZE];
    int fault = path_format(folder, why, "%.*s", (int)(strrchr(template_path, '/') - template_path),
                            template_path);
    if (fault != 0)
        return fault;
    CLEANUP(fd_close) int from = open(template_path, O_RDONLY | O_CLOEXEC);
    if (from < 0)
        return failure_errno(why, "open %s", template_path);
    *fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (*fd < 0)
        return failure_errno(why, "create a disk in %s", folder);
    return copy_sparse(from, *fd, why);
}

static int loop_configure(int device, int file, const char *label)
{
    struct loop_config config = {
        .fd = (__u32)file,
        .info.lo_flags = LO_FLAGS_AUTOCLEAR,
    };
    snprintf((char *)config.info.lo_file_name, sizeof config.info.lo_file_name, "%s", label);
    return ioctl(device, LOOP_CONFIGURE, &config);
}

// Others take free devices too, so a device that was free may be busy by now.
static int loop_attach(int file, const char *label, int *device, int *number, struct failure *why)
{
    CLEANUP(fd_close) int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC);
    if (control < 0)
        return failure_errno(why, "open /dev/loop-control");
    for (int i = 0; i < LOOP_TRIES; i++) {
        char path[FILE_PATH_SIZE];
        *number = ioctl(control, LOOP_CTL_GET_FREE);
        if (*number < 0)
            return failure_errno(why, "get a loop device");
        int fault = path_format(path, why, "/dev/loop%d", *number);
        if (fault != 0)
            return fault;
        *device = open(path, O_RDWR | O_CLOEXEC);
        if (*device < 0)
            return failure_errno(why, "open %s", path);
        if (loop_configure(*device, file, label) == 0)
            return 0;
        if (errno != EBUSY)
            return failure_errno(why, "attach %s", path);
        fd_close(device);
    }
    return failure_set(why, FAULT_UNAVAILABLE, "no loop device stayed free");
}

int disk_mount_file(int file, const char *label, const char *target, int *loop_number,
                    struct failure *why)
{
    CLEANUP(fd_close) int device = -1;
    char path[FILE_PATH_SIZE];
    int fault = loop_attach(file, label, &device, loop_number, why);
    if (fault == 0)
        fault = path_format(path, why, "/dev/loop%d", *loop_number);
    if (fault == 0 && mount(path, target, "ext4", MS_NOSUID | MS_NODEV | MS_NOATIME,
                            "errors=remount-ro,noinit_itable,discard") != 0)
        fault = failure_errno(why, "mount %s on %s", path, target);
    return fault;
}

int disk_mount(const char *template_path, const char *label, const char *target, int *loop_number,
               struct failure *why)
{
    CLEANUP(fd_close) int file = -1;
    int fault = disk_copy(template_path, &file, why);
    return fault != 0 ? fault : disk_mount_file(file, label, target, loop_number, why);
}

bool disk_is_attached(int loop_number, const char *label)
{
    char path[FILE_PATH_SIZE];
    struct loop_info64 info;
    if (path_format(path, NULL, "/dev/loop%d", loop_number) != 0)
        return false;
    CLEANUP(fd_close) int device = open(path, O_RDONLY | O_CLOEXEC);
    return device >= 0 && ioctl(device, LOOP_GET_STATUS64, &info) == 0 &&
           strncmp((const char *)info.lo_file_name, label, sizeof info.lo_file_name - 1) == 0;
}
