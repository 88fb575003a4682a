// SPDX-License-Identifier: Apache-2.0
// A process by more than its number, which is used again.
#ifndef WRIST_DRIVER_PROCESS_H
#define WRIST_DRIVER_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { BOOT_ID_SIZE = 40 };

struct process {
    pid_t pid;
    uint64_t started; // clock ticks since boot
    char boot[BOOT_ID_SIZE];
};

bool process_find(pid_t pid, struct process *out); // false where there is none now
bool process_is_alive(const struct process *p);    // this very one, and no zombie

#endif
