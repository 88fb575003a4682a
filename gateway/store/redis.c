// SPDX-License-Identifier: Apache-2.0
// Each operation is one script (redis_scripts.c) and a function that reads its answer.
#include "gateway/store/redis.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "gateway/lib/base/clock.h"
#include "gateway/lib/base/memory.h"
#include "gateway/lib/loop/timer.h"
#include "gateway/lib/telemetry/log.h"
#include "gateway/store/ops.h"
#include "gateway/store/redis_scripts.h"

enum {
    WORDS_MOST = 24, // of one script's arguments
    LINE_BYTES = 1024,
    LOOK_MS = 1000,
    UNSURE_MOST = 4096,             // claims to take back; past it the check of all there is does
    PAGE = 500,                     // sandboxes in one answer
    LISTED_MOST = 1000 * 1000,      // sandboxes in all
    BACKSTOP_MS = 24 * 3600 * 1000, // after what should have been the end
};
// No sandbox lives longer than thirty days.
static const int64_t sandbox_backstop_ms = (int64_t)45 * 24 * 3600 * 1000;

struct store_redis {
    struct store store;
    struct redis *redis;
    struct redis_script scripts[SCRIPT_COUNT];
    char prefix[64]; // of every key
    bool own_clock;
    int64_t wall_ms, monotonic_ms; // the time at one moment: the server's, until then ours
    bool met;                      // the server said hello, once
    char epoch[ID_SIZE];           // of what stands in the server
    bool was_empty;
    bool returning;         // connected anew
    struct timer look;      // whether it was emptied behind a connection that lives
    struct failure refused; // fault 0, or why this server is not used
    struct list listings;
    struct list claims; // asked, or unsure of
    size_t unsure;
};

struct claiming {
    struct list node;
    struct store_redis *r;
    struct store_call *call; // NULL once it failed: what became of it is not known
    char pool[PROFILE_NAME_SIZE];
    char name[ID_SIZE];
    bool is_asked; // to be taken back
};

struct listing { // pages of sandboxes
    struct list node;
    struct store_redis *r;
    struct store_call *call;
    struct sandbox_record *rows; // owned
    size_t count, capacity;
};

static struct store_redis *redis_of(struct store *s)
{
    return CONTAINER_OF(s, struct store_redis, store);
}

static int64_t now_ms(struct store *s)
{
    struct store_redis *r = redis_of(s);
    return r->wall_ms + clock_monotonic_ms(loop_clock(s->loop)) - r->monotonic_ms;
}

static bool was_empty(struct store *s)
{
    struct store_redis *r = redis_of(s);
    return !r->met || r->was_empty;
}

static bool is_up(struct store *s)
{
    struct store_redis *r = redis_of(s);
    return r->refused.fault == 0 && redis_is_up(r->redis);
}

// Asking --------------------------------------------------------------------------------------

struct words {
    const char *at[WORDS_MOST];
    int count;
    char numbers[WORDS_MOST][24];
};

static void add_word(struct words *w, const char *word)
{
    if (w->count < WORDS_MOST)
        w->at[w->count++] = word;
}

static void add_number(struct words *w, int64_t number)
{
    char *text = w->numbers[w->count < WORDS_MOST ? w->count : 0];
    snprintf(text, sizeof w->numbers[0], "%" PRId64, number);
    add_word(w, text);
}

// The prefix and the time stand first.
static void words_begin(struct store_redis *r, struct words *w)
{
    w->count = 0;
    add_word(w, r->prefix);
    if (r->own_clock)
        add_number(w, now_ms(&r->store));
    else
        add_word(w, "");
}

// False where this server is not used; the call then failed.
static bool is_used(const struct store_redis *r, struct store_call *call)
{
    struct failure why = r->refused;
    if (why.fault == 0)
        return true;
    why.fault = FAULT_UNAVAILABLE;
    call_fail(call, &why);
    return false;
}

