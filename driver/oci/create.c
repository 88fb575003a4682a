// SPDX-License-Identifier: Apache-2.0
// One creation, in a job's process: steps in running order, the last one becomes the runtime.
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "driver/oci/bundle.h"
#include "driver/oci/instance.h"
#include "driver/oci/volume.h"
#include "gateway/lib/base/memory.h"
#include "gateway/lib/control/worker_start.h"

enum { LINK_BACKLOG = 64, HIGH_FD = 64 };

struct creation {
    const struct oci *oci;
    const struct engine_order *order;
    const struct oci_profile *profile;
    const char *id;
    char workspace[FILE_PATH_SIZE], inputs[FILE_PATH_SIZE]; // "" for tmpfs
    int link, start;                                        // fds
};

static int make_folder(struct creation *c, struct failure *why)
{
    char path[FILE_PATH_SIZE];
    int fault = oci_path(c->oci, c->id, "", path, why);
    // Others may pass through it to the socket, which has its own owner and mode.
    return fault != 0 ? fault : directory_make(path, 0711, why);
}

static int open_link(struct creation *c, struct failure *why)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char path[FILE_PATH_SIZE];
    int fault = oci_path(c->oci, c->id, "link.sock", path, why);
    if (fault != 0)
        return fault;
    if (strlen(path) >= sizeof address.sun_path)
        return failure_set(why, FAULT_TOO_LARGE, "run_dir is too long for a socket: %s", path);
    memcpy(address.sun_path, path, strlen(path) + 1);
    c->link = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    umask(0177);
    if (c->link < 0 || bind(c->link, (struct sockaddr *)&address, sizeof address) != 0 ||
        listen(c->link, LINK_BACKLOG) != 0)
        return failure_errno(why, "listen on %s", path);
    umask(0022);
    if (c->order->peer_uid != geteuid() && !c->oci->rootless &&
        chown(path, c->order->peer_uid, (gid_t)-1) != 0)
        return failure_errno(why, "give %s to uid %u", path, (unsigned)c->order->peer_uid);
    return 0;
}

static int write_start(struct creation *c, struct failure *why)
{
    const struct driver_create *create = &c->order->create;
    const struct driver_profile *p = c->profile->settings;
    struct worker_start s;
    worker_start_default(&s);
    memcpy(s.id, create->id, sizeof s.id);
    memcpy(s.profile, create->profile, sizeof s.profile);
    s.generation = create->generation;
    memcpy(s.secret, create->secret, sizeof s.secret);
    memcpy(s.principal, create->volume_owner, sizeof s.principal);
    s.orphan_ms = create->orphan_ms;
    s.worker_uid = s.worker_gid = 0;
    s.command_uid = c->oci->one_uid ? 0 : p->command_uid;
    s.command_gid = c->oci->one_uid ? 0 : p->command_gid;
    s.weak_isolation = c->oci->one_uid;
    s.read_only = p->read_only;
    s.exports.bytes = p->export_bytes;
    memcpy(s.exports.types, p->export_types, sizeof s.exports.types);

    struct buffer text;
    buffer_init(&text, WORKER_START_LIMIT);
    int fault = worker_start_write(&s, &text);
    struct span document = buffer_span(&text);
    c->start = memfd_create("start", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fault != 0)
        failure_set(why, FAULT_INTERNAL, "write the start document");
    else if (c->start < 0 ||
             write(c->start, document.data, document.size) != (ssize_t)document.size ||
             fcntl(c->start, F_ADD_SEALS,
                   F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) != 0 ||
             lseek(c->start, 0, SEEK_SET) != 0)
        fault = failure_errno(why, "hand over the start document");
    memory_wipe(&s, sizeof s);
    memory_wipe(text.data, text.capacity);
    buffer_fini(&text);
    return fault;
}

static int make_part(const char *path, int64_t uid, int64_t gid, struct failure *why)
{
    int fault = directory_make(path, 0755, why);
    if (fault == 0 && chown(path, (uid_t)uid, (gid_t)gid) != 0)
        fault = failure_errno(why, "chown %s", path);
    return fault;
}

