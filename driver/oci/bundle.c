// SPDX-License-Identifier: Apache-2.0
#include "driver/oci/bundle.h"

#include <stdarg.h>
#include <stdio.h>

#include "gateway/lib/base/memory.h"
#include "gateway/lib/confine/seccomp.h"
#include "gateway/lib/json/writer.h"

enum {
    OOM_SCORE = 300, // before the host's own; commands raise theirs further
    CPU_PERIOD_US = 100000,
    SHM_BYTES = 64 << 20,
};

// What the worker may do to its commands, and nothing else.
static const char *const worker_capabilities[] = {"CAP_SETUID", "CAP_SETGID", "CAP_KILL"};

static const char *const namespaces[] = {"user", "pid", "mount", "ipc", "uts", "network", "cgroup"};

// Facts of the host, and doors into its kernel.
static const char *const masked_paths[] = {
    "/proc/acpi",        "/proc/asound",      "/proc/kcore",       "/proc/keys",
    "/proc/key-users",   "/proc/kallsyms",    "/proc/kmsg",        "/proc/latency_stats",
    "/proc/timer_list",  "/proc/timer_stats", "/proc/sched_debug", "/proc/scsi",
    "/proc/config.gz",   "/proc/cmdline",     "/proc/diskstats",   "/proc/partitions",
    "/proc/swaps",       "/proc/modules",     "/proc/pressure",    "/proc/slabinfo",
    "/proc/vmallocinfo", "/proc/interrupts",  "/proc/sysvipc",     "/proc/driver",
};
static const char *const readonly_paths[] = {"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys",
                                             "/proc/sysrq-trigger"};

static void write_strings(struct json_writer *w, const char *key, const char *const *list,
                          size_t count)
{
    json_write_key(w, key);
    json_array_open(w);
    for (size_t i = 0; i < count; i++)
        json_write_string(w, span_from_string(list[i]));
    json_array_close(w);
}

static void write_rlimit(struct json_writer *w, const char *type, uint64_t value)
{
    json_object_open(w);
    json_write_member_string(w, "type", type);
    json_write_key(w, "hard");
    json_write_u64(w, value);
    json_write_key(w, "soft");
    json_write_u64(w, value);
    json_object_close(w);
}

static void write_capabilities(struct json_writer *w)
{
    json_write_key(w, "capabilities");
    json_object_open(w);
    static const char *const sets[] = {"bounding", "effective", "permitted"};
    for (size_t i = 0; i < ARRAY_COUNT(sets); i++)
        write_strings(w, sets[i], worker_capabilities, ARRAY_COUNT(worker_capabilities));
    json_object_close(w);
}

static void write_process(const struct bundle *b, struct json_writer *w)
{
    json_write_key(w, "process");
    json_object_open(w);
    json_write_member_bool(w, "terminal", false);
    json_write_key(w, "user");
    json_object_open(w);
    json_write_member_i64(w, "uid", 0);
    json_write_member_i64(w, "gid", 0);
    json_object_close(w);
    const char *const args[] = {ROOT_WORKER};
    write_strings(w, "args", args, ARRAY_COUNT(args));
    write_strings(w, "env", NULL, 0);
    json_write_member_string(w, "cwd", "/");
    write_capabilities(w);
    json_write_key(w, "rlimits");
    json_array_open(w);
    write_rlimit(w, "RLIMIT_NOFILE", b->open_files);
    write_rlimit(w, "RLIMIT_CORE", 0);
    json_array_close(w);
    json_write_member_bool(w, "noNewPrivileges", true);
    json_write_member_i64(w, "oomScoreAdj", OOM_SCORE);
    json_object_close(w);
}

// One mount. `options` ends with NULL.
static void write_mount(struct json_writer *w, const char *target, const char *type,
                        const char *source, const char *const *options)
{
    json_object_open(w);
    json_write_member_string(w, "destination", target);
    json_write_member_string(w, "type", type);
    json_write_member_string(w, "source", source);
    json_write_key(w, "options");
    json_array_open(w);
    for (; *options != NULL; options++)
        json_write_string(w, span_from_string(*options));
    json_array_close(w);
    json_object_close(w);
}
#define MOUNT(w, target, type, source, ...)                                                        \
    write_mount(w, target, type, source, (const char *const[]){__VA_ARGS__, NULL})

static void write_bind(struct json_writer *w, const char *target, const char *source, bool readonly)
{
    if (readonly)
        MOUNT(w, target, "bind", source, "bind", "ro", "nosuid", "nodev");
    else
        MOUNT(w, target, "bind", source, "bind", "rw", "nosuid", "nodev");
}

static void write_tmpfs(struct json_writer *w, const char *target, const char *mode, int64_t owner,
                        int64_t bytes, int64_t inodes)
{
    char size[48], count[48], user[48], group[48];
    snprintf(size, sizeof size, "size=%lld", (long long)bytes);
    snprintf(count, sizeof count, "nr_inodes=%lld", (long long)inodes);
    snprintf(user, sizeof user, "uid=%lld", (long long)owner);
    snprintf(group, sizeof group, "gid=%lld", (long long)owner);
    MOUNT(w, target, "tmpfs", "tmpfs", "nosuid", "nodev", "noatime", mode, size, count, user,
          group);
}

static bool has_group(const struct bundle *b, int64_t gid)
{
    return id_map_outside(b->gids, gid) >= 0;
}