static void run(struct store_redis *r, enum store_script script, const struct words *w,
                redis_done *done, struct store_call *call)
{
    if (is_used(r, call))
        redis_run(r->redis, &r->scripts[script], 1, w->count, w->at, done, call);
}

// False where there is no answer; the call then failed.
static bool is_answer(struct store_call *call, const struct redis_reply *reply,
                      const struct failure *why)
{
    struct failure mine;
    if (why == NULL && reply->kind != REPLY_ERROR)
        return true;
    if (why == NULL)
        failure_set(&mine, FAULT_UNAVAILABLE, "Redis: %.*s", SPAN_ARGS(reply->text));
    call_fail(call, why != NULL ? why : &mine);
    return false;
}

static void kept(void *owner, const struct redis_reply *reply, const struct failure *why)
{
    if (is_answer(owner, reply, why))
        call_answer(owner);
}

static void fail_not_found(struct store_call *call)
{
    struct failure why;
    failure_set(&why, FAULT_NOT_FOUND, "the store has none");
    call_fail(call, &why);
}

static void fail_parse(struct store_call *call, const struct failure *parse)
{
    struct failure why = *parse;
    failure_prefix(&why, "Redis");
    why.fault = FAULT_UNAVAILABLE;
    call_fail(call, &why);
}

// Meeting the server --------------------------------------------------------------------------

static void take_back(struct store_redis *r);

static void greeted(void *owner, const struct redis_reply *reply, const struct failure *why)
{
    struct store_redis *r = owner;
    uint64_t server_ms;
    char epoch[ID_SIZE];
    if (why != NULL || !span_copy_string(reply_text_at(reply, 0), epoch, sizeof epoch)) {
        LOG(LOG_WARN, "store.greeting", LOG_STRING("error", why != NULL ? why->text : "no epoch"));
        return;
    }
    bool is_new = reply_integer_at(reply, 1) == 1;
    bool again = r->met, changed = again && strcmp(epoch, r->epoch) != 0;
    if (!r->met && !r->own_clock && span_to_u64(reply_text_at(reply, 2), &server_ms)) {
        r->wall_ms = (int64_t)server_ms;
        r->monotonic_ms = clock_monotonic_ms(loop_clock(r->store.loop));
    }
    if (!r->met)
        r->was_empty = is_new;
    memcpy(r->epoch, epoch, sizeof r->epoch);
    r->met = true;
    bool returned = again && (changed || r->returning);
    if (!again || returned)
        LOG(changed ? LOG_WARN : LOG_INFO, "store.connected", LOG_BOOL("empty", is_new),
            LOG_BOOL("another", changed));
    r->returning = false;
    take_back(r);
    if (returned && r->store.returned != NULL)
        r->store.returned(r->store.returned_owner);
}

static void told_memory(void *owner, const struct redis_reply *reply, const struct failure *why)
{
    static const struct span name = SPAN_LITERAL("maxmemory_policy:");
    struct store_redis *r = owner;
    struct span rest = reply != NULL ? reply->text : SPAN_NONE;
    if (why != NULL || reply->kind != REPLY_TEXT)
        return;
    while (!span_is_absent(rest)) {
        struct span line = span_split(&rest, '\n');
        if (!span_starts_with(line, name))
            continue;
        struct span policy = span_slice(line, name.size, line.size);
        if (policy.size > 0 && policy.data[policy.size - 1] == '\r')
            policy.size--;
        if (span_is(policy, "noeviction"))
            return;
        failure_set(&r->refused, FAULT_INVALID,
                    "Redis has maxmemory-policy %.*s, which would drop sandboxes and leases when "
                    "memory is short; set it to noeviction",
                    SPAN_ARGS(policy));
        LOG(LOG_ERROR, "store.refused", LOG_FAILURE(&r->refused));
    }
}

static void greet(struct store_redis *r)
{
    struct words w;
    char epoch[ID_SIZE];
    id_new(epoch);
    words_begin(r, &w);
    add_word(&w, epoch);
    redis_run(r->redis, &r->scripts[SCRIPT_HELLO], 1, w.count, w.at, greeted, r);
}

