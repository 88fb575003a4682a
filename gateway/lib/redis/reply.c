// SPDX-License-Identifier: Apache-2.0
// hiredis reads the protocol (seven levels deep at most) and has its objects made here, in an arena
// that has a limit.
#include "gateway/lib/redis/reply.h"

#include <hiredis/read.h>
#include <stdlib.h>

#include "gateway/lib/base/arena.h"
#include "gateway/lib/base/memory.h"

struct reply_reader {
    redisReader *reader; // owned
    struct arena *arena; // owned; of the reply that is being read
    size_t limit;
    bool handed_out;
};

static struct redis_reply *make(const redisReadTask *task, enum reply_kind kind)
{
    struct reply_reader *r = task->privdata;
    struct redis_reply *reply = arena_try_alloc(r->arena, sizeof *reply);
    if (reply == NULL)
        return NULL;
    reply->kind = kind;
    if (task->parent != NULL)
        ((struct redis_reply *)task->parent->obj)->elements[task->idx] = reply;
    return reply;
}

static void *make_string(const redisReadTask *task, char *text, size_t size)
{
    struct reply_reader *r = task->privdata;
    enum reply_kind kind = task->type == REDIS_REPLY_ERROR    ? REPLY_ERROR
                           : task->type == REDIS_REPLY_STATUS ? REPLY_STATUS
                                                              : REPLY_TEXT;
    struct redis_reply *reply = make(task, kind);
    if (reply == NULL)
        return NULL;
    reply->text = arena_copy(r->arena, span_of(text, size));
    return span_is_absent(reply->text) ? NULL : reply;
}

static void *make_array(const redisReadTask *task, int count)
{
    struct reply_reader *r = task->privdata;
    struct redis_reply *reply = make(task, REPLY_ARRAY);
    if (reply == NULL || count < 0 || (size_t)count > r->limit / sizeof *reply)
        return NULL;
    reply->count = (size_t)count;
    reply->elements = arena_try_alloc(r->arena, (reply->count + 1) * sizeof(struct redis_reply *));
    return reply->elements != NULL ? reply : NULL;
}

static void *make_integer(const redisReadTask *task, long long value)
{
    struct redis_reply *reply = make(task, REPLY_INTEGER);
    if (reply != NULL)
        reply->integer = value;
    return reply;
}

static void *make_nil(const redisReadTask *task)
{
    return make(task, REPLY_NIL);
}

static void forget(void *reply) // the arena has it
{
    (void)reply;
}

struct reply_reader *reply_reader_new(size_t limit_bytes)
{
    static redisReplyObjectFunctions makers = {make_string, make_array, make_integer, make_nil,
                                               forget};
    struct reply_reader *r = memory_new(sizeof *r);
    r->reader = redisReaderCreateWithFunctions(&makers);
    if (r->reader == NULL)
        abort();
    r->reader->privdata = r;
    r->arena = arena_new(limit_bytes);
    r->limit = limit_bytes;
    return r;
}

void reply_reader_free(struct reply_reader *r)
{
    if (r == NULL)
        return;
    redisReaderFree(r->reader);
    arena_free(r->arena);
    free(r);
}

int reply_reader_feed(struct reply_reader *r, struct span bytes, struct failure *why)
{
    if (r->reader->len - r->reader->pos + bytes.size > r->limit)
        return failure_set(why, FAULT_TOO_LARGE, "an answer has more than %zu bytes", r->limit);
    if (redisReaderFeed(r->reader, bytes.data, bytes.size) != REDIS_OK)
        return failure_set(why, FAULT_PEER, "%s", r->reader->errstr);
    return 0;
}

int reply_reader_next(struct reply_reader *r, const struct redis_reply **out, struct failure *why)
{
    void *reply = NULL;
    if (r->handed_out) {
        arena_reset(r->arena);
        r->handed_out = false;
    }
    if (redisReaderGetReply(r->reader, &reply) != REDIS_OK)
        return failure_set(why, FAULT_PEER, "an answer is not well-formed or too large: %s",
                           r->reader->errstr);
    r->handed_out = reply != NULL;
    *out = reply;
    return 0;
}

struct span reply_text_at(const struct redis_reply *r, size_t index)
{
    const struct redis_reply *element = reply_at(r, index);
    return element != NULL ? element->text : SPAN_NONE;
}

int64_t reply_integer_at(const struct redis_reply *r, size_t index)
{
    const struct redis_reply *element = reply_at(r, index);
    return element != NULL ? element->integer : 0;
}
