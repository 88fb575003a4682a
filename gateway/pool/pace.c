// SPDX-License-Identifier: Apache-2.0
#include "gateway/pool/pace.h"

enum { MINUTE_US = 60 * 1000 * 1000 };

int64_t pace_take(struct pace *p, int64_t now_us, int64_t per_minute, int64_t burst)
{
    int64_t one_us = MINUTE_US / per_minute;
    int64_t full_us = p->full_us > now_us ? p->full_us : now_us;
    int64_t wait_us = full_us + one_us - burst * one_us - now_us;
    if (wait_us > 0)
        return wait_us;
    p->full_us = full_us + one_us;
    return 0;
}
