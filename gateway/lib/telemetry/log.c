// SPDX-License-Identifier: Apache-2.0
#include "gateway/lib/telemetry/log.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include "gateway/lib/base/clock.h"
#include "gateway/lib/json/utf8.h"

enum {
    LINE_SIZE = 4096,  // PIPE_BUF: a pipe takes a line whole or not at all
    TEXT_MOST = 2048,  // of one field, in source bytes
    CLOSING_ROOM = 64, // what ends a line always fits
};

_Static_assert(LINE_SIZE == PIPE_BUF, "what a pipe takes whole");

static struct {
    const char *program;
    enum log_level least;
    int fd;
    int64_t dropped; // lines that the reader of a full pipe did not take
} log_state = {.program = "wrist", .least = LOG_INFO, .fd = STDERR_FILENO};

struct line {
    char text[LINE_SIZE];
    size_t size;
    bool cut;
};

const char *log_level_name(enum log_level level)
{
    static const char *const names[] = {"debug", "info", "warn", "error"};
    return level >= LOG_DEBUG && level <= LOG_ERROR ? names[level] : "unknown";
}

enum log_level log_level_find(const char *name)
{
    for (enum log_level level = LOG_DEBUG; level <= LOG_ERROR; level++)
        if (strcmp(log_level_name(level), name) == 0)
            return level;
    return LOG_INFO;
}

void log_open(const char *program, enum log_level least, int fd)
{
    log_state.program = program;
    log_state.least = least;
    log_state.fd = fd;
    log_state.dropped = 0;
}

bool log_is_on(enum log_level level)
{
    return level >= log_state.least;
}

static bool has_room(const struct line *l, size_t size)
{
    return l->size + size + CLOSING_ROOM <= sizeof l->text;
}

static void put(struct line *l, const char *text, size_t size)
{
    if (!has_room(l, size)) {
        l->cut = true;
        return;
    }
    memcpy(l->text + l->size, text, size);
    l->size += size;
}

static void put_string(struct line *l, const char *text)
{
    put(l, text, strlen(text));
}

static void put_escaped(struct line *l, unsigned char c)
{
    char text[8];
    switch (c) {
    case '"':
        put(l, "\\\"", 2);
        return;
    case '\\':
        put(l, "\\\\", 2);
        return;
    case '\n':
        put(l, "\\n", 2);
        return;
    default:
        snprintf(text, sizeof text, "\\u%04x", c);
        put(l, text, 6);
    }
}

// A log is read by people and by machines line by line: nothing a peer sent may end a line, close a
// string or reach a terminal as a control character.
static void put_text(struct line *l, struct span text)
{
    size_t size = text.size < TEXT_MOST ? text.size : TEXT_MOST;
    const char *at = text.data, *end = text.data + size;
    put(l, "\"", 1);
    while (at < end && !l->cut) {
        struct utf8_step step = utf8_step(at, end);
        unsigned char c = (unsigned char)*at;
        if (!step.valid)
            put(l, "\xef\xbf\xbd", 3);
        else if (c < 0x20 || c == '"' || c == '\\' || c == 0x7f)
            put_escaped(l, c);
        else
            put(l, at, step.size);
        at += step.size;
    }
    if (text.size > size)
        put(l, "…", sizeof "…" - 1);
    memcpy(l->text + l->size, "\"", 1); // in the room kept for closing
    l->size++;
}

static void put_number(struct line *l, int64_t number)
{
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)number);
    put_string(l, text);
}

static void put_key(struct line *l, const char *key)
{
    put(l, ",\"", 2);
    put_string(l, key);
    put(l, "\":", 2);
}

static void put_field(struct line *l, const struct log_field *f)
{
    // A field stands whole, or cut inside its text, or not at all.
    if (!has_room(l, strlen(f->key) + 32)) {
        l->cut = true;
        return;
    }
    put_key(l, f->key);
    if (f->kind == LOG_KIND_BOOL)
        put_string(l, f->number != 0 ? "true" : "false");
    else if (f->kind == LOG_KIND_I64)
        put_number(l, f->number);
    else if (span_is_absent(f->text))
        put_string(l, "null");
    else
        put_text(l, f->text);
}

static void put_head(struct line *l, enum log_level level, const char *event)
{
    char time[CLOCK_TEXT_SIZE];
    clock_format_wall(clock_wall_ms(clock_system()), time);
    put_string(l, "{\"time\":\"");
    put_string(l, time);
    put_string(l, "\",\"level\":\"");
    put_string(l, log_level_name(level));
    put_string(l, "\",\"program\":\"");
    put_string(l, log_state.program);
    put_string(l, "\",\"event\":\"");
    put_string(l, event);
    put(l, "\"", 1);
}

// A pipe or socket that its reader lets fill up is not waited for: the line is dropped and counted.
static bool would_block(void)
{
    struct pollfd p = {.fd = log_state.fd, .events = POLLOUT};
    return poll(&p, 1, 0) == 0;
}

static void write_line(const struct line *l)
{
    ssize_t wrote = -1;
    if (!would_block())
        do
            wrote = write(log_state.fd, l->text, l->size);
        while (wrote < 0 && errno == EINTR);
    if (wrote < 0)
        log_state.dropped++;
    else
        log_state.dropped = 0;
}

void log_write(enum log_level level, const char *event, const struct log_field *fields,
               size_t field_count)
{
    struct line l;
    int saved = errno;
    if (!log_is_on(level))
        return;
    l.size = 0;
    l.cut = false;
    put_head(&l, level, event);
    for (size_t i = 0; i < field_count && !l.cut; i++)
        put_field(&l, &fields[i]);
    if (log_state.dropped > 0 && !l.cut)
        put_field(&l, &LOG_I64("dropped", log_state.dropped));
    const char *closing = l.cut ? ",\"cut\":true}\n" : "}\n";
    size_t size = strlen(closing);
    memcpy(l.text + l.size, closing, size);
    l.size += size;
    write_line(&l);
    errno = saved;
}

bool log_budget_take(struct log_budget *b, int64_t now_ms, int64_t a_second, int64_t *not_logged)
{
    int64_t second = now_ms / 1000;
    if (second != b->second) {
        b->second = second;
        b->lines = 0;
    }
    if (b->lines++ >= a_second) {
        b->unlogged++;
        return false;
    }
    *not_logged = b->unlogged;
    b->unlogged = 0;
    return true;
}