static int note_loop(const struct creation *c, const char *name, int number, struct failure *why)
{
    char path[FILE_PATH_SIZE], text[16];
    snprintf(text, sizeof text, "%d", number);
    int fault = oci_path(c->oci, c->id, name, path, why);
    return fault != 0 ? fault : file_write(path, span_from_string(text), 0600, why);
}

// From here on this process has mounts of its own, which end with it.
static int make_disk(struct creation *c, struct failure *why)
{
    const struct driver_profile *p = c->profile->settings;
    char disk[FILE_PATH_SIZE], label[DISK_LABEL_SIZE];
    int number = -1;
    if (c->profile->disk_template[0] == '\0')
        return 0;
    if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
        return failure_errno(why, "enter a mount namespace");
    oci_label(c->oci, c->id, label);
    int fault = oci_path(c->oci, c->id, "disk", disk, why);
    if (fault == 0)
        fault = directory_make(disk, 0755, why);
    if (fault == 0)
        fault = disk_mount(c->profile->disk_template, label, disk, &number, why);
    if (fault == 0)
        fault = note_loop(c, "loop", number, why);
    if (fault == 0)
        fault = path_format(c->workspace, why, "%s/workspace", disk);
    if (fault == 0)
        fault = path_format(c->inputs, why, "%s/inputs", disk);
    if (fault == 0)
        fault = make_part(c->workspace, id_map_outside(&c->oci->uids, p->command_uid),
                          id_map_outside(&c->oci->gids, p->command_gid), why);
    if (fault == 0)
        fault = make_part(c->inputs, id_map_outside(&c->oci->uids, 0),
                          id_map_outside(&c->oci->gids, 0), why);
    return fault;
}

// In place of the disk's workspace, which stays empty.
static int make_volume(struct creation *c, struct failure *why)
{
    const struct driver_create *create = &c->order->create;
    const struct driver_profile *p = c->profile->settings;
    char image[FILE_PATH_SIZE], target[FILE_PATH_SIZE], label[DISK_LABEL_SIZE];
    int number = -1;
    if (create->volume[0] == '\0')
        return 0;
    oci_volume_label(c->oci, c->id, label);
    int fault = oci_volume_path(c->oci, create->volume, image, why);
    if (fault == 0)
        fault = oci_path(c->oci, c->id, "volume", target, why);
    if (fault == 0)
        fault = directory_make(target, 0755, why);
    if (fault == 0)
        fault = volume_make(image, p->volume_bytes, p->volume_inodes, why);
    if (fault == 0)
        fault = volume_mount(image, label, target, &number, why);
    if (fault == 0)
        fault = note_loop(c, "volume-loop", number, why);
    if (fault == 0)
        fault = path_format(c->workspace, why, "%s/workspace", target);
    return fault != 0 ? fault
                      : make_part(c->workspace, id_map_outside(&c->oci->uids, p->command_uid),
                                  id_map_outside(&c->oci->gids, p->command_gid), why);
}

static int write_bundle(struct creation *c, struct failure *why)
{
    char cgroup[FILE_PATH_SIZE] = "", path[FILE_PATH_SIZE];
    int fault = c->oci->has_cgroups ? oci_cgroup(c->oci, c->id, cgroup, why) : 0;
    if (fault == 0)
        fault = oci_path(c->oci, c->id, "config.json", path, why);
    if (fault != 0)
        return fault;
    uint64_t files = (uint64_t)c->profile->settings->open_files;
    struct bundle bundle = {
        .profile = c->profile->settings,
        .root = &c->profile->root,
        .uids = &c->oci->uids,
        .gids = &c->oci->gids,
        .cgroup = cgroup,
        .workspace = c->workspace,
        .inputs = c->inputs,
        .limit_swap = c->oci->limits_swap,
        .open_files = files < c->oci->open_files ? files : c->oci->open_files,
    };
    struct buffer text;
    buffer_init(&text, BUNDLE_LIMIT);
    fault = bundle_write(&bundle, &text);
    fault = fault != 0 ? failure_set(why, FAULT_INTERNAL, "write the bundle")
                       : file_write(path, buffer_span(&text), 0600, why);
    buffer_fini(&text);
    return fault;
}

