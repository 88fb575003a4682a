// SPDX-License-Identifier: Apache-2.0
#include "driver/api_request.h"

#include <string.h>

#include "driver/events.h"
#include "driver/revision.h"
#include "driver/sandboxes.h"
#include "driver/volumes.h"
#include "gateway/lib/base/encode.h"
#include "gateway/lib/json/json.h"
#include "gateway/lib/json/writer.h"
#include "gateway/lib/telemetry/log.h"

enum {
    BODY_LIMIT = 16 << 10,
    RECORD_LIMIT = 16 << 10,
    LIST_LIMIT = 64 << 20,
    ID_DIGITS = ID_SIZE - 1,
    VOLUME_DIGITS = VOLUME_HASH_SIZE - 1,
};

// Lives in the exchange's arena, its buffers until `closed`.
struct request {
    const struct api_context *context;
    struct exchange *ex;
    uid_t peer_uid;
    const struct route *route;
    char id[VOLUME_HASH_SIZE]; // of a sandbox or a volume
    struct buffer body;
    struct sandbox_waiter waiter;
    struct volume_waiter volume_waiter;
    struct events_reader reader;
    struct sandbox *made; // the one that is waited for
    bool existed;
};

struct route {
    const char *method, *path;
    size_t id_digits; // 0: it takes none
    bool takes_body;
    void (*run)(struct request *r);
    const char *tail; // behind the id
};

static void answer(struct request *r, int status, struct span body)
{
    const struct http_header type = {SPAN_LITERAL("content-type"),
                                     SPAN_LITERAL("application/json")};
    const struct http_response head = {.status = status,
                                       .headers = &type,
                                       .header_count = body.size > 0 ? 1 : 0,
                                       .content_length = (int64_t)body.size};
    exchange_respond(r->ex, &head, body);
}

static void answer_failure(struct request *r, const struct failure *why)
{
    struct buffer body;
    buffer_init(&body, RECORD_LIMIT);
    (void)failure_write(why, &body);
    answer(r, fault_http_status(why->fault), buffer_span(&body));
    buffer_fini(&body);
}

static void answer_record(struct request *r, int status, const struct sandbox *s)
{
    struct buffer body;
    buffer_init(&body, RECORD_LIMIT);
    (void)driver_record_write(&s->entry.record, &body);
    answer(r, status, buffer_span(&body));
    buffer_fini(&body);
}

// The value of `name` in the query; absent where it does not stand there. Nothing that is asked for
// here needs percent-decoding.
static struct sandbox *find_or_answer(struct request *r)
{
    struct sandbox *s = sandboxes_get(r->context->sandboxes, r->id);
    struct failure why;
    if (s == NULL) {
        failure_set(&why, FAULT_NOT_FOUND, "there is no sandbox %s", r->id);
        answer_failure(r, &why);
    }
    return s;
}

static void on_created(struct sandbox_waiter *w, const struct failure *why)
{
    struct request *r = CONTAINER_OF(w, struct request, waiter);
    if (why != NULL)
        answer_failure(r, why);
    else
        answer_record(r, r->existed ? 200 : 201, r->made);
}

static void create(struct request *r)
{
    struct driver_create order;
    struct failure why = {0};
    int fault = driver_create_parse(buffer_span(&r->body), &order, &why);
    if (fault == 0)
        fault = sandboxes_create(r->context->sandboxes, &order, r->peer_uid, &r->made, &r->existed,
                                 &why);
    memory_wipe(&order, sizeof order);
    if (r->body.data != NULL)
        memory_wipe(r->body.data, r->body.capacity); // the link secret stood in it
    if (fault != 0) {
        answer_failure(r, &why);
        return;
    }
    r->waiter.done = on_created;
    sandbox_wait_created(r->made, &r->waiter);
}

struct listing {
    struct json_writer writer;
    struct span fleet; // absent: all
};

static void list_add(void *owner, const struct sandbox *s)
{
    struct listing *l = owner;
    if (!span_is_absent(l->fleet) && !span_is(l->fleet, s->entry.record.fleet))
        return;
    struct buffer record;
    buffer_init(&record, RECORD_LIMIT);
    if (driver_record_write(&s->entry.record, &record) == 0)
        json_write_raw(&l->writer, buffer_span(&record));
    buffer_fini(&record);
}

static void list(struct request *r)
{
    struct buffer body;
    struct listing l = {.fleet = query_value(exchange_query(r->ex), "fleet")};
    buffer_init(&body, LIST_LIMIT);
    json_writer_init(&l.writer, &body);
    json_object_open(&l.writer);
    json_write_key(&l.writer, "sandboxes");
    json_array_open(&l.writer);
    sandboxes_each(r->context->sandboxes, list_add, &l);
    json_array_close(&l.writer);
    json_object_close(&l.writer);
    answer(r, 200, buffer_span(&body));
    buffer_fini(&body);
}

