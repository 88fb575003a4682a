// SPDX-License-Identifier: Apache-2.0
//
// A line is collected in two steps, so that a data line of many MiB is copied once: the field's
// name goes to `field`, and as soon as the colon came, the rest goes straight to where it belongs.
#include "gateway/lib/base/memory.h"
#include "gateway/lib/mcp/sse.h"

enum state {
    AT_START,    // a byte order mark may come
    IN_FIELD,    // at the start of a line or inside the field's name
    AFTER_COLON, // one space may be dropped
    IN_VALUE,
};

enum { FIELD_BYTES = 8 }; // longer names are none that we know

struct sse_reader {
    const struct sse_reader_ops *ops; // borrowed
    void *owner;                      // borrowed
    size_t limit;
    enum state state;
    bool skip_lf; // the last byte was a CR, so an LF belongs to it
    unsigned bom; // bytes of the mark seen at the start
    char field[FIELD_BYTES];
    size_t field_size;   // FIELD_BYTES + 1: too long
    struct buffer *sink; // where the value goes; NULL: nowhere
    bool is_comment;
    bool has_data, has_id, saw_id;
    struct buffer data, type, id, scratch; // scratch: a value that is judged when its line ends
    int fault;
};

struct sse_reader *sse_reader_new(size_t limit_bytes, const struct sse_reader_ops *ops, void *owner)
{
    struct sse_reader *r = memory_new(sizeof *r);
    r->ops = ops;
    r->owner = owner;
    r->limit = limit_bytes;
    buffer_init(&r->data, limit_bytes);
    buffer_init(&r->type, limit_bytes);
    buffer_init(&r->id, limit_bytes);
    buffer_init(&r->scratch, limit_bytes);
    return r;
}

void sse_reader_free(struct sse_reader *r)
{
    if (r == NULL)
        return;
    buffer_fini(&r->data);
    buffer_fini(&r->type);
    buffer_fini(&r->id);
    buffer_fini(&r->scratch);
    memory_free_at(&r);
}

bool sse_reader_is_between_events(const struct sse_reader *r)
{
    return r->state <= IN_FIELD && r->field_size == 0 && !r->has_data;
}

static bool field_is(const struct sse_reader *r, const char *name)
{
    return r->field_size <= FIELD_BYTES && span_is(span_of(r->field, r->field_size), name);
}

// The field's name is complete: where does its value go?
static int begin_value(struct sse_reader *r)
{
    r->sink = NULL;
    r->is_comment = r->field_size == 0;
    if (field_is(r, "data")) {
        r->sink = &r->data;
        bool more = r->has_data;
        r->has_data = true;
        return more ? buffer_append_char(&r->data, '\n') : 0;
    }
    if (field_is(r, "event") || field_is(r, "id") || field_is(r, "retry")) {
        buffer_clear(&r->scratch);
        r->sink = &r->scratch;
    }
    return 0;
}

static int append_value(struct sse_reader *r, struct span bytes)
{
    if (r->is_comment) {
        if (r->ops->comment != NULL && bytes.size > 0)
            r->ops->comment(r->owner, bytes);
        return 0;
    }
    if (r->sink == NULL || bytes.size == 0)
        return 0;
    size_t held = buffer_size(&r->data) + buffer_size(&r->type) + buffer_size(&r->scratch);
    return held + bytes.size > r->limit ? FAULT_TOO_LARGE : buffer_append(r->sink, bytes);
}

static int dispatch(struct sse_reader *r)
{
    struct sse_event event = {
        .type = buffer_size(&r->type) > 0 ? buffer_span(&r->type) : SPAN_LITERAL("message"),
        .id = r->saw_id ? buffer_span(&r->id) : SPAN_NONE,
        .data = buffer_span(&r->data),
        .has_id = r->has_id,
    };
    // Empty data primes the id and is no event.
    int fault = event.data.size > 0 ? r->ops->event(r->owner, &event) : 0;
    if (event.data.size == 0 && event.has_id && r->ops->primed != NULL)
        r->ops->primed(r->owner, event.id);
    if (r->data.capacity > 65536)
        buffer_release(&r->data); // one large event does not stay for the stream's life
    buffer_clear(&r->data);
    buffer_clear(&r->type);
    r->has_data = r->has_id = false;
    return fault;
}