// 3 and 4 for the worker, everything else of ours closes on exec.
static int place_fds(struct creation *c, struct failure *why)
{
    char path[FILE_PATH_SIZE];
    int fault = oci_path(c->oci, c->id, "worker.log", path, why);
    if (fault != 0)
        return fault;
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    int log = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    // Out of the way first: either may stand where the other has to go.
    int link = fcntl(c->link, F_DUPFD_CLOEXEC, HIGH_FD);
    int start = fcntl(c->start, F_DUPFD_CLOEXEC, HIGH_FD);
    if (null < 0 || log < 0 || link < 0 || start < 0)
        return failure_errno(why, "place the worker's files");
    null = fcntl(null, F_DUPFD_CLOEXEC, HIGH_FD);
    log = fcntl(log, F_DUPFD_CLOEXEC, HIGH_FD);
    if (dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0 ||
        dup2(log, STDERR_FILENO) < 0 || dup2(link, WORKER_LISTEN_FD) < 0 ||
        dup2(start, WORKER_START_FD) < 0)
        return failure_errno(why, "place the worker's files");
    return 0;
}

static int become_runtime(struct creation *c, struct failure *why)
{
    char bundle[FILE_PATH_SIZE], pid_file[FILE_PATH_SIZE], log[FILE_PATH_SIZE],
        root[FILE_PATH_SIZE];
    const char *argv[RUNTIME_ARGUMENTS_MAX + 13];
    int fault = oci_path(c->oci, c->id, "", bundle, why);
    if (fault == 0)
        fault = oci_path(c->oci, c->id, "pid", pid_file, why);
    if (fault == 0)
        fault = oci_path(c->oci, c->id, "runtime.log", log, why);
    if (fault == 0)
        fault = oci_state_root(c->oci, root, why);
    if (fault != 0)
        return fault;
    const struct runtime *r = &c->profile->runtime;
    size_t n = runtime_arguments(r, root, log, c->oci->rootless, argv);
    argv[n++] = "run";
    argv[n++] = "--detach";
    argv[n++] = "--bundle";
    argv[n++] = bundle;
    argv[n++] = "--pid-file";
    argv[n++] = pid_file;
    if (r->kind == RUNTIME_RUNSC) {
        argv[n++] = "--pass-fd=3:3";
        argv[n++] = "--pass-fd=4:4";
    } else {
        argv[n++] = "--preserve-fds";
        argv[n++] = "2";
        // A keyring of its own would count against kernel.keys.maxkeys of the inside's uid 0: after
        // 200 sandboxes no more could start. keyctl and its kin are refused in sandboxes anyway.
        argv[n++] = "--no-new-keyring";
    }
    argv[n++] = c->id;
    argv[n] = NULL;
    char *const environment[] = {(char[]){"PATH=/usr/sbin:/usr/bin:/sbin:/bin"}, NULL};
    execve(argv[0], (char *const *)(uintptr_t)argv, environment);
    return failure_errno(why, "run %s", argv[0]);
}

int oci_create(void *engine, const struct engine_order *order, struct failure *why)
{
    static int (*const steps[])(struct creation *, struct failure *) = {
        make_folder, open_link,    write_start, make_disk,
        make_volume, write_bundle, place_fds,   become_runtime,
    };
    const struct oci *o = engine;
    struct creation c = {
        .oci = o,
        .order = order,
        .profile = &o->profiles[order->profile],
        .id = order->create.id,
        .link = -1,
        .start = -1,
    };
    for (size_t i = 0; i < ARRAY_COUNT(steps); i++) {
        int fault = steps[i](&c, why);
        if (fault != 0)
            return fault;
    }
    return 0;
}
