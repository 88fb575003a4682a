// SPDX-License-Identifier: Apache-2.0
// What the files of this folder know of a running engine; nobody else includes it.
#ifndef WRIST_DRIVER_OCI_INSTANCE_H
#define WRIST_DRIVER_OCI_INSTANCE_H

#include "driver/engine.h"
#include "driver/files.h"
#include "driver/oci/disk.h"
#include "driver/oci/ids.h"
#include "driver/oci/root.h"
#include "driver/oci/runtime.h"

struct oci_profile {
    const struct driver_profile *settings; // borrowed
    struct runtime runtime;
    struct root root;
    char disk_template[FILE_PATH_SIZE]; // "" for tmpfs
};

struct oci {
    const struct driver_config *config; // borrowed
    char installation[ID_SIZE];
    bool rootless, has_cgroups, limits_swap;
    bool one_uid; // no second uid can be had
    struct id_map uids, gids;
    uint64_t open_files;          // our own hard limit
    struct oci_profile *profiles; // owned
};

// Paths of one sandbox.
int oci_path(const struct oci *o, const char *id, const char *name, char out[FILE_PATH_SIZE],
             struct failure *why);
int oci_cgroup(const struct oci *o, const char *id, char out[FILE_PATH_SIZE], struct failure *why);
void oci_label(const struct oci *o, const char *id, char out[DISK_LABEL_SIZE]);
void oci_volume_label(const struct oci *o, const char *id, char out[DISK_LABEL_SIZE]);
int oci_volume_path(const struct oci *o, const char *volume, char out[FILE_PATH_SIZE],
                    struct failure *why);
int oci_state_root(const struct oci *o, char out[FILE_PATH_SIZE], struct failure *why);

int oci_create(void *engine, const struct engine_order *order, struct failure *why);
int oci_destroy(void *engine, const char *id, struct failure *why);
int oci_each_trace(void *engine, void (*found)(void *owner, const char *id), void *owner,
                   struct failure *why);
void oci_tidy(void *engine, bool (*in_use)(void *owner, const char *digest), void *owner);

#endif
