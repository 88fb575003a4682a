// SPDX-License-Identifier: Apache-2.0
//
// The command line of a program that is its configuration file and nothing else: run with it, check
// it, print it, or print the documents of its table.
#ifndef WRIST_GATEWAY_LIB_CONFIG_COMMAND_LINE_H
#define WRIST_GATEWAY_LIB_CONFIG_COMMAND_LINE_H

#include "gateway/lib/config/keys.h"

struct command_line {
    const struct key_table *table;
    const char *version;
    const char *signals; // a line or two for --help: what signals do
};

// True where the command line was all there is to do (--help, --check-config, a mistake): then
// *status is what the program ends with. Else *config_file is the file of --config.
bool command_line_take(const struct command_line *c, int argc, char **argv,
                       const char **config_file, int *status);

#endif
