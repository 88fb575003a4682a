// SPDX-License-Identifier: Apache-2.0
// A bucket of patience. Frames that cost the peer little and us something are charged, useful work
// (a request's data, an answer's data) fills it again, and so does time.
#include "gateway/lib/http/h2.h"

enum { MOST_TOKENS = 1000, TOKENS_PER_SECOND = 100 };

void h2_flood_init(struct h2_flood *flood, int64_t now_us)
{
    *flood = (struct h2_flood){.tokens = MOST_TOKENS, .refilled_us = now_us};
}

void h2_flood_credit(struct h2_flood *flood, int64_t amount)
{
    flood->tokens += amount;
    if (flood->tokens > MOST_TOKENS)
        flood->tokens = MOST_TOKENS;
}

void h2_flood_charge(struct h2_flood *flood, int64_t now_us, enum http_hostility kind, int64_t cost)
{
    int64_t refill = (now_us - flood->refilled_us) * TOKENS_PER_SECOND / 1000000;
    if (refill > 0) {
        flood->refilled_us = now_us;
        h2_flood_credit(flood, refill);
    }
    if (flood->tokens < 0)
        return; // the kind that used it up stays noted
    flood->kind = kind;
    flood->tokens -= cost;
}
