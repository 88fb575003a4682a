// SPDX-License-Identifier: Apache-2.0
#include "driver/process.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver/files.h"

enum { STAT_STATE = 3, STAT_STARTED = 22 };

static bool boot_read(char out[BOOT_ID_SIZE])
{
    struct buffer text;
    buffer_init(&text, 32 << 10);
    bool ok = file_read("/proc/sys/kernel/random/boot_id", &text, NULL) == 0 &&
              span_copy_string(span_slice(buffer_span(&text), 0, 36), out, BOOT_ID_SIZE);
    buffer_fini(&text);
    return ok;
}

static bool stat_parse(struct span text, uint64_t *started, char *state)
{
    // The name stands in brackets and may hold any byte, also a bracket.
    const char *after = text.size > 0 ? memrchr(text.data, ')', text.size) : NULL;
    if (after == NULL || after + 2 > text.data + text.size)
        return false;
    struct span rest = span_of(after + 2, (size_t)(text.data + text.size - after - 2));
    for (int field = STAT_STATE; field <= STAT_STARTED; field++) {
        struct span word = span_split(&rest, ' ');
        if (field == STAT_STATE && word.size == 1)
            *state = word.data[0];
        if (field == STAT_STARTED)
            return span_to_u64(word, started);
    }
    return false;
}

static bool process_look(pid_t pid, uint64_t *started, char *state)
{
    char path[FILE_PATH_SIZE];
    struct buffer text;
    buffer_init(&text, 32 << 10);
    bool ok = path_format(path, NULL, "/proc/%d/stat", (int)pid) == 0 &&
              file_read(path, &text, NULL) == 0 && stat_parse(buffer_span(&text), started, state);
    buffer_fini(&text);
    return ok;
}

bool process_find(pid_t pid, struct process *out)
{
    char state = '?';
    *out = (struct process){.pid = pid};
    return boot_read(out->boot) && process_look(pid, &out->started, &state);
}

bool process_is_alive(const struct process *p)
{
    struct process now;
    char state = '?';
    uint64_t started;
    if (p->pid <= 1 || !process_find(p->pid, &now))
        return false;
    return now.started == p->started && strcmp(now.boot, p->boot) == 0 &&
           process_look(p->pid, &started, &state) && state != 'Z' && state != 'X';
}
