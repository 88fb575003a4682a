// SPDX-License-Identifier: Apache-2.0
#include "driver/config.h"

#include <stdio.h>
#include <string.h>

static const char *const log_levels[] = {"debug", "info", "warn", "error", NULL};
static const char *const networks[] = {"none", NULL};

static bool is_runtime(const char *text)
{
    return text[0] == '\0' || text[0] == '/' || strcmp(text, "auto") == 0;
}

static bool is_digest(const char *text)
{
    if (text[0] == '\0')
        return true;
    return strncmp(text, "sha256:", 7) == 0 && strlen(text) == 71 &&
           strspn(text + 7, "0123456789abcdef") == 64;
}

// "text/*,image/png": characters of RFC 6838, and a slash in each.
static bool is_type_list(const char *text)
{
    for (const char *at = text; *at != '\0';) {
        size_t size = strcspn(at, ",");
        if (size < 3 || memchr(at + 1, '/', size - 2) == NULL)
            return false;
        at += size + (at[size] == ',');
    }
    return strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789/*+-._,") == strlen(text);
}

enum { VOLUME_BYTES_LEAST = 8 << 20 }; // its journal takes some of it

#define TOP(member) KEY_AT(struct driver_config, member)
#define PRO(member) KEY_AT(struct driver_profile, member)

static const struct key keys[] = {
    {"listen", KEY_ADDRESS, TOP(listen), .fallback = "unix:/run/wrist/driver.sock",
     .help = "The unix socket on which gateways ask for sandboxes."},
    {"allowed_users", KEYS_STRINGS(struct driver_config, allowed_users, allowed_user_count),
     .most = 16,
     .help = "Users (names or uids) whose processes may ask. The driver's own user always may."},
    {"state_dir", KEY_PATH, TOP(state_dir), .fallback = "/var/lib/wrist",
     .help = "The journal of sandboxes and formatted disk templates. Of this driver alone."},
    {"run_dir", KEY_PATH, TOP(run_dir), .fallback = "/run/wrist",
     .help = "Bundles, link sockets and roots of running sandboxes; best on a tmpfs."},
    {"volume_dir", KEY_PATH, TOP(volume_dir),
     .help = "Where volumes are kept: sparse files, on a local disk. Of this driver alone. Without "
             "it, state_dir/volumes."},
    {"volume_grace", KEY_DURATION, TOP(volume_grace_ms), .least = 0, .most = 604800000,
     .fallback = "10min",
     .help = "How long after its start the driver deletes no volume for want of use."},
    {"runtime", KEY_STRING, TOP(runtime), .fallback = "auto", .accepts = is_runtime,
     .expected = "auto or the absolute path of runc, crun or runsc",
     .help = "The OCI runtime. auto takes the first of runc, crun and runsc that works here."},
    {"cgroup_parent", KEY_PATH, TOP(cgroup_parent), .fallback = "/wrist",
     .help = "The cgroup below which every sandbox gets its own."},
    {"uid_base", KEY_INTEGER, TOP(uid_base), .least = 65536, .most = 4294000000,
     .fallback = "2000000000",
     .help = "The first host uid and gid of the range that sandboxes' uids are mapped to."},
    {"uid_count", KEY_INTEGER, TOP(uid_count), .least = 1001, .most = 1000000, .fallback = "65536",
     .help = "How many uids and gids a sandbox has."},
    {"sandboxes", KEY_INTEGER, TOP(sandboxes), .least = 1, .most = 100000, .fallback = "2000",
     .help = "The most sandboxes there may be at once."},
    {"jobs.parallel", KEY_INTEGER, TOP(parallel_jobs), .least = 1, .most = 64, .fallback = "4",
     .help = "Creations and removals that run at once."},
    {"jobs.waiting", KEY_INTEGER, TOP(waiting_jobs), .least = 0, .most = 10000, .fallback = "256",
     .help = "Creations that may wait for a free place; further ones are told to come back."},
    {"start_timeout", KEY_DURATION, TOP(start_timeout_ms), .least = 1000, .most = 600000,
     .fallback = "20s", .help = "How long a runtime may take to start a sandbox."},
    {"stop_timeout", KEY_DURATION, TOP(stop_timeout_ms), .least = 1000, .most = 600000,
     .fallback = "30s",
     .help = "How long the removal of a sandbox may take before it is tried again."},
    {"grace", KEY_DURATION, TOP(grace_ms), .least = 0, .most = 600000, .fallback = "10s",
     .help = "On SIGTERM, how long creations under way may still take. Sandboxes run on."},
    {"exited_keep", KEY_DURATION, TOP(exited_keep_ms), .least = 1000, .most = 604800000,
     .fallback = "10min",
     .help = "How long the record of a sandbox that ended by itself waits to be deleted."},
    {"log_level", KEY_WORD, TOP(log_level), .fallback = "info", .words = log_levels,
     .help = "The least severe lines that are written."},
    {"profiles.<name>",
     KEYS_MAP(struct driver_config, profiles, profile_count, struct driver_profile, name),
     .least = 1, .most = 64, .required = true, .help = "The kinds of sandboxes there are."},
    {"profiles.<name>.root", KEY_PATH, PRO(root),
     .help = "The directory of an unpacked image. It is never written to."},
    {"profiles.<name>.trial", KEY_BOOL, PRO(trial), .fallback = "false",
     .help = "Take the host's /usr, read-only and without /usr/local, in place of an image: to try "
             "Wrist out, not to serve others."},
    {"profiles.<name>.digest", KEY_STRING, PRO(digest), .accepts = is_digest,
     .expected = "sha256: and 64 hex digits",
     .help = "The image's digest. Without it, one is made from the root's metadata."},
    {"profiles.<name>.worker", KEY_PATH, PRO(worker), .fallback = "/usr/lib/wrist/wrist-worker",
     .help = "The static wrist-worker that is put into the sandbox."},
    {"profiles.<name>.runtime", KEY_STRING, PRO(runtime), .accepts = is_runtime,
     .expected = "auto or the absolute path of runc, crun or runsc",
     .help = "Another runtime than the driver's."},
    {"profiles.<name>.network", KEY_WORD, PRO(network), .fallback = "none", .words = networks,
     .help = "none: no interface but loopback."},
    {"profiles.<name>.limits.memory", KEY_SIZE, PRO(memory_bytes), .least = 16777216,
     .most = 1099511627776, .fallback = "1GiB", .help = "Memory of all processes and tmpfs files."},
    {"profiles.<name>.limits.cpu_millis", KEY_INTEGER, PRO(cpu_millis), .least = 10,
     .most = 1024000, .fallback = "2000", .help = "CPU time per second, in thousandths of a core."},
    {"profiles.<name>.limits.pids", KEY_INTEGER, PRO(pids), .least = 8, .most = 100000,
     .fallback = "512", .help = "Processes and threads."},
    {"profiles.<name>.limits.disk", KEY_SIZE, PRO(disk_bytes), .least = 4194304,
     .most = 1099511627776, .fallback = "2GiB", .help = "/workspace and /inputs together."},
    {"profiles.<name>.limits.inodes", KEY_INTEGER, PRO(disk_inodes), .least = 1024,
     .most = 100000000, .fallback = "131072", .help = "Files and directories on that disk."},
    {"profiles.<name>.volumes.size", KEY_SIZE, PRO(volume_bytes), .most = 1099511627776,
     .fallback = "0",
     .help = "The size of a volume: a workspace with a name that outlives its sandboxes. 0: there "
             "are none. What exists keeps its size. Needs loop devices: not rootless."},
    {"profiles.<name>.volumes.inodes", KEY_INTEGER, PRO(volume_inodes), .least = 1024,
     .most = 100000000, .fallback = "131072", .help = "Files and directories in a volume."},
    {"profiles.<name>.limits.tmp", KEY_SIZE, PRO(tmp_bytes), .least = 65536, .most = 1099511627776,
     .fallback = "256MiB", .help = "/tmp, in memory."},
    {"profiles.<name>.limits.open_files", KEY_INTEGER, PRO(open_files), .least = 64,
     .most = 1048576, .fallback = "4096", .help = "Open files per process."},
    {"profiles.<name>.command.uid", KEY_INTEGER, PRO(command_uid), .least = 1, .most = 65534,
     .fallback = "1000", .help = "Whom commands run as, inside."},
    {"profiles.<name>.command.gid", KEY_INTEGER, PRO(command_gid), .least = 1, .most = 65534,
     .fallback = "1000", .help = "Their group."},
    {"profiles.<name>.export.bytes", KEY_SIZE, PRO(export_bytes), .least = 1, .most = 1099511627776,
     .fallback = "1GiB", .help = "The most that one export may take out of the sandbox."},
    {"profiles.<name>.export.types", KEY_STRING, PRO(export_types), .accepts = is_type_list,
     .expected = "media types as text/*,image/png",
     .help = "What exported files may be, by their content. Without it, anything."},
    {"profiles.<name>.read_only", KEY_BOOL, PRO(read_only), .fallback = "false",
     .help = "/workspace shows what is uploaded to /inputs, mounted read-only; only the tools that "
             "read are offered, and nothing is run. Needs a disk of its own: not rootless."},
    {"profiles.<name>.weak_isolation", KEY_BOOL, PRO(weak_isolation), .fallback = "false",
     .help = "Accept that commands run with the worker's own uid where no second uid can be had."},
};

static int check_profile(const struct driver_config *c, const struct driver_profile *p,
                         const struct key_source *source, struct failure *why)
{
    char at[160];
    if (p->trial == (p->root[0] != '\0')) {
        snprintf(at, sizeof at, "profiles.%s.root", p->name);
        return key_source_refuse(source, why, at, "expected either root or trial: true");
    }
    snprintf(at, sizeof at, "profiles.%s.volumes.size", p->name);
    if (p->volume_bytes != 0 && p->volume_bytes < VOLUME_BYTES_LEAST)
        return key_source_refuse(source, why, at, "expected 0 or at least 8MiB");
    if (p->volume_bytes != 0 && p->read_only)
        return key_source_refuse(source, why, at, "expected 0 with read_only: true");
    if (p->command_uid >= c->uid_count || p->command_gid >= c->uid_count) {
        snprintf(at, sizeof at, "profiles.%s.command.uid", p->name);
        return key_source_refuse(source, why, at, "expected uid and gid below uid_count");
    }
    return 0;
}

static int check(const void *settings, const struct key_source *source, struct failure *why)
{
    const struct driver_config *c = settings;
    if (strncmp(c->listen, "unix:/", 6) != 0)
        return key_source_refuse(source, why, "listen", "expected unix:/path");
    for (size_t i = 0; i < c->profile_count; i++) {
        int fault = check_profile(c, &c->profiles[i], source, why);
        if (fault != 0)
            return fault;
    }
    return 0;
}

const struct key_table driver_config_table = {
    .program = "wrist-driver",
    .title = "Starts and ends sandboxes on this machine.",
    .keys = keys,
    .count = sizeof keys / sizeof keys[0],
    .settings_size = sizeof(struct driver_config),
    .check = check,
};

int driver_config_load(const char *file, struct driver_config *out, struct key_source **source,
                       struct failure *why)
{
    return keys_load(&driver_config_table, file, out, source, why);
}

void driver_config_fini(struct driver_config *c)
{
    keys_release(&driver_config_table, c);
}

const struct driver_profile *driver_config_profile(const struct driver_config *c, const char *name)
{
    for (size_t i = 0; i < c->profile_count; i++)
        if (strcmp(c->profiles[i].name, name) == 0)
            return &c->profiles[i];
    return NULL;
}
