// SPDX-License-Identifier: Apache-2.0
#include "driver/oci/ids.h"

#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "driver/files.h"
#include "gateway/lib/base/memory.h"

enum { GRANT_FILE_LIMIT = 1 << 20, ID_COUNT_MAX = 65536 };

void id_map_from_range(struct id_map *m, int64_t base, int64_t count)
{
    *m = (struct id_map){.piece = {{0, base, count}}, .count = 1};
}

// "name:100000:65536"
static bool grant_parse(struct span line, const char *name, const char *number, int64_t *base,
                        int64_t *count)
{
    struct span rest = line;
    struct span who = span_split(&rest, ':');
    struct span from = span_split(&rest, ':');
    uint64_t first, size;
    if ((!span_is(who, name) && !span_is(who, number)) || !span_to_u64(from, &first) ||
        !span_to_u64(span_trim(rest), &size) || size == 0 || first > UINT32_MAX ||
        size > UINT32_MAX - first)
        return false;
    *base = (int64_t)first;
    *count = size > ID_COUNT_MAX ? ID_COUNT_MAX : (int64_t)size;
    return true;
}

static bool grant_find(struct span text, int64_t *base, int64_t *count)
{
    const struct passwd *user = getpwuid(getuid());
    char number[16];
    snprintf(number, sizeof number, "%u", (unsigned)getuid());
    while (!span_is_absent(text))
        if (grant_parse(span_split(&text, '\n'), user != NULL ? user->pw_name : number, number,
                        base, count))
            return true;
    return false;
}

void id_map_from_grant(struct id_map *m, const char *file, int64_t self)
{
    *m = (struct id_map){.piece = {{0, self, 1}}, .count = 1};
    if (access("/usr/bin/newuidmap", X_OK) != 0 || access("/usr/bin/newgidmap", X_OK) != 0)
        return;
    struct buffer text;
    int64_t base, count;
    buffer_init(&text, GRANT_FILE_LIMIT);
    if (file_read(file, &text, NULL) == 0 && grant_find(buffer_span(&text), &base, &count)) {
        m->piece[1].inside = 1;
        m->piece[1].outside = base;
        m->piece[1].count = count;
        m->count = 2;
    }
    buffer_fini(&text);
}

int64_t id_map_outside(const struct id_map *m, int64_t inside)
{
    for (size_t i = 0; i < m->count; i++)
        if (inside >= m->piece[i].inside && inside - m->piece[i].inside < m->piece[i].count)
            return m->piece[i].outside + inside - m->piece[i].inside;
    return -1;
}
