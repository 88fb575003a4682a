// SPDX-License-Identifier: Apache-2.0
#include "gateway/store/memory.h"

#include <stdlib.h>

#include "gateway/lib/base/clock.h"
#include "gateway/lib/base/memory.h"
#include "gateway/lib/base/table.h"
#include "gateway/lib/loop/timer.h"
#include "gateway/lib/telemetry/log.h"
#include "gateway/store/journal.h"
#include "gateway/store/ops.h"
#include "gateway/store/quota.h"
#include "gateway/store/sorted.h"

enum { SWEEP_MS = 60 * 1000, LINE_BYTES = 1024 };

struct warm_pool {
    struct sorted *ids; // by the order in which they came
    int64_t next;
};

struct held_lease {
    char holder[STORE_NAME_SIZE];
    int64_t token, until_ms;
};

struct store_memory {
    struct store store;
    struct journal *journal; // NULL: nothing on disk
    int64_t wall_at_open_ms, monotonic_at_open_ms;
    int64_t last_token;
    struct table *sandboxes; // owned rows
    struct table *bindings;  // owned rows
    struct table *pools;     // owned rows
    struct table *leases;    // owned rows, also of those that were released: their tokens count
    struct quota *quota;
    struct sorted *deadlines[DEADLINE_KINDS];
    struct timer sweep; // forgets bindings whose time is over
};

static struct store_memory *memory_of(struct store *s)
{
    return CONTAINER_OF(s, struct store_memory, store);
}

static int64_t now_ms(struct store *s)
{
    struct store_memory *m = memory_of(s);
    const struct clock *clock = loop_clock(s->loop);
    return m->wall_at_open_ms + clock_monotonic_ms(clock) - m->monotonic_at_open_ms;
}

static bool was_empty(struct store *s)
{
    struct store_memory *m = memory_of(s);
    return m->journal == NULL || journal_was_empty(m->journal);
}

// Disk ----------------------------------------------------------------------------------------

static void put_copy(struct table *t, const char *key, const void *row, size_t size)
{
    void *mine = table_get(t, span_from_string(key));
    if (mine == NULL) {
        mine = memory_new(size);
        table_put(t, span_from_string(key), mine);
    }
    memcpy(mine, row, size);
}

static void replay_line(void *owner, struct span line)
{
    struct store_memory *m = owner;
    struct sandbox_record sandbox;
    struct binding_record binding;
    struct failure why = {0};
    struct span rest = line;
    struct span kind = span_split(&rest, ' ');
    if (span_is(kind, "S") && sandbox_record_parse(rest, &sandbox, &why) == 0)
        put_copy(m->sandboxes, sandbox.id, &sandbox, sizeof sandbox);
    else if (span_is(kind, "B") && binding_record_parse(rest, &binding, &why) == 0)
        put_copy(m->bindings, binding.key, &binding, sizeof binding);
    else if (span_is(kind, "D"))
        free(table_remove(m->sandboxes, rest));
    else
        LOG(LOG_WARN, "store.journal",
            LOG_STRING("error", "a line is not understood, passed over"));
}

static int write_sandbox(const struct sandbox_record *r, struct buffer *out)
{
    int rc = buffer_append_string(out, "S ");
    return rc != 0 ? rc : sandbox_record_write(r, out);
}

static int write_binding(const struct binding_record *r, struct buffer *out)
{
    int rc = buffer_append_string(out, "B ");
    return rc != 0 ? rc : binding_record_write(r, out);
}

static int write_all(void *owner, struct buffer *out)
{
    struct store_memory *m = owner;
    void *row;
    int rc = 0;
    for (size_t at = 0; rc == 0 && table_next(m->sandboxes, &at, NULL, &row);) {
        rc = write_sandbox(row, out);
        rc = rc != 0 ? rc : buffer_append_char(out, '\n');
    }
    for (size_t at = 0; rc == 0 && table_next(m->bindings, &at, NULL, &row);) {
        rc = write_binding(row, out);
        rc = rc != 0 ? rc : buffer_append_char(out, '\n');
    }
    return rc;
}

