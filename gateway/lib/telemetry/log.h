// SPDX-License-Identifier: Apache-2.0
//
// One JSON object a line on stderr (or the fd given): time, level, event, fields. A function logs
// or returns an error, never both. Never logged: bearer tokens, session ids, handles, bodies,
// secrets.
//
// LOG(LOG_INFO, "sandbox.state", LOG_STRING("sandbox", id), LOG_I64("generation", n));
#ifndef WRIST_GATEWAY_LIB_TELEMETRY_LOG_H
#define WRIST_GATEWAY_LIB_TELEMETRY_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "gateway/lib/base/span.h"

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR };

enum log_kind { LOG_KIND_TEXT, LOG_KIND_I64, LOG_KIND_BOOL };
struct log_field {
    const char *key;
    enum log_kind kind;
    struct span text;
    int64_t number;
};
#define LOG_SPAN(k, s)   ((struct log_field){.key = (k), .kind = LOG_KIND_TEXT, .text = (s)})
#define LOG_STRING(k, s) LOG_SPAN(k, span_from_string(s))
#define LOG_I64(k, n)    ((struct log_field){.key = (k), .kind = LOG_KIND_I64, .number = (n)})
#define LOG_BOOL(k, b)   ((struct log_field){.key = (k), .kind = LOG_KIND_BOOL, .number = (b)})
#define LOG_FAILURE(f)   LOG_STRING("fault", fault_name((f)->fault)), LOG_STRING("error", (f)->text)

#define LOG(level, event, ...)                                                                     \
    log_write(level, event, (const struct log_field[]){__VA_ARGS__},                               \
              sizeof((const struct log_field[]){__VA_ARGS__}) / sizeof(struct log_field))

void log_open(const char *program, enum log_level least, int fd);
void log_write(enum log_level level, const char *event, const struct log_field *fields,
               size_t field_count);
bool log_is_on(enum log_level level);
const char *log_level_name(enum log_level level);
enum log_level log_level_find(const char *name); // LOG_INFO for a name that is none

// For lines that others can cause: past so many a second they are counted, and the count stands in
// the next one.
struct log_budget {
    int64_t second, lines, unlogged;
};
// False: no line now. Else *not_logged is how many there would have been since the last one.
bool log_budget_take(struct log_budget *b, int64_t now_ms, int64_t a_second, int64_t *not_logged);

#endif