static void show(struct request *r)
{
    const struct sandbox *s = find_or_answer(r);
    if (s != NULL)
        answer_record(r, 200, s);
}

static void on_removed(struct sandbox_waiter *w, const struct failure *why)
{
    struct request *r = CONTAINER_OF(w, struct request, waiter);
    if (why != NULL)
        answer_failure(r, why);
    else
        answer(r, 204, SPAN_LITERAL(""));
}

static void delete (struct request *r)
{
    struct sandbox *s = sandboxes_get(r->context->sandboxes, r->id);
    struct span text = query_value(exchange_query(r->ex), "generation");
    struct failure why;
    uint64_t generation = 0;
    if (!span_is_absent(text) && (!span_to_u64(text, &generation) || generation > INT64_MAX)) {
        failure_set(&why, FAULT_INVALID, "generation: expected a whole number");
        answer_failure(r, &why);
        return;
    }
    // Another generation than the one that is there is gone already.
    if (s == NULL || (!span_is_absent(text) && s->entry.record.generation != (int64_t)generation)) {
        answer(r, 204, SPAN_LITERAL(""));
        return;
    }
    r->waiter.done = on_removed;
    sandbox_remove(s, "deleted", &r->waiter);
}

static void note(struct request *r)
{
    struct sandbox *s = find_or_answer(r);
    struct json *doc = NULL;
    struct failure why = {0};
    struct buffer text;
    if (s == NULL)
        return;
    buffer_init(&text, BODY_LIMIT);
    int fault = json_parse(buffer_span(&r->body), &json_limits_default, &doc, &why);
    if (fault == 0 && !json_string(doc, json_get(doc, JSON_ROOT, "note"), &text))
        fault = failure_set(&why, FAULT_INVALID, "note: expected a string");
    if (fault == 0)
        fault = sandbox_set_note(s, buffer_span(&text), &why);
    if (fault != 0)
        answer_failure(r, &why);
    else
        answer(r, 204, SPAN_LITERAL(""));
    json_free(doc);
    buffer_fini(&text);
}

struct volume_listing {
    struct json_writer writer;
    struct span fleet, owner; // absent: all
};

static void volume_add(void *owner, const struct driver_volume *v)
{
    struct volume_listing *l = owner;
    struct buffer record;
    if ((!span_is_absent(l->fleet) && !span_is(l->fleet, v->fleet)) ||
        (!span_is_absent(l->owner) && !span_is(l->owner, v->owner)))
        return;
    buffer_init(&record, RECORD_LIMIT);
    if (driver_volume_write(v, &record) == 0)
        json_write_raw(&l->writer, buffer_span(&record));
    buffer_fini(&record);
}

static void list_volumes(struct request *r)
{
    struct buffer body;
    struct volume_listing l = {.fleet = query_value(exchange_query(r->ex), "fleet"),
                               .owner = query_value(exchange_query(r->ex), "owner")};
    buffer_init(&body, LIST_LIMIT);
    json_writer_init(&l.writer, &body);
    json_object_open(&l.writer);
    json_write_key(&l.writer, "volumes");
    json_array_open(&l.writer);
    volumes_each(r->context->volumes, volume_add, &l);
    json_array_close(&l.writer);
    json_object_close(&l.writer);
    answer(r, 200, buffer_span(&body));
    buffer_fini(&body);
}

static void on_volume_removed(struct volume_waiter *w, const struct failure *why)
{
    struct request *r = CONTAINER_OF(w, struct request, volume_waiter);
    if (why != NULL)
        answer_failure(r, why);
    else
        answer(r, 204, SPAN_LITERAL(""));
}

static void delete_volume(struct request *r)
{
    char fleet[ID_SIZE] = "";
    struct failure why;
    r->volume_waiter.done = on_volume_removed;
    span_copy_string(query_value(exchange_query(r->ex), "fleet"), fleet, sizeof fleet);
    if (volumes_remove(r->context->volumes, r->id, fleet, &r->volume_waiter, &why) != 0)
        answer_failure(r, &why);
}

