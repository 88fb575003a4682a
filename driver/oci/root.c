// SPDX-License-Identifier: Apache-2.0
#include "driver/oci/root.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "driver/oci/trial.h"
#include "gateway/lib/base/memory.h"
#include "gateway/lib/crypto/digest.h"

// Ours, whatever the image has there. A runtime gives what it mounts there the mode that it finds.
static const struct {
    const char *name;
    mode_t mode;
} own_folders[] = {
    {"workspace", 0755}, {"inputs", 0755}, {"tmp", 01777}, {"proc", 0755},
    {"dev", 0755},       {"sys", 0755},    {"run", 0755},  {".wrist", 0755},
};

struct build {
    struct root *root;
    const char *image;
    char staging[FILE_PATH_SIZE];
};

static bool is_own(const char *name)
{
    for (size_t i = 0; i < ARRAY_COUNT(own_folders); i++)
        if (strcmp(name, own_folders[i].name) == 0)
            return true;
    return strcmp(name, "lost+found") == 0;
}

static int file_hash(const char *path, struct sha256 *hash, struct failure *why)
{
    char piece[65536];
    CLEANUP(fd_close) int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return failure_errno(why, "open %s", path);
    ssize_t got;
    while ((got = read(fd, piece, sizeof piece)) > 0)
        sha256_update(hash, span_of(piece, (size_t)got));
    return got < 0 ? failure_errno(why, "read %s", path) : 0;
}