static void look_again(struct timer *timer)
{
    struct store_redis *r = CONTAINER_OF(timer, struct store_redis, look);
    if (redis_is_up(r->redis))
        greet(r);
    timer_start(timer, LOOK_MS);
}

static void up(void *owner)
{
    struct store_redis *r = owner;
    static const char *const info[] = {"INFO", "memory"};
    r->refused.fault = 0;
    r->returning = true;
    redis_ask(r->redis, 2, info, NULL, told_memory, r);
    greet(r);
    timer_start(&r->look, LOOK_MS);
}

static void down(void *owner, const struct failure *why)
{
    (void)owner;
    LOG(LOG_WARN, "store.away", LOG_FAILURE(why));
}

// Sandboxes and bindings ----------------------------------------------------------------------

static void sandbox_put(struct store *s, struct store_call *call, const struct sandbox_record *rec)
{
    struct store_redis *r = redis_of(s);
    struct buffer line;
    struct words w;
    buffer_init(&line, LINE_BYTES);
    if (sandbox_record_write(rec, &line) != 0 || buffer_append_char(&line, '\0') != 0)
        abort(); // its fields are bounded
    words_begin(r, &w);
    add_word(&w, rec->id);
    add_word(&w, buffer_span(&line).data);
    add_number(&w, sandbox_backstop_ms);
    run(r, SCRIPT_SANDBOX_PUT, &w, kept, call);
    buffer_fini(&line);
}

static void sandbox_delete(struct store *s, struct store_call *call, const char *id)
{
    struct store_redis *r = redis_of(s);
    struct words w;
    words_begin(r, &w);
    add_word(&w, id);
    run(r, SCRIPT_SANDBOX_DELETE, &w, kept, call);
}

static void listing_free(struct listing *l)
{
    list_remove(&l->node);
    free(l->rows);
    free(l);
}

static void take_page(struct listing *l, const struct redis_reply *reply)
{
    struct failure why;
    for (size_t i = 1; i < reply->count && l->count < LISTED_MOST; i++) {
        if (l->count == l->capacity) {
            l->capacity = l->capacity == 0 ? 64 : l->capacity * 2;
            l->rows = memory_resize(l->rows, l->capacity, sizeof *l->rows);
        }
        if (sandbox_record_parse(reply_text_at(reply, i), &l->rows[l->count], &why) == 0)
            l->count++;
        else
            LOG(LOG_WARN, "store.record", LOG_FAILURE(&why));
    }
}

static void ask_page(struct listing *l, const char *after);

static void page_told(void *owner, const struct redis_reply *reply, const struct failure *why)
{
    struct listing *l = owner;
    char last[ID_SIZE] = "";
    if (!is_answer(l->call, reply, why)) {
        listing_free(l);
        return;
    }
    take_page(l, reply);
    span_copy_string(reply_text_at(reply, 0), last, sizeof last);
    if (last[0] != '\0' && l->count < LISTED_MOST) {
        ask_page(l, last);
        return;
    }
    call_keep(l->call, l->rows);
    call_answer_begin(l->call)->sandboxes = l->rows;
    call_answer_begin(l->call)->count = l->count;
    call_answer(l->call);
    l->rows = NULL; // the call's
    listing_free(l);
}

static void ask_page(struct listing *l, const char *after)
{
    struct words w;
    words_begin(l->r, &w);
    add_word(&w, after);
    add_number(&w, PAGE);
    redis_run(l->r->redis, &l->r->scripts[SCRIPT_SANDBOX_LIST], 1, w.count, w.at, page_told, l);
}

static void sandbox_list(struct store *s, struct store_call *call)
{
    struct listing *l = memory_new(sizeof *l);
    l->r = redis_of(s);
    l->call = call;
    list_append(&l->r->listings, &l->node);
    ask_page(l, "");
}

