// SPDX-License-Identifier: Apache-2.0
// The config.json of one sandbox.
#ifndef WRIST_DRIVER_OCI_BUNDLE_H
#define WRIST_DRIVER_OCI_BUNDLE_H

#include "driver/config.h"
#include "driver/oci/ids.h"
#include "driver/oci/root.h"
#include "gateway/lib/base/buffer.h"

struct bundle {
    const struct driver_profile *profile;
    const struct root *root;
    const struct id_map *uids, *gids;
    const char *cgroup;    // its path, "" where there are no cgroups for us
    const char *workspace; // host folders; "" for tmpfs
    const char *inputs;
    bool limit_swap;
    uint64_t open_files; // at most our own hard limit
};

enum { BUNDLE_LIMIT = 256 << 10 };

int bundle_write(const struct bundle *b, struct buffer *out);

#endif