static int name_compare(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

struct names {
    char *name[ROOT_BINDS_MAX];
    size_t count;
};

static int names_add(void *owner, const char *name, struct failure *why)
{
    struct names *names = owner;
    if (is_own(name))
        return 0;
    if (names->count == ROOT_BINDS_MAX)
        return failure_set(why, FAULT_TOO_LARGE, "more than %d entries in the image's root",
                           ROOT_BINDS_MAX);
    names->name[names->count++] = memory_copy_string(name);
    return 0;
}

static int names_read(const char *image, struct names *names, struct failure *why)
{
    *names = (struct names){0};
    int fault = directory_each(image, names_add, names, why);
    qsort(names->name, names->count, sizeof names->name[0], name_compare);
    return fault;
}

static void names_fini(struct names *names)
{
    for (size_t i = 0; i < names->count; i++)
        free(names->name[i]);
}

// Cheap and stable: an image that is unpacked anew, or changed at its top, gets another digest.
static int image_hash(const char *image, const struct names *names, struct sha256 *hash,
                      struct failure *why)
{
    for (size_t i = 0; i < names->count; i++) {
        char path[FILE_PATH_SIZE], line[FILE_PATH_SIZE];
        struct stat about;
        int fault = path_format(path, why, "%s/%s", image, names->name[i]);
        if (fault == 0 && lstat(path, &about) != 0)
            fault = failure_errno(why, "look at %s", path);
        if (fault == 0)
            fault = path_format(line, why, "%s %o %lld %lld\n", names->name[i], about.st_mode,
                                (long long)about.st_size, (long long)about.st_mtim.tv_sec);
        if (fault != 0)
            return fault;
        sha256_update(hash, span_from_string(line));
    }
    return 0;
}

static int digest_make(struct root *r, const struct driver_profile *p, const struct names *names,
                       struct failure *why)
{
    struct sha256 *hash = sha256_start();
    sha256_update(hash, SPAN_LITERAL("wrist root 2\n"));
    int fault = 0;
    if (p->trial)
        fault = trial_hash(hash, why);
    else if (p->digest[0] != '\0')
        sha256_update(hash, span_from_string(p->digest));
    else
        fault = image_hash(p->root, names, hash, why);
    if (fault == 0)
        fault = file_hash(p->worker, hash, why);
    if (fault != 0) {
        sha256_free(hash);
        return fault;
    }
    unsigned char sum[SHA256_SIZE];
    sha256_finish(hash, sum);
    memcpy(r->digest, "sha256:", 7);
    for (size_t i = 0; i < sizeof sum; i++)
        snprintf(r->digest + 7 + 2 * i, 3, "%02x", sum[i]);
    return 0;
}

static int link_copy(const char *from, const char *to, struct failure *why)
{
    char target[FILE_PATH_SIZE];
    ssize_t size = readlink(from, target, sizeof target - 1);
    if (size < 0)
        return failure_errno(why, "read %s", from);
    target[size] = '\0';
    return symlink(target, to) != 0 ? failure_errno(why, "link %s", to) : 0;
}

// A folder or file gets a mount point, and a bind unless this is only another look at a tree that
// was built already; a link is copied.
static int entry_place(struct build *b, const char *source, const char *name, bool build,
                       struct failure *why)
{
    char at[FILE_PATH_SIZE];
    struct stat about;
    int fault = path_format(at, why, "%s/%s", b->staging, name);
    if (fault != 0)
        return fault;
    if (lstat(source, &about) != 0)
        return failure_errno(why, "look at %s", source);
    if (S_ISLNK(about.st_mode))
        return build ? link_copy(source, at, why) : 0;
    if (!S_ISDIR(about.st_mode) && !S_ISREG(about.st_mode))
        return 0; // sockets and devices are not part of an image
    if (b->root->bind_count == ROOT_BINDS_MAX)
        return failure_set(why, FAULT_TOO_LARGE, "too many entries in the root");
    struct root_bind *bind = &b->root->binds[b->root->bind_count++];
    snprintf(bind->target, sizeof bind->target, "/%s", name);
    fault = path_format(bind->source, why, "%s", source);
    if (fault != 0 || !build)
        return fault;
    return S_ISDIR(about.st_mode) ? directory_make(at, 0755, why)
                                  : file_write(at, SPAN_LITERAL(""), 0644, why);
}

static int image_place(struct build *b, const struct names *names, bool build, struct failure *why)
{
    int fault = 0;
    for (size_t i = 0; fault == 0 && i < names->count; i++) {
        char source[FILE_PATH_SIZE];
        fault = path_format(source, why, "%s/%s", b->image, names->name[i]);
        if (fault == 0)
            fault = entry_place(b, source, names->name[i], build, why);
    }
    return fault;
}

static int trial_place(struct build *b, bool build, struct failure *why)
{
    int fault = 0;
    for (size_t i = 0; fault == 0 && i < trial_folder_count; i++) {
        char source[FILE_PATH_SIZE];
        fault = path_format(source, why, "/%s", trial_folders[i]);
        if (fault == 0 && faccessat(AT_FDCWD, source, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
            fault = entry_place(b, source, trial_folders[i], build, why);
    }
    b->root->mask_local = true;
    if (fault == 0 && build)
        fault = trial_etc_make(b->staging, why);
    return fault;
}

static int own_place(struct build *b, const char *worker, struct failure *why)
{
    char path[FILE_PATH_SIZE];
    int fault = directory_make(b->staging, 0755, why);
    for (size_t i = 0; fault == 0 && i < ARRAY_COUNT(own_folders); i++) {
        fault = path_format(path, why, "%s/%s", b->staging, own_folders[i].name);
        if (fault == 0)
            fault = directory_make(path, own_folders[i].mode, why);
    }
    if (fault == 0)
        fault = path_format(path, why, "%s%s", b->staging, ROOT_WORKER);
    if (fault == 0)
        fault = file_copy(worker, path, 0755, why);
    return fault;
}

static int root_build(struct build *b, const struct driver_profile *p, const struct names *names,
                      struct failure *why)
{
    bool build = access(b->root->path, F_OK) != 0;
    int fault = build ? tree_remove(b->staging, why) : 0;
    if (fault == 0 && build)
        fault = own_place(b, p->worker, why);
    if (fault == 0)
        fault = p->trial ? trial_place(b, build, why) : image_place(b, names, build, why);
    if (fault == 0 && build && rename(b->staging, b->root->path) != 0)
        fault = failure_errno(why, "rename %s", b->staging);
    return fault;
}

int root_open(struct root *r, const struct driver_profile *profile, const char *directory,
              struct failure *why)
{
    struct names names = {0};
    struct build b = {.root = r, .image = profile->root};
    *r = (struct root){0};
    int fault = profile->trial ? 0 : names_read(profile->root, &names, why);
    if (fault == 0 && !profile->trial && names.count == 0)
        fault = failure_set(why, FAULT_NOT_FOUND, "%s is empty or missing", profile->root);
    if (fault == 0)
        fault = digest_make(r, profile, &names, why);
    if (fault == 0)
        fault = path_format(r->path, why, "%s/%s", directory, r->digest + 7);
    if (fault == 0)
        fault = path_format(b.staging, why, "%s/%s.new", directory, r->digest + 7);
    if (fault == 0)
        fault = root_build(&b, profile, &names, why);
    names_fini(&names);
    return fault == 0 ? 0 : failure_prefix(why, "root of profile %s", profile->name);
}
