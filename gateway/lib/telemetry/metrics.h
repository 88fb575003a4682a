// SPDX-License-Identifier: Apache-2.0
//
// Counters, gauges and histograms with labels from closed sets, in the Prometheus text format.
// Series are made once (at start, or at first use of a label set) and kept as pointers, so that
// counting is one addition.
#ifndef WRIST_GATEWAY_LIB_TELEMETRY_METRICS_H
#define WRIST_GATEWAY_LIB_TELEMETRY_METRICS_H

#include "gateway/lib/base/buffer.h"

struct metrics; // the registry of a process
struct metric;  // one series

struct metrics *metrics_new(void);
void metrics_free(struct metrics *m);

// `labels` is ready-made text, `route="mcp",status="200"`, or "" for none. The same name and labels
// give the same series. A name has one kind and one help text.
struct metric *metric_counter(struct metrics *m, const char *name, const char *labels,
                              const char *help);
struct metric *metric_gauge(struct metrics *m, const char *name, const char *labels,
                            const char *help);
// Seconds, observed in microseconds; buckets from 100 µs to 100 s.
struct metric *metric_histogram(struct metrics *m, const char *name, const char *labels,
                                const char *help);

void metric_add(struct metric *series, int64_t by);
void metric_set(struct metric *series, int64_t value);
int64_t metric_value(const struct metric *series);
void metric_observe_us(struct metric *series, int64_t us);

int metrics_write(const struct metrics *m, struct buffer *out);

#endif
