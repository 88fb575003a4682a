// SPDX-License-Identifier: Apache-2.0
// The OCI runtimes that may be on this machine: which is there, and whether it works here.
#ifndef WRIST_DRIVER_OCI_RUNTIME_H
#define WRIST_DRIVER_OCI_RUNTIME_H

#include "driver/config.h"

enum runtime_kind { RUNTIME_RUNC, RUNTIME_CRUN, RUNTIME_RUNSC };

struct runtime {
    enum runtime_kind kind;
    char path[CONFIG_PATH_SIZE];
    char version[64]; // its own words
};

// `setting` is "auto" or a path. FAULT_NOT_FOUND names what was looked for and why each was
// refused.
int runtime_find(const char *setting, struct runtime *out, struct failure *why);

// Arguments in front of a command: the program, its state directory, its log. Strings are borrowed
// from the runtime and the caller. Returns how many.
enum { RUNTIME_ARGUMENTS_MAX = 12 };
size_t runtime_arguments(const struct runtime *r, const char *state_root, const char *log_file,
                         bool rootless, const char *out[RUNTIME_ARGUMENTS_MAX]);

#endif
