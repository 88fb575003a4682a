// SPDX-License-Identifier: Apache-2.0
//
// The driver's configuration: every key stands once in the table of config.c.
#ifndef WRIST_DRIVER_CONFIG_H
#define WRIST_DRIVER_CONFIG_H

#include "gateway/lib/base/failure.h"
#include "gateway/lib/config/keys.h"
#include "gateway/lib/control/worker_start.h"

enum { CONFIG_PATH_SIZE = 256 };

// What a sandbox of this name is made of. The gateway knows the name only.
struct driver_profile {
    char name[PROFILE_NAME_SIZE];
    char root[CONFIG_PATH_SIZE]; // an unpacked image; "" in trial mode
    bool trial;                  // the host's /usr in place of an image
    char digest[DIGEST_SIZE];    // of the image; "" to take it from the directory's metadata
    char worker[CONFIG_PATH_SIZE];
    char runtime[CONFIG_PATH_SIZE]; // "" for the driver's
    char network[16];               // "none"
    int64_t memory_bytes, cpu_millis, pids;
    int64_t disk_bytes, disk_inodes, tmp_bytes;
    int64_t command_uid, command_gid;
    int64_t open_files;
    int64_t volume_bytes, volume_inodes; // 0 bytes: it has no volumes
    int64_t export_bytes;
    char export_types[WORKER_TYPES_SIZE]; // as in worker_exports
    bool read_only;                       // /workspace shows /inputs, and nobody can write there
    bool weak_isolation; // one uid for worker and commands, where no second can be had
};

struct driver_config {
    char listen[CONFIG_PATH_SIZE]; // "unix:/run/wrist/driver.sock"
    char **allowed_users;          // owned; names or uids
    size_t allowed_user_count;
    char state_dir[128], run_dir[64];  // short, since a socket's path has 107 bytes at most
    char volume_dir[CONFIG_PATH_SIZE]; // "" for its folder in state_dir
    int64_t volume_grace_ms;
    char runtime[CONFIG_PATH_SIZE]; // "auto", or a program's path
    char cgroup_parent[64];
    int64_t uid_base, uid_count;
    int64_t sandboxes;
    int64_t parallel_jobs, waiting_jobs;
    int64_t start_timeout_ms, stop_timeout_ms;
    int64_t grace_ms; // from SIGTERM to exit, for jobs that run
    int64_t exited_keep_ms;
    char log_level[8];
    struct driver_profile *profiles; // owned
    size_t profile_count;
};

extern const struct key_table driver_config_table;

int driver_config_load(const char *file, struct driver_config *out, struct key_source **source,
                       struct failure *why);
void driver_config_fini(struct driver_config *c);
const struct driver_profile *driver_config_profile(const struct driver_config *c, const char *name);

#endif