static void write_system_mounts(const struct bundle *b, struct json_writer *w)
{
    MOUNT(w, "/proc", "proc", "proc", "nosuid", "noexec", "nodev");
    MOUNT(w, "/dev", "tmpfs", "tmpfs", "nosuid", "noexec", "mode=755", "size=65536", "ro");
    if (has_group(b, 5)) // tty
        MOUNT(w, "/dev/pts", "devpts", "devpts", "nosuid", "noexec", "newinstance", "ptmxmode=0666",
              "mode=0620", "gid=5");
    else
        MOUNT(w, "/dev/pts", "devpts", "devpts", "nosuid", "noexec", "newinstance", "ptmxmode=0666",
              "mode=0620");
    write_tmpfs(w, "/dev/shm", "mode=1777", 0, SHM_BYTES, 4096);
    write_tmpfs(w, "/tmp", "mode=1777", 0, b->profile->tmp_bytes, b->profile->disk_inodes);
}

static int64_t command_owner(const struct bundle *b)
{
    bool mapped = id_map_outside(b->uids, b->profile->command_uid) >= 0 &&
                  has_group(b, b->profile->command_uid);
    return mapped ? b->profile->command_uid : 0;
}

static void write_mounts(const struct bundle *b, struct json_writer *w)
{
    json_write_key(w, "mounts");
    json_array_open(w);
    for (size_t i = 0; i < b->root->bind_count; i++)
        write_bind(w, b->root->binds[i].target, b->root->binds[i].source, true);
    if (b->root->mask_local)
        MOUNT(w, "/usr/local", "tmpfs", "tmpfs", "nosuid", "nodev", "mode=755", "size=4096", "ro");
    write_system_mounts(b, w);
    const struct driver_profile *p = b->profile;
    if (p->read_only) // the kernel refuses every write there, whoever tries
        write_bind(w, "/workspace", b->inputs, true);
    else if (b->workspace[0] != '\0')
        write_bind(w, "/workspace", b->workspace, false);
    else
        write_tmpfs(w, "/workspace", "mode=755", command_owner(b), p->disk_bytes, p->disk_inodes);
    if (b->inputs[0] != '\0')
        write_bind(w, "/inputs", b->inputs, false);
    else
        write_tmpfs(w, "/inputs", "mode=755", 0, p->disk_bytes, p->disk_inodes);
    json_array_close(w);
}

static void write_id_map(struct json_writer *w, const char *key, const struct id_map *map)
{
    json_write_key(w, key);
    json_array_open(w);
    for (size_t i = 0; i < map->count; i++) {
        json_object_open(w);
        json_write_member_i64(w, "containerID", map->piece[i].inside);
        json_write_member_i64(w, "hostID", map->piece[i].outside);
        json_write_member_i64(w, "size", map->piece[i].count);
        json_object_close(w);
    }
    json_array_close(w);
}

static void write_resources(const struct bundle *b, struct json_writer *w)
{
    const struct driver_profile *p = b->profile;
    json_write_key(w, "resources");
    json_object_open(w);
    json_write_key(w, "devices");
    json_array_open(w);
    json_object_open(w);
    json_write_member_bool(w, "allow", false);
    json_write_member_string(w, "access", "rwm");
    json_object_close(w);
    json_array_close(w);
    json_write_key(w, "memory");
    json_object_open(w);
    json_write_member_i64(w, "limit", p->memory_bytes);
    if (b->limit_swap)
        json_write_member_i64(w, "swap", p->memory_bytes); // both together: no swap
    json_object_close(w);
    json_write_key(w, "cpu");
    json_object_open(w);
    json_write_member_i64(w, "quota", p->cpu_millis * CPU_PERIOD_US / 1000);
    json_write_member_i64(w, "period", CPU_PERIOD_US);
    json_object_close(w);
    json_write_key(w, "pids");
    json_object_open(w);
    json_write_member_i64(w, "limit", p->pids);
    json_object_close(w);
    json_object_close(w);
}

static void write_linux(const struct bundle *b, struct json_writer *w)
{
    json_write_key(w, "linux");
    json_object_open(w);
    write_id_map(w, "uidMappings", b->uids);
    write_id_map(w, "gidMappings", b->gids);
    json_write_key(w, "namespaces");
    json_array_open(w);
    for (size_t i = 0; i < ARRAY_COUNT(namespaces); i++) {
        json_object_open(w);
        json_write_member_string(w, "type", namespaces[i]);
        json_object_close(w);
    }
    json_array_close(w);
    if (b->cgroup[0] != '\0') {
        json_write_member_string(w, "cgroupsPath", b->cgroup);
        write_resources(b, w);
    }
    write_strings(w, "maskedPaths", masked_paths, ARRAY_COUNT(masked_paths));
    write_strings(w, "readonlyPaths", readonly_paths, ARRAY_COUNT(readonly_paths));
    json_write_key(w, "seccomp");
    seccomp_write_oci(SECCOMP_PROFILE_WORKER, w);
    json_object_close(w);
}

int bundle_write(const struct bundle *b, struct buffer *out)
{
    struct json_writer w;
    json_writer_init(&w, out);
    json_object_open(&w);
    json_write_member_string(&w, "ociVersion", "1.0.2");
    write_process(b, &w);
    json_write_key(&w, "root");
    json_object_open(&w);
    json_write_member_string(&w, "path", b->root->path);
    json_write_member_bool(&w, "readonly", true);
    json_object_close(&w);
    json_write_member_string(&w, "hostname", "sandbox");
    write_mounts(b, &w);
    write_linux(b, &w);
    json_object_close(&w);
    return json_writer_finish(&w);
}
