// SPDX-License-Identifier: Apache-2.0
// How the pools are, for operators.
#include "gateway/lib/base/memory.h"
#include "gateway/pool/state.h"

static void write_trouble(const struct pool *p, struct json_writer *w)
{
    const struct failure *trouble = p->b->trouble.fault != 0 ? &p->b->trouble : &p->trouble;
    int64_t wait_ms = p->retry_at_ms - loop_now_ms(p->b->loop);
    if (trouble->fault == 0)
        return;
    json_write_member_string(w, "trouble", trouble->text);
    json_write_member_i64(w, "failures", p->failures);
    json_write_member_i64(w, "retry_ms", wait_ms > 0 ? wait_ms : 0);
}

static void write_pool(const struct pool *p, struct json_writer *w)
{
    json_object_open(w);
    json_write_member_string(w, "profile", p->profile->name);
    for (int state = 0; state < SANDBOX_GONE; state++)
        json_write_member_i64(w, sandbox_state_name(state),
                              (int64_t)fleet_count(p->b->fleet, p->profile, state));
    json_write_member_i64(w, "stuck", (int64_t)p->stuck);
    json_write_member_i64(w, "waiting", pool_waiting(p));
    json_write_member_i64(w, "target", p->profile->warm);
    json_write_member_i64(w, "maximum", p->profile->maximum);
    write_trouble(p, w);
    json_object_close(w);
}

void binder_report(const struct binder *b, struct json_writer *w)
{
    json_object_open(w);
    json_write_member_bool(w, "adopted", b->adopted);
    json_write_member_i64(
        w, "grace_ms",
        b->grace_until_ms > loop_now_ms(b->loop) ? b->grace_until_ms - loop_now_ms(b->loop) : 0);
    json_write_key(w, "pools");
    json_array_open(w);
    for (size_t i = 0; i < b->pool_count; i++)
        write_pool(&b->pools[i], w);
    json_array_close(w);
    json_object_close(w);
}
