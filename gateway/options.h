// SPDX-License-Identifier: Apache-2.0
// The command line of wrist-gateway; main's alone.
#ifndef WRIST_GATEWAY_OPTIONS_H
#define WRIST_GATEWAY_OPTIONS_H

#include <stdbool.h>

// True where the command line was all there is to do (--help, --check-config, a mistake): then
// *status is what the program ends with. Else *config_file is the file of --config.
bool options_take(int argc, char **argv, const char **config_file, int *status);

#endif
