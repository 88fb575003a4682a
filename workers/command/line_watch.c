// SPDX-License-Identifier: Apache-2.0
#include "workers/command/line_watch.h"

#include "gateway/lib/base/memory.h"
#include "workers/tools/regex.h"

struct line_watch {
    struct regex *patterns[LINE_WATCH_PATTERNS_MAX]; // owned
    size_t count;
    uint64_t offset;  // of the next byte in the stream
    uint64_t line_at; // where the present line begins
    size_t size;      // of its part in `line`
    char line[LINE_WATCH_BYTES];
};

int line_watch_new(const struct span *patterns, size_t count, struct line_watch **out,
                   struct failure *why)
{
    static const struct regex_options options = {0};
    struct line_watch *w = memory_new(sizeof *w);
    for (; w->count < count; w->count++) {
        int fault = regex_compile(patterns[w->count], &options, &w->patterns[w->count], why);
        if (fault == 0)
            continue;
        failure_prefix(why, "pattern %zu", w->count);
        line_watch_free(w);
        return fault;
    }
    *out = w;
    return 0;
}

void line_watch_free(struct line_watch *w)
{
    if (w == NULL)
        return;
    for (size_t i = 0; i < w->count; i++)
        regex_free(w->patterns[i]);
    memory_free_at(&w);
}

// A pattern that costs too much on this line has not matched it.
static void judge(struct line_watch *w, struct span line,
                  void (*found)(void *ctx, const struct line_found *f), void *ctx)
{
    size_t start, end;
    for (size_t i = 0; i < w->count; i++) {
        if (regex_find(w->patterns[i], line, 0, &start, &end) != REGEX_YES)
            continue;
        const struct line_found f = {(uint32_t)i, w->line_at, line};
        found(ctx, &f);
        return;
    }
}

static void add(struct line_watch *w, struct span bytes)
{
    bytes = span_slice(bytes, 0, sizeof w->line - w->size);
    if (bytes.size > 0)
        memcpy(w->line + w->size, bytes.data, bytes.size);
    w->size += bytes.size;
}

void line_watch_feed(struct line_watch *w, struct span bytes,
                     void (*found)(void *ctx, const struct line_found *f), void *ctx)
{
    while (bytes.size > 0) {
        const char *end = memchr(bytes.data, '\n', bytes.size);
        size_t size = end != NULL ? (size_t)(end - bytes.data) : bytes.size;
        struct span part = span_slice(bytes, 0, size);
        if (end != NULL && w->size == 0) {
            judge(w, span_slice(part, 0, LINE_WATCH_BYTES), found, ctx); // the usual case: no copy
        } else {
            add(w, part);
            if (end != NULL)
                judge(w, span_of(w->line, w->size), found, ctx);
        }
        size_t used = size + (end != NULL);
        w->offset += used;
        bytes = span_slice(bytes, used, bytes.size);
        if (end != NULL) {
            w->line_at = w->offset;
            w->size = 0;
        }
    }
}

void line_watch_end(struct line_watch *w, void (*found)(void *ctx, const struct line_found *f),
                    void *ctx)
{
    if (w->offset > w->line_at)
        judge(w, span_of(w->line, w->size), found, ctx);
    w->line_at = w->offset;
    w->size = 0;
}