static void write_profile(const struct request *r, size_t index, struct json_writer *w)
{
    const struct driver_profile *p = &r->context->config->profiles[index];
    const struct engine *engine = r->context->engine;
    char revision[REVISION_SIZE];
    profile_revision(p, engine->ops->digest(engine->self, index), revision);
    json_object_open(w);
    json_write_member_string(w, "name", p->name);
    json_write_member_string(w, "digest", engine->ops->digest(engine->self, index));
    json_write_member_string(w, "revision", revision);
    json_write_member_string(w, "engine", engine->ops->name);
    json_write_member_bool(w, "trial", p->trial);
    json_write_member_bool(w, "weak_isolation", p->weak_isolation);
    json_write_member_i64(w, "memory_bytes", p->memory_bytes);
    json_write_member_i64(w, "cpu_millis", p->cpu_millis);
    json_write_member_i64(w, "pids", p->pids);
    json_write_member_i64(w, "disk_bytes", p->disk_bytes);
    json_write_member_i64(w, "volume_bytes", p->volume_bytes);
    json_object_close(w);
}

static void profiles(struct request *r)
{
    struct buffer body;
    struct json_writer w;
    buffer_init(&body, LIST_LIMIT);
    json_writer_init(&w, &body);
    json_object_open(&w);
    json_write_key(&w, "profiles");
    json_array_open(&w);
    for (size_t i = 0; i < r->context->config->profile_count; i++)
        write_profile(r, i, &w);
    json_array_close(&w);
    json_object_close(&w);
    answer(r, 200, buffer_span(&body));
    buffer_fini(&body);
}

static void events(struct request *r)
{
    events_join(r->context->events, &r->reader, r->ex);
}

static const struct route routes[] = {
    {"POST", "/v1/sandboxes", .takes_body = true, .run = create},
    {"GET", "/v1/sandboxes", .run = list},
    {"GET", "/v1/sandboxes/", .id_digits = ID_DIGITS, .run = show, .tail = ""},
    {"DELETE", "/v1/sandboxes/", .id_digits = ID_DIGITS, .run = delete, .tail = ""},
    {"PUT", "/v1/sandboxes/", .id_digits = ID_DIGITS, .takes_body = true, .run = note,
     .tail = "/note"},
    {"GET", "/v1/volumes", .run = list_volumes},
    {"DELETE", "/v1/volumes/", .id_digits = VOLUME_DIGITS, .run = delete_volume, .tail = ""},
    {"GET", "/v1/profiles", .run = profiles},
    {"GET", "/v1/events", .run = events},
};

static bool is_id(struct span text, size_t digits)
{
    if (text.size != digits)
        return false;
    for (size_t i = 0; i < text.size; i++)
        if (strchr("0123456789abcdef", text.data[i]) == NULL || text.data[i] == '\0')
            return false;
    return true;
}

static bool route_fits(const struct route *route, struct request *r)
{
    struct span path = exchange_path(r->ex), start = span_from_string(route->path);
    if (!span_is(exchange_method(r->ex), route->method))
        return false;
    if (route->id_digits == 0)
        return span_equals(path, start);
    if (!span_starts_with(path, start))
        return false;
    struct span rest = span_slice(path, start.size, path.size);
    struct span id = span_slice(rest, 0, route->id_digits);
    return is_id(id, route->id_digits) &&
           span_is(span_slice(rest, route->id_digits, rest.size), route->tail) &&
           span_copy_string(id, r->id, sizeof r->id);
}

void api_request_begin(const struct api_context *context, uid_t peer_uid, struct exchange *ex)
{
    struct request *r = arena_alloc(exchange_arena(ex), sizeof *r);
    *r = (struct request){.context = context, .ex = ex, .peer_uid = peer_uid};
    buffer_init(&r->body, BODY_LIMIT);
    exchange_set_user(ex, r);
    for (size_t i = 0; i < ARRAY_COUNT(routes) && r->route == NULL; i++)
        if (route_fits(&routes[i], r))
            r->route = &routes[i];
    if (r->route == NULL) {
        struct failure why;
        failure_set(&why, FAULT_NOT_FOUND, "no such request");
        answer_failure(r, &why);
    } else if (r->route->takes_body) {
        exchange_read_body(ex, BODY_LIMIT);
    } else {
        r->route->run(r);
    }
}

void api_request_body(struct exchange *ex, struct span bytes)
{
    struct request *r = exchange_user(ex);
    (void)buffer_append(&r->body, bytes); // the server holds the limit
}

void api_request_body_ended(struct exchange *ex)
{
    struct request *r = exchange_user(ex);
    r->route->run(r);
}

void api_request_drained(struct exchange *ex)
{
    (void)ex; // answers are short, and events are written when they come
}

void api_request_closed(struct exchange *ex, const struct failure *why)
{
    struct request *r = exchange_user(ex);
    (void)why;
    list_remove(&r->waiter.node);
    list_remove(&r->volume_waiter.node);
    events_leave(&r->reader);
    buffer_fini(&r->body);
}
