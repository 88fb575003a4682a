// SPDX-License-Identifier: Apache-2.0
// Which host uids and gids a sandbox's own are mapped to.
#ifndef WRIST_DRIVER_OCI_IDS_H
#define WRIST_DRIVER_OCI_IDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "gateway/lib/base/failure.h"

enum { ID_PIECES_MAX = 2 };

struct id_map {
    struct {
        int64_t inside, outside, count;
    } piece[ID_PIECES_MAX];
    size_t count;
};

// As root: the whole range from `base`.
void id_map_from_range(struct id_map *m, int64_t base, int64_t count);
// Rootless: 0 is ourselves; from 1 on what /etc/subuid or /etc/subgid (`file`) grants us, which is
// used only where newuidmap and newgidmap are there to set it.
void id_map_from_grant(struct id_map *m, const char *file, int64_t self);
// The host's id of one inside, or -1.
int64_t id_map_outside(const struct id_map *m, int64_t inside);

#endif