static const struct journal_ops journal_ops = {.line = replay_line, .write_all = write_all};

// Appends what was written to `line`; answers the call where that fails.
static bool keep(struct store_memory *m, struct store_call *call, int written, struct buffer *line)
{
    struct failure why = {0};
    int rc = written;
    if (rc == 0 && m->journal != NULL)
        rc = journal_append(m->journal, buffer_span(line), &why);
    buffer_fini(line);
    if (rc == 0)
        return true;
    failure_prefix(&why, "the store cannot keep it");
    why.fault = FAULT_UNAVAILABLE;
    call_fail(call, &why);
    return false;
}

static void compact(struct store_memory *m)
{
    struct failure why;
    if (m->journal == NULL)
        return;
    size_t live = table_count(m->sandboxes) + table_count(m->bindings);
    if (journal_compact(m->journal, live, &why) != 0)
        LOG(LOG_WARN, "store.compact", LOG_FAILURE(&why));
}

static void sweep(struct timer *timer)
{
    struct store_memory *m = CONTAINER_OF(timer, struct store_memory, sweep);
    int64_t now = now_ms(&m->store);
    struct span key;
    void *row;
    for (size_t at = 0; table_next(m->bindings, &at, &key, &row);)
        if (((struct binding_record *)row)->until_ms <= now)
            free(table_remove(m->bindings, key));
    compact(m);
    timer_start(timer, SWEEP_MS);
}

// Sandboxes and bindings ----------------------------------------------------------------------

static void sandbox_put(struct store *s, struct store_call *call, const struct sandbox_record *r)
{
    struct store_memory *m = memory_of(s);
    struct buffer line;
    buffer_init(&line, LINE_BYTES);
    if (!keep(m, call, write_sandbox(r, &line), &line))
        return;
    put_copy(m->sandboxes, r->id, r, sizeof *r);
    call_answer(call);
}

static void leave_pools(struct store_memory *m, const char *id)
{
    void *row;
    for (size_t at = 0; table_next(m->pools, &at, NULL, &row);)
        sorted_remove(((struct warm_pool *)row)->ids, id);
    for (int kind = 0; kind < DEADLINE_KINDS; kind++)
        sorted_remove(m->deadlines[kind], id);
    quota_remove(m->quota, id);
}

static void sandbox_delete(struct store *s, struct store_call *call, const char *id)
{
    struct store_memory *m = memory_of(s);
    struct buffer line;
    buffer_init(&line, LINE_BYTES);
    leave_pools(m, id);
    struct sandbox_record *row = table_remove(m->sandboxes, span_from_string(id));
    free(row);
    if (row != NULL && !keep(m, call, buffer_printf(&line, "D %s", id), &line))
        return;
    compact(m);
    call_answer(call);
}

static void sandbox_list(struct store *s, struct store_call *call)
{
    struct store_memory *m = memory_of(s);
    size_t count = table_count(m->sandboxes), filled = 0;
    struct sandbox_record *rows = memory_new_array(count + 1, sizeof *rows);
    void *row;
    for (size_t at = 0; table_next(m->sandboxes, &at, NULL, &row);)
        rows[filled++] = *(const struct sandbox_record *)row;
    call_keep(call, rows);
    struct store_answer *answer = call_answer_begin(call);
    answer->sandboxes = rows;
    answer->count = filled;
    call_answer(call);
}

static void binding_put(struct store *s, struct store_call *call, const struct binding_record *r)
{
    struct store_memory *m = memory_of(s);
    struct buffer line;
    buffer_init(&line, LINE_BYTES);
    if (!keep(m, call, write_binding(r, &line), &line))
        return;
    put_copy(m->bindings, r->key, r, sizeof *r);
    compact(m);
    call_answer(call);
}

