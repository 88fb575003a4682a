// SPDX-License-Identifier: Apache-2.0
// Writes archives for tests, hostile ones included.
#ifndef WRIST_TESTS_UNIT_WORKERS_WORKSPACE_TAR_WRITER_H
#define WRIST_TESTS_UNIT_WORKERS_WORKSPACE_TAR_WRITER_H

#include <stdio.h>

#include "gateway/lib/base/buffer.h"

struct tar_entry {
    const char *path;
    char type;          // 0: '0'
    const char *target; // of links
    const char *content;
    unsigned mode; // 0: 0644
};

static inline struct tar_entry tar_file(const char *path, const char *content)
{
    return (struct tar_entry){.path = path, .content = content};
}

static inline struct tar_entry tar_link(char type, const char *path, const char *target)
{
    return (struct tar_entry){.path = path, .type = type, .target = target};
}

static inline struct tar_entry tar_bare(char type, const char *path)
{
    return (struct tar_entry){.path = path, .type = type};
}

static inline void tar_pad(struct buffer *out)
{
    while (buffer_size(out) % 512 != 0)
        buffer_append_char(out, '\0');
}

static inline void tar_add_bytes(struct buffer *out, const struct tar_entry *e, struct span content)
{
    char block[512] = "";
    unsigned sum = 0;
    char type = e->type != '\0' ? e->type : '0';
    snprintf(block, 100, "%s", e->path);
    snprintf(block + 100, 8, "%07o", e->mode != 0 ? e->mode : 0644);
    snprintf(block + 108, 8, "%07o", 0u);
    snprintf(block + 116, 8, "%07o", 0u);
    snprintf(block + 124, 12, "%011zo", content.size);
    snprintf(block + 136, 12, "%011o", 1000000000u);
    memset(block + 148, ' ', 8);
    block[156] = type;
    if (e->target != NULL)
        snprintf(block + 157, 100, "%s", e->target);
    memcpy(block + 257,
           "ustar\0"
           "00",
           8);
    for (size_t i = 0; i < sizeof block; i++)
        sum += (unsigned char)block[i];
    snprintf(block + 148, 8, "%06o", sum);
    buffer_append(out, span_of(block, sizeof block));
    buffer_append(out, content);
    tar_pad(out);
}

static inline void tar_add(struct buffer *out, const struct tar_entry *e)
{
    tar_add_bytes(out, e, span_from_string(e->content != NULL ? e->content : ""));
}

static inline void tar_close(struct buffer *out)
{
    for (int i = 0; i < 1024; i++)
        buffer_append_char(out, '\0');
}

#endif
