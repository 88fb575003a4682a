// SPDX-License-Identifier: Apache-2.0
// Buckets of sandbox ids. Sets rather than counters: adding or removing twice changes nothing, so
// no crash between two steps makes them drift.
#ifndef WRIST_GATEWAY_STORE_QUOTA_H
#define WRIST_GATEWAY_STORE_QUOTA_H

#include "gateway/store/record.h"

struct quota;

struct quota *quota_new(void);
void quota_free(struct quota *q);
// The first bucket that has no room for one more, or NULL.
const struct quota_bucket *quota_full(const struct quota *q, const struct quota_bucket *buckets,
                                      size_t count);
void quota_add(struct quota *q, const struct quota_bucket *buckets, size_t count, const char *id);
bool quota_holds(const struct quota *q, const char *id); // in a bucket, or was claimed into none
void quota_remove(struct quota *q, const char *id);      // out of every bucket

#endif