static void binding_claim(struct store *s, struct store_call *call, const struct binding_record *r)
{
    const struct binding_record *row = table_get(memory_of(s)->bindings, span_from_string(r->key));
    struct failure why;
    bool stands = row != NULL && row->until_ms > now_ms(s) &&
                  (row->state == BINDING_ENDED ||
                   (row->state == BINDING_BOUND && strcmp(row->sandbox, r->sandbox) != 0));
    if (!stands) {
        binding_put(s, call, r);
        return;
    }
    call_answer_begin(call)->binding = *row;
    failure_set(&why, FAULT_CONFLICT, "it is bound already, or has ended");
    call_fail(call, &why);
}

static void fail_not_found(struct store_call *call)
{
    struct failure why;
    failure_set(&why, FAULT_NOT_FOUND, "the store has none");
    call_fail(call, &why);
}

static void binding_get(struct store *s, struct store_call *call, const char *key)
{
    struct store_memory *m = memory_of(s);
    const struct binding_record *row = table_get(m->bindings, span_from_string(key));
    if (row == NULL || row->until_ms <= now_ms(s)) {
        fail_not_found(call);
        return;
    }
    call_answer_begin(call)->binding = *row;
    call_answer(call);
}

// Pools and quotas ----------------------------------------------------------------------------

static struct warm_pool *pool_named(struct store_memory *m, const char *name)
{
    struct warm_pool *p = table_get(m->pools, span_from_string(name));
    if (p == NULL) {
        p = memory_new(sizeof *p);
        p->ids = sorted_new();
        table_put(m->pools, span_from_string(name), p);
    }
    return p;
}

static void warm_put(struct store *s, struct store_call *call, const char *pool, const char *id)
{
    struct store_memory *m = memory_of(s);
    struct warm_pool *p = pool_named(m, pool);
    if (!sorted_has(p->ids, id) && !quota_holds(m->quota, id))
        sorted_set(p->ids, id, p->next++);
    call_answer(call);
}

static void warm_remove(struct store *s, struct store_call *call, const char *pool, const char *id)
{
    sorted_remove(pool_named(memory_of(s), pool)->ids, id);
    call_answer(call);
}

static void claim(struct store *s, struct store_call *call, const char *pool,
                  const struct quota_bucket *buckets, size_t bucket_count)
{
    struct store_memory *m = memory_of(s);
    struct warm_pool *p = pool_named(m, pool);
    struct store_answer *answer = call_answer_begin(call);
    int64_t order;
    const char *id = sorted_first(p->ids, &order);
    if (id == NULL) {
        fail_not_found(call);
        return;
    }
    const struct quota_bucket *full = quota_full(m->quota, buckets, bucket_count);
    span_copy_string(span_from_string(full != NULL ? full->name : id), answer->name,
                     sizeof answer->name);
    if (full != NULL) {
        struct failure why;
        failure_set(&why, FAULT_QUOTA, "the limit of %lld is reached", (long long)full->limit);
        call_fail(call, &why);
        return;
    }
    quota_add(m->quota, buckets, bucket_count, id);
    sorted_remove(p->ids, answer->name);
    call_answer(call);
}

static void add_to_quota(struct store *s, struct store_call *call,
                         const struct quota_bucket *buckets, size_t bucket_count, const char *id)
{
    quota_add(memory_of(s)->quota, buckets, bucket_count, id);
    call_answer(call);
}

// Deadlines and leases ------------------------------------------------------------------------

static void deadline_set(struct store *s, struct store_call *call, enum deadline_kind kind,
                         const char *name, int64_t at_ms)
{
    struct sorted *set = memory_of(s)->deadlines[kind];
    if (at_ms != 0)
        sorted_set(set, name, at_ms);
    else
        sorted_remove(set, name);
    call_answer(call);
}

static void deadline_take(struct store *s, struct store_call *call, enum deadline_kind kind,
                          int64_t hold_ms)
{
    struct sorted *set = memory_of(s)->deadlines[kind];
    char(*names)[STORE_NAME_SIZE] = memory_new_array(STORE_DUE_MAX, sizeof *names);
    int64_t now = now_ms(s), at;
    size_t count = 0;
    const char *name;
    while (count < STORE_DUE_MAX && (name = sorted_first(set, &at)) != NULL && at <= now) {
        span_copy_string(span_from_string(name), names[count], sizeof names[count]);
        sorted_set(set, names[count], now + hold_ms);
        count++;
    }
    call_keep(call, names);
    struct store_answer *answer = call_answer_begin(call);
    answer->names = (const char(*)[STORE_NAME_SIZE])names;
    answer->count = count;
    call_answer(call);
}