static void put_binding(struct store *s, enum store_script script, redis_done *done,
                        struct store_call *call, const struct binding_record *rec)
{
    struct store_redis *r = redis_of(s);
    int64_t left = rec->until_ms - now_ms(s);
    struct buffer line;
    struct words w;
    buffer_init(&line, LINE_BYTES);
    if (binding_record_write(rec, &line) != 0 || buffer_append_char(&line, '\0') != 0)
        abort(); // its fields are bounded
    words_begin(r, &w);
    add_word(&w, rec->key);
    add_word(&w, buffer_span(&line).data);
    add_number(&w, left > 0 ? left + BACKSTOP_MS : 0);
    add_word(&w, rec->sandbox);
    run(r, script, &w, done, call);
    buffer_fini(&line);
}

static void binding_put(struct store *s, struct store_call *call, const struct binding_record *rec)
{
    put_binding(s, SCRIPT_BINDING_PUT, kept, call, rec);
}

static void claim_recorded(void *owner, const struct redis_reply *reply, const struct failure *why)
{
    struct store_call *call = owner;
    struct failure mine;
    if (!is_answer(call, reply, why))
        return;
    if (reply->kind == REPLY_INTEGER) {
        call_answer(call);
    } else if (binding_record_parse(reply->text, &call_answer_begin(call)->binding, &mine) != 0) {
        fail_parse(call, &mine);
    } else {
        failure_set(&mine, FAULT_CONFLICT, "it is bound already, or has ended");
        call_fail(call, &mine);
    }
}

static void binding_claim(struct store *s, struct store_call *call,
                          const struct binding_record *rec)
{
    put_binding(s, SCRIPT_BINDING_CLAIM, claim_recorded, call, rec);
}

static void binding_told(void *owner, const struct redis_reply *reply, const struct failure *why)
{
    struct store_call *call = owner;
    struct failure parse;
    if (!is_answer(call, reply, why))
        return;
    if (reply->kind == REPLY_NIL)
        fail_not_found(call);
    else if (binding_record_parse(reply->text, &call_answer_begin(call)->binding, &parse) != 0)
        fail_parse(call, &parse);
    else
        call_answer(call);
}

static void binding_get(struct store *s, struct store_call *call, const char *key)
{
    struct store_redis *r = redis_of(s);
    struct words w;
    words_begin(r, &w);
    add_word(&w, key);
    run(r, SCRIPT_BINDING_GET, &w, binding_told, call);
}

// Pools and quotas ----------------------------------------------------------------------------

static void run_on_pool(struct store *s, enum store_script script, struct store_call *call,
                        const char *pool, const char *id)
{
    struct store_redis *r = redis_of(s);
    struct words w;
    words_begin(r, &w);
    add_word(&w, pool);
    add_word(&w, id);
    run(r, script, &w, kept, call);
}

static void warm_put(struct store *s, struct store_call *call, const char *pool, const char *id)
{
    run_on_pool(s, SCRIPT_WARM_PUT, call, pool, id);
}

static void warm_remove(struct store *s, struct store_call *call, const char *pool, const char *id)
{
    run_on_pool(s, SCRIPT_WARM_REMOVE, call, pool, id);
}

static void claiming_free(struct claiming *c)
{
    c->r->unsure -= c->call == NULL;
    list_remove(&c->node);
    free(c);
}

static void taken_back(void *owner, const struct redis_reply *reply, const struct failure *why)
{
    struct claiming *c = owner;
    c->is_asked = false;
    if (why == NULL && reply->kind != REPLY_ERROR)
        claiming_free(c); // else when the server is met the next time
}

// Claims whose answers were lost: they may have been carried out, or may yet be.
static void take_back(struct store_redis *r)
{
    LIST_EACH(node, &r->claims)
    {
        struct claiming *c = LIST_ENTRY(node, struct claiming, node);
        struct words w;
        if (c->call != NULL || c->is_asked)
            continue;
        c->is_asked = true;
        words_begin(r, &w);
        add_word(&w, c->pool);
        add_word(&w, c->name);
        redis_run(r->redis, &r->scripts[SCRIPT_UNCLAIM], 1, w.count, w.at, taken_back, c);
    }
}

