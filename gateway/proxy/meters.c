// SPDX-License-Identifier: Apache-2.0
#include "gateway/proxy/meters.h"

#include <stdio.h>
#include <string.h>

#include "gateway/lib/base/memory.h"
#include "gateway/lib/telemetry/metrics.h"

enum { SERIES = 256 }; // routes × statuses that are remembered; more are looked up

struct series {
    const char *name; // route or fault; compared as text, since it is a constant somewhere
    int status;
    struct metric *metric;
};

struct meters {
    struct metrics *metrics; // borrowed
    struct metric *exchanges, *streams, *sessions_opened, *sessions_ended;
    struct series requests[SERIES], seconds[SERIES], calls[SERIES];
};

struct meters *meters_new(struct metrics *metrics)
{
    struct meters *m = memory_new(sizeof *m);
    m->metrics = metrics;
    m->exchanges =
        metric_gauge(metrics, "wrist_exchanges_live", "", "Exchanges that are open now.");
    m->streams =
        metric_gauge(metrics, "wrist_streams_live", "", "Event streams that are open now.");
    m->sessions_opened = metric_counter(metrics, "wrist_sessions_opened_total", "",
                                        "Sessions given out by initialize.");
    m->sessions_ended =
        metric_counter(metrics, "wrist_sessions_ended_total", "", "Sessions ended by DELETE.");
    return m;
}

void meters_free(struct meters *m)
{
    memory_free_at(&m);
}

// The row of (name, status): the found one, or the first free one, or NULL when all are taken.
static struct series *series_find(struct series *rows, const char *name, int status)
{
    for (size_t i = 0; i < SERIES; i++) {
        struct series *s = &rows[i];
        if (s->metric == NULL || (s->status == status && strcmp(s->name, name) == 0))
            return s;
    }
    return NULL;
}

// A kind of series: how its metric is made when a name and status are first seen.
struct family {
    struct metric *(*make)(struct metrics *, const char *name, const char *labels,
                           const char *help);
    const char *metric, *help;
    const char *label;
    bool has_status; // as a second label
};
static const struct family requests = {metric_counter, "wrist_requests_total",
                                       "Requests by route and status; 0: closed unanswered.",
                                       "route", true};
static const struct family seconds = {metric_histogram, "wrist_request_seconds",
                                      "From the first byte to the end of the exchange.", "route",
                                      false};
static const struct family calls = {metric_counter, "wrist_tool_calls_total",
                                    "Calls of tools by how they ended for the gateway.", "fault",
                                    false};

static struct metric *series_get(struct meters *m, struct series *rows, const struct family *family,
                                 const char *name, int status)
{
    char labels[128];
    struct series *s = series_find(rows, name, status);
    if (s != NULL && s->metric != NULL)
        return s->metric;
    if (family->has_status)
        snprintf(labels, sizeof labels, "%s=\"%s\",status=\"%d\"", family->label, name, status);
    else
        snprintf(labels, sizeof labels, "%s=\"%s\"", family->label, name);
    struct metric *made = family->make(m->metrics, family->metric, labels, family->help);
    if (s != NULL)
        *s = (struct series){name, status, made};
    return made;
}

void meters_exchange_opened(struct meters *m)
{
    metric_add(m->exchanges, 1);
}

void meters_exchange_closed(struct meters *m, const char *route, int status, int64_t us)
{
    metric_add(m->exchanges, -1);
    route = route != NULL ? route : "none";
    metric_add(series_get(m, m->requests, &requests, route, status), 1);
    metric_observe_us(series_get(m, m->seconds, &seconds, route, 0), us);
}

void meters_stream(struct meters *m, int change)
{
    metric_add(m->streams, change);
}

void meters_session_opened(struct meters *m)
{
    metric_add(m->sessions_opened, 1);
}

void meters_session_ended(struct meters *m)
{
    metric_add(m->sessions_ended, 1);
}

void meters_call(struct meters *m, const char *fault)
{
    metric_add(series_get(m, m->calls, &calls, fault != NULL ? fault : "NONE", 0), 1);
}
