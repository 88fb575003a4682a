// SPDX-License-Identifier: Apache-2.0
//
// `--name value` or `--name=value`, in any order, each at most once.
#ifndef WRIST_CTL_OPTIONS_H
#define WRIST_CTL_OPTIONS_H

#include <stdbool.h>

#include "gateway/lib/base/failure.h"

struct option_row {
    const char *name; // "--subject"
    const char **value;
    bool required;
};

// Ends with a row without a name. At most `rest_most` words that are no options go to rest[].
int options_parse(int argc, char **argv, const struct option_row *rows, const char **rest,
                  int rest_most, struct failure *why);

#endif
