// SPDX-License-Identifier: Apache-2.0
#include "driver/events.h"

#include <stdlib.h>

#include "gateway/lib/http/exchange.h"
#include "gateway/lib/json/writer.h"

struct events {
    struct list readers; // of their exchanges
};

enum { EVENT_LIMIT = 4096 };

struct events *events_new(void)
{
    struct events *e = memory_new(sizeof *e);
    list_init(&e->readers);
    return e;
}

void events_free(struct events *e)
{
    free(e);
}

void events_join(struct events *e, struct events_reader *reader, struct exchange *exchange)
{
    const struct http_header type = {SPAN_LITERAL("content-type"),
                                     SPAN_LITERAL("application/x-ndjson")};
    const struct http_response head = {
        .status = 200, .headers = &type, .header_count = 1, .content_length = -1};
    reader->exchange = exchange;
    list_append(&e->readers, &reader->node);
    exchange_set_deadline(exchange, 0);
    exchange_start(exchange, &head);
    exchange_write(exchange, SPAN_LITERAL("{\"event\":\"hello\"}\n"));
}

void events_leave(struct events_reader *reader)
{
    list_remove(&reader->node);
}

static void events_send(struct events *e, struct span line)
{
    const struct failure slow = {FAULT_SLOW, "events are not read"};
    LIST_EACH(node, &e->readers)
    {
        struct events_reader *reader = LIST_ENTRY(node, struct events_reader, node);
        if (!exchange_is_choked(reader->exchange)) {
            exchange_write(reader->exchange, line);
            continue;
        }
        list_remove(node);
        exchange_abort(reader->exchange, &slow);
    }
}

void events_exited(struct events *e, const struct driver_record *record, const char *reason)
{
    struct buffer line;
    struct json_writer w;
    buffer_init(&line, EVENT_LIMIT);
    json_writer_init(&w, &line);
    json_object_open(&w);
    json_write_member_string(&w, "event", "exited");
    json_write_member_string(&w, "id", record->id);
    json_write_member_i64(&w, "generation", record->generation);
    json_write_member_string(&w, "reason", reason);
    json_object_close(&w);
    if (json_writer_finish(&w) == 0 && buffer_append_char(&line, '\n') == 0)
        events_send(e, buffer_span(&line));
    buffer_fini(&line);
}

void events_volume_expired(struct events *e, const struct driver_volume *volume)
{
    struct buffer line;
    struct json_writer w;
    buffer_init(&line, EVENT_LIMIT);
    json_writer_init(&w, &line);
    json_object_open(&w);
    json_write_member_string(&w, "event", "volume_expired");
    json_write_member_string(&w, "id", volume->id);
    json_write_member_string(&w, "fleet", volume->fleet);
    json_write_member_string(&w, "profile", volume->profile);
    json_object_close(&w);
    if (json_writer_finish(&w) == 0 && buffer_append_char(&line, '\n') == 0)
        events_send(e, buffer_span(&line));
    buffer_fini(&line);
}

void events_profiles(struct events *e)
{
    events_send(e, SPAN_LITERAL("{\"event\":\"profiles\"}\n"));
}

void events_end(struct events *e)
{
    for (struct list *node; (node = list_pop(&e->readers)) != NULL;)
        exchange_end(LIST_ENTRY(node, struct events_reader, node)->exchange);
}
