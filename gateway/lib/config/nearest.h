// SPDX-License-Identifier: Apache-2.0
#ifndef WRIST_GATEWAY_LIB_CONFIG_NEAREST_H
#define WRIST_GATEWAY_LIB_CONFIG_NEAREST_H

#include "gateway/lib/config/tree.h"

// The key under `pattern` that was most likely meant by `typed`; false where none is near.
bool nearest_key(const struct key_table *t, const char *pattern, struct span typed,
                 struct key_child *out);

#endif