static int keep_id(struct sse_reader *r, struct span value)
{
    if (value.size > 0 && memchr(value.data, '\0', value.size) != NULL)
        return 0;
    r->saw_id = r->has_id = true;
    buffer_clear(&r->id);
    return buffer_append(&r->id, value);
}

static int end_line(struct sse_reader *r)
{
    int fault = 0;
    if (r->state == IN_FIELD && r->field_size == 0) {
        fault = dispatch(r);
    } else {
        if (r->state == IN_FIELD) // a name without a colon: an empty value
            fault = begin_value(r);
        struct span value = buffer_span(&r->scratch);
        uint64_t ms;
        if (fault == 0 && field_is(r, "event")) {
            buffer_clear(&r->type);
            fault = buffer_append(&r->type, value);
        } else if (fault == 0 && field_is(r, "id")) {
            fault = keep_id(r, value);
        } else if (field_is(r, "retry") && r->ops->retry != NULL && span_to_u64(value, &ms) &&
                   ms <= INT64_MAX) {
            r->ops->retry(r->owner, (int64_t)ms);
        }
    }
    buffer_clear(&r->scratch);
    r->state = IN_FIELD;
    r->field_size = 0;
    r->is_comment = false;
    return fault;
}

// The bytes at the front that are no line end.
static size_t run_length(struct span s)
{
    const char *lf = memchr(s.data, '\n', s.size);
    size_t run = lf != NULL ? (size_t)(lf - s.data) : s.size;
    const char *cr = memchr(s.data, '\r', run);
    return cr != NULL ? (size_t)(cr - s.data) : run;
}

// Takes bytes of one line, at least one; returns how many, or a fault.
static int take_in_line(struct sse_reader *r, struct span line, size_t *taken)
{
    *taken = 1;
    switch (r->state) {
    case AT_START:
    case IN_FIELD:
        if (line.data[0] == ':') {
            r->state = AFTER_COLON;
            return begin_value(r);
        }
        if (r->field_size < FIELD_BYTES)
            r->field[r->field_size] = line.data[0];
        if (r->field_size <= FIELD_BYTES)
            r->field_size++;
        return 0;
    case AFTER_COLON:
        r->state = IN_VALUE;
        if (line.data[0] != ' ')
            *taken = 0;
        return 0;
    case IN_VALUE:
        *taken = line.size;
        return append_value(r, line);
    }
    return FAULT_INTERNAL;
}

// True while the byte may be part of a byte order mark; a broken one is ordinary text.
static bool take_mark(struct sse_reader *r, char c)
{
    static const char mark[] = "\xef\xbb\xbf";
    if (c == mark[r->bom]) {
        if (++r->bom == 3)
            r->state = IN_FIELD;
        return true;
    }
    r->state = IN_FIELD;
    for (unsigned i = 0; i < r->bom; i++)
        r->field[r->field_size++] = mark[i];
    return 0;
}

static int feed(struct sse_reader *r, struct span bytes)
{
    int fault = 0;
    while (bytes.size > 0 && fault == 0) {
        char c = bytes.data[0];
        size_t taken = 1;
        if (r->state == AT_START && take_mark(r, c)) {
            // swallowed
        } else if (c == '\n' && r->skip_lf) {
            r->skip_lf = false;
        } else if (c == '\n' || c == '\r') {
            r->skip_lf = c == '\r';
            fault = end_line(r);
        } else {
            r->skip_lf = false;
            fault = take_in_line(r, span_slice(bytes, 0, run_length(bytes)), &taken);
        }
        bytes = span_slice(bytes, taken, bytes.size);
    }
    return fault;
}

int sse_reader_feed(struct sse_reader *r, struct span bytes, struct failure *why)
{
    if (r->fault == 0)
        r->fault = feed(r, bytes);
    if (r->fault == FAULT_TOO_LARGE)
        return failure_set(why, FAULT_TOO_LARGE, "an event is larger than %zu bytes", r->limit);
    if (r->fault != 0)
        return failure_set(why, (enum fault)r->fault, "the event stream cannot be used");
    return 0;
}
