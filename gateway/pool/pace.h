// SPDX-License-Identifier: Apache-2.0
//
// So many a minute, with a burst: a token bucket kept as one time stamp.
#ifndef WRIST_GATEWAY_POOL_PACE_H
#define WRIST_GATEWAY_POOL_PACE_H

#include <stdint.h>

struct pace {
    int64_t full_us; // monotonic: when the bucket is full again
};

// 0 where one was taken; else nothing was, and there is one after so many microseconds.
// `per_minute` and `burst` are at least 1.
int64_t pace_take(struct pace *p, int64_t now_us, int64_t per_minute, int64_t burst);

#endif