static void claim_told(void *owner, const struct redis_reply *reply, const struct failure *why)
{
    struct claiming *c = owner;
    struct store_call *call = c->call;
    struct failure full;
    if (why != NULL && c->r->unsure < UNSURE_MOST) {
        c->call = NULL;
        c->r->unsure++;
    } else {
        claiming_free(c);
    }
    if (!is_answer(call, reply, why))
        return;
    int64_t verdict = reply_integer_at(reply, 0);
    struct store_answer *answer = call_answer_begin(call);
    if (!span_copy_string(reply_text_at(reply, 1), answer->name, sizeof answer->name) ||
        verdict == 0) {
        fail_not_found(call);
    } else if (verdict == 3) {
        uint64_t wait_ms = 1;
        (void)span_to_u64(reply_text_at(reply, 2), &wait_ms);
        answer->number = (int64_t)wait_ms;
        failure_set(&full, FAULT_QUOTA, "%s has begun enough for now", answer->name);
        call_fail(call, &full);
    } else if (verdict == 2) {
        failure_set(&full, FAULT_QUOTA, "the limit of %.*s is reached",
                    SPAN_ARGS(reply_text_at(reply, 2)));
        call_fail(call, &full);
    } else {
        call_answer(call);
    }
}

static void claim(struct store *s, struct store_call *call, const char *pool,
                  const struct quota_bucket *buckets, size_t bucket_count)
{
    struct store_redis *r = redis_of(s);
    struct words w;
    if (!is_used(r, call))
        return;
    struct claiming *c = memory_new(sizeof *c);
    *c = (struct claiming){.r = r, .call = call};
    span_copy_string(span_from_string(pool), c->pool, sizeof c->pool);
    id_new(c->name);
    list_append(&r->claims, &c->node);
    words_begin(r, &w);
    add_word(&w, pool);
    add_word(&w, c->name);
    for (size_t i = 0; i < bucket_count; i++) {
        add_word(&w, buckets[i].name);
        add_number(&w, buckets[i].limit);
        add_number(&w, buckets[i].per_minute);
    }
    redis_run(r->redis, &r->scripts[SCRIPT_CLAIM], 1, w.count, w.at, claim_told, c);
}

static void add_to_quota(struct store *s, struct store_call *call,
                         const struct quota_bucket *buckets, size_t bucket_count, const char *id)
{
    struct store_redis *r = redis_of(s);
    struct words w;
    words_begin(r, &w);
    add_word(&w, id);
    for (size_t i = 0; i < bucket_count; i++)
        add_word(&w, buckets[i].name);
    run(r, SCRIPT_QUOTA_ADD, &w, kept, call);
}

// Deadlines and leases ------------------------------------------------------------------------

static const char *const kinds[DEADLINE_KINDS] = {
    [DEADLINE_IDLE] = "idle", [DEADLINE_ABSOLUTE] = "absolute"};

static void deadline_set(struct store *s, struct store_call *call, enum deadline_kind kind,
                         const char *name, int64_t at_ms)
{
    struct store_redis *r = redis_of(s);
    struct words w;
    words_begin(r, &w);
    add_word(&w, kinds[kind]);
    add_word(&w, name);
    add_number(&w, at_ms);
    run(r, SCRIPT_DEADLINE_SET, &w, kept, call);
}

static void names_told(void *owner, const struct redis_reply *reply, const struct failure *why)
{
    struct store_call *call = owner;
    if (!is_answer(call, reply, why))
        return;
    char(*names)[STORE_NAME_SIZE] = memory_new_array(STORE_DUE_MAX, sizeof *names);
    struct store_answer *answer = call_answer_begin(call);
    for (size_t i = 0; i < reply->count && answer->count < STORE_DUE_MAX; i++)
        if (span_copy_string(reply_text_at(reply, i), names[answer->count], STORE_NAME_SIZE))
            answer->count++;
    answer->names = names;
    call_keep(call, names);
    call_answer(call);
}

