// SPDX-License-Identifier: Apache-2.0
#ifndef WRIST_DRIVER_OPTIONS_H
#define WRIST_DRIVER_OPTIONS_H

#include "driver/config.h"

enum { OPTIONS_RUN = -1 };

// Reads the command line and the configuration. OPTIONS_RUN with *config filled, or the exit status
// after it has printed what was asked for or what is wrong.
int options_read(int argc, char **argv, struct driver_config *config);

#endif