static void lease_take(struct store *s, struct store_call *call, const char *name,
                       const char *holder, int64_t ttl_ms)
{
    struct store_memory *m = memory_of(s);
    struct held_lease *l = table_get(m->leases, span_from_string(name));
    if (l == NULL) {
        l = memory_new(sizeof *l);
        table_put(m->leases, span_from_string(name), l);
    }
    bool mine = span_is(span_from_string(holder), l->holder);
    int64_t now = now_ms(s);
    if (l->until_ms > now && !mine) {
        struct failure why;
        failure_set(&why, FAULT_CONFLICT, "lease %s is held by another", name);
        call_fail(call, &why);
        return;
    }
    if (l->until_ms <= now) {
        m->last_token = now > m->last_token ? now : m->last_token + 1;
        l->token = m->last_token;
        span_copy_string(span_from_string(holder), l->holder, sizeof l->holder);
    }
    l->until_ms = now + ttl_ms;
    call_answer_begin(call)->number = l->token;
    call_answer(call);
}

static void lease_release(struct store *s, struct store_call *call, const char *name,
                          const char *holder)
{
    struct held_lease *l = table_get(memory_of(s)->leases, span_from_string(name));
    if (l != NULL && span_is(span_from_string(holder), l->holder))
        l->until_ms = 0;
    call_answer(call);
}

// Birth and death -----------------------------------------------------------------------------

static void free_rows(struct table *t)
{
    void *row;
    for (size_t at = 0; table_next(t, &at, NULL, &row);)
        free(row);
    table_free(t);
}

static void memory_close(struct store *s)
{
    struct store_memory *m = memory_of(s);
    void *row;
    store_fini(s);
    timer_cancel(&m->sweep);
    for (size_t at = 0; table_next(m->pools, &at, NULL, &row);)
        sorted_free(((struct warm_pool *)row)->ids);
    free_rows(m->pools);
    free_rows(m->sandboxes);
    free_rows(m->bindings);
    free_rows(m->leases);
    quota_free(m->quota);
    for (int kind = 0; kind < DEADLINE_KINDS; kind++)
        sorted_free(m->deadlines[kind]);
    journal_close(m->journal);
    free(m);
}

static const struct store_ops memory_ops = {
    .now_ms = now_ms,
    .was_empty = was_empty,
    .close = memory_close,
    .sandbox_put = sandbox_put,
    .sandbox_delete = sandbox_delete,
    .sandbox_list = sandbox_list,
    .binding_put = binding_put,
    .binding_claim = binding_claim,
    .binding_get = binding_get,
    .warm_put = warm_put,
    .warm_remove = warm_remove,
    .claim = claim,
    .quota_add = add_to_quota,
    .deadline_set = deadline_set,
    .deadline_take = deadline_take,
    .lease_take = lease_take,
    .lease_release = lease_release,
};

int store_memory_open(struct loop *loop, int directory, struct store **out, struct failure *why)
{
    struct store_memory *m = memory_new(sizeof *m);
    store_init(&m->store, &memory_ops, loop);
    m->wall_at_open_ms = clock_wall_ms(loop_clock(loop));
    m->monotonic_at_open_ms = clock_monotonic_ms(loop_clock(loop));
    m->sandboxes = table_new();
    m->bindings = table_new();
    m->pools = table_new();
    m->leases = table_new();
    m->quota = quota_new();
    for (int kind = 0; kind < DEADLINE_KINDS; kind++)
        m->deadlines[kind] = sorted_new();
    timer_init(&m->sweep, loop, sweep);
    timer_start(&m->sweep, SWEEP_MS);
    if (directory >= 0 && journal_open(directory, &journal_ops, m, &m->journal, why) != 0) {
        memory_close(&m->store);
        return failure_prefix(why, "state directory");
    }
    *out = &m->store;
    return 0;
}
