// SPDX-License-Identifier: Apache-2.0
// SIGHUP: profiles are read again. Sandboxes that run keep what they are made of; new ones take
// what stands in the file now. The other keys, and which profiles there are, need a restart.
#ifndef WRIST_DRIVER_RELOAD_H
#define WRIST_DRIVER_RELOAD_H

#include "driver/engine.h"

// A profile that cannot be opened as it stands in the file now stays as it was, and the log says
// why. Returns how many changed.
size_t profiles_reload(struct driver_config *config, const char *file, struct engine *engine);

#endif
