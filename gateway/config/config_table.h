// SPDX-License-Identifier: Apache-2.0
// What the files of this folder share; nobody else includes it.
#ifndef WRIST_GATEWAY_CONFIG_CONFIG_TABLE_H
#define WRIST_GATEWAY_CONFIG_CONFIG_TABLE_H

#include "gateway/lib/config/keys.h"

// What no single key can tell: cleartext beyond loopback, a profile that is not there, …
int config_check(const void *settings, const struct key_source *source, struct failure *why);

#endif