static void deadline_take(struct store *s, struct store_call *call, enum deadline_kind kind,
                          int64_t hold_ms)
{
    struct store_redis *r = redis_of(s);
    struct words w;
    words_begin(r, &w);
    add_word(&w, kinds[kind]);
    add_number(&w, hold_ms);
    add_number(&w, STORE_DUE_MAX);
    run(r, SCRIPT_DEADLINE_TAKE, &w, names_told, call);
}

static void lease_told(void *owner, const struct redis_reply *reply, const struct failure *why)
{
    struct store_call *call = owner;
    struct failure taken;
    uint64_t token;
    if (!is_answer(call, reply, why))
        return;
    if (reply->kind != REPLY_TEXT || !span_to_u64(reply->text, &token)) {
        failure_set(&taken, FAULT_CONFLICT, "another holds the lease");
        call_fail(call, &taken);
        return;
    }
    call_answer_begin(call)->number = (int64_t)token;
    call_answer(call);
}

static void lease_take(struct store *s, struct store_call *call, const char *name,
                       const char *holder, int64_t ttl_ms)
{
    struct store_redis *r = redis_of(s);
    struct words w;
    words_begin(r, &w);
    add_word(&w, name);
    add_word(&w, holder);
    add_number(&w, ttl_ms);
    run(r, SCRIPT_LEASE_TAKE, &w, lease_told, call);
}

static void lease_release(struct store *s, struct store_call *call, const char *name,
                          const char *holder)
{
    run_on_pool(s, SCRIPT_LEASE_RELEASE, call, name, holder);
}

// Life ----------------------------------------------------------------------------------------

static void close_store(struct store *s)
{
    struct store_redis *r = redis_of(s);
    timer_cancel(&r->look);
    redis_close(r->redis);
    while (!list_is_empty(&r->listings))
        listing_free(LIST_ENTRY(r->listings.next, struct listing, node));
    while (!list_is_empty(&r->claims))
        claiming_free(LIST_ENTRY(r->claims.next, struct claiming, node));
    store_fini(s);
    free(r);
}

static const struct store_ops ops = {
    .now_ms = now_ms,
    .was_empty = was_empty,
    .is_up = is_up,
    .close = close_store,
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

struct store *store_redis_open(struct loop *loop, const struct store_redis_options *options)
{
    struct store_redis *r = memory_new(sizeof *r);
    struct redis_options with = options->redis;
    store_init(&r->store, &ops, loop);
    r->store.is_shared = true;
    list_init(&r->listings);
    list_init(&r->claims);
    timer_init(&r->look, loop, look_again);
    store_scripts_init(r->scripts);
    snprintf(r->prefix, sizeof r->prefix, "{wrist:%s}:", options->fleet);
    r->own_clock = options->own_clock;
    r->wall_ms = clock_wall_ms(loop_clock(loop));
    r->monotonic_ms = clock_monotonic_ms(loop_clock(loop));
    with.up = up;
    with.down = down;
    with.owner = r;
    r->redis = redis_open(loop, &with);
    for (int i = 0; i < SCRIPT_COUNT; i++)
        redis_load(r->redis, &r->scripts[i]);
    return &r->store;
}

static void wake(struct timer *timer)
{
    (void)timer;
}

int store_redis_meet(struct store *s, int64_t most_ms, struct failure *why)
{
    struct store_redis *r = redis_of(s);
    struct timer patience;
    timer_init(&patience, s->loop, wake);
    timer_start(&patience, most_ms);
    while (!r->met && r->refused.fault == 0 && timer_is_pending(&patience))
        loop_turn(s->loop, true);
    timer_cancel(&patience);
    if (r->refused.fault != 0) {
        *why = r->refused;
        return r->refused.fault;
    }
    return r->met ? 0 : failure_set(why, FAULT_UNAVAILABLE, "Redis was not met");
}
