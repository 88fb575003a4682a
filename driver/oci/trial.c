// SPDX-License-Identifier: Apache-2.0
#include "driver/oci/trial.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "driver/files.h"
#include "gateway/lib/base/memory.h"
#include "gateway/lib/crypto/digest.h"

const char *const trial_folders[] = {"usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32"};
const size_t trial_folder_count = ARRAY_COUNT(trial_folders);

static const struct {
    const char *name, *content;
} made_up[] = {
    {"passwd", "root:x:0:0:root:/:/usr/sbin/nologin\n"
               "sandbox:x:1000:1000:sandbox:/workspace:/bin/bash\n"
               "nobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n"},
    {"group", "root:x:0:\ntty:x:5:\nsandbox:x:1000:\nnogroup:x:65534:\n"},
    {"hosts", "127.0.0.1 localhost sandbox\n::1 localhost\n"},
    {"hostname", "sandbox\n"},
    {"resolv.conf", ""},
    {"nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\nservices: files\n"
                      "protocols: files\n"},
    {"shells", "/bin/sh\n/bin/bash\n"},
    {"profile", "umask 022\n"},
    {"inputrc", ""},
};

// The packages' state where there is one; else when /usr was last changed.
int trial_hash(struct sha256 *hash, struct failure *why)
{
    static const char *const signs[] = {"/var/lib/dpkg/status", "/var/lib/rpm/rpmdb.sqlite",
                                        "/lib/apk/db/installed", "/usr/bin", "/usr/lib"};
    for (size_t i = 0; i < ARRAY_COUNT(signs); i++) {
        struct stat about;
        char line[FILE_PATH_SIZE];
        if (stat(signs[i], &about) != 0)
            continue;
        int fault = path_format(line, why, "%s %lld %lld\n", signs[i], (long long)about.st_size,
                                (long long)about.st_mtim.tv_sec);
        if (fault != 0)
            return fault;
        sha256_update(hash, span_from_string(line));
    }
    return 0;
}

static int alternative_copy(void *owner, const char *name, struct failure *why)
{
    const char *folder = owner;
    char from[FILE_PATH_SIZE], to[FILE_PATH_SIZE], target[FILE_PATH_SIZE];
    int fault = path_format(from, why, "/etc/alternatives/%s", name);
    if (fault == 0)
        fault = path_format(to, why, "%s/%s", folder, name);
    if (fault != 0)
        return fault;
    ssize_t size = readlink(from, target, sizeof target - 1);
    if (size < 0)
        return 0; // a README
    target[size] = '\0';
    return symlink(target, to) != 0 ? failure_errno(why, "link %s", to) : 0;
}

int trial_etc_make(const char *root, struct failure *why)
{
    char path[FILE_PATH_SIZE];
    int fault = path_format(path, why, "%s/etc", root);
    if (fault == 0)
        fault = directory_make(path, 0755, why);
    for (size_t i = 0; fault == 0 && i < ARRAY_COUNT(made_up); i++) {
        fault = path_format(path, why, "%s/etc/%s", root, made_up[i].name);
        if (fault == 0)
            fault = file_write(path, span_from_string(made_up[i].content), 0644, why);
    }
    if (fault == 0)
        fault = path_format(path, why, "%s/etc/ld.so.cache", root);
    // Libraries outside the default folders are found by it; it names files of /usr only.
    if (fault == 0 && access("/etc/ld.so.cache", R_OK) == 0)
        fault = file_copy("/etc/ld.so.cache", path, 0644, why);
    if (fault == 0)
        fault = path_format(path, why, "%s/etc/alternatives", root);
    if (fault == 0)
        fault = directory_make(path, 0755, why);
    if (fault == 0)
        fault = directory_each("/etc/alternatives", alternative_copy, path, why);
    return fault;
}
