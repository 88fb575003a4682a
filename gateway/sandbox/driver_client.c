// SPDX-License-Identifier: Apache-2.0
// wrist-driver over its unix socket. Requests and events go over clients of their own, so that no
// number of slow deletions holds up the news that a sandbox ended.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "gateway/lib/base/list.h"
#include "gateway/lib/base/memory.h"
#include "gateway/lib/http/client.h"
#include "gateway/lib/json/json.h"
#include "gateway/lib/json/writer.h"
#include "gateway/lib/loop/loop.h"
#include "gateway/sandbox/driver.h"
#include "gateway/sandbox/driver_events.h"
#include "gateway/sandbox/question.h"

enum {
    CONNECTIONS = 32,
    WAITING = 4096,
    SHORT_DEADLINE_MS = 10 * 1000,
    REMOVE_DEADLINE_MS = 60 * 1000,
    RECORD_BYTES = 16 * 1024,
    LIST_BYTES = 64 * 1024 * 1024,
};

struct driver_client {
    struct driver driver;
    struct loop *loop;
    struct http_client *requests, *stream;
    struct driver_event_stream *events; // NULL until somebody listens
    struct list asked;                  // driver_question
};

struct driver_question {
    struct list node;
    struct driver_client *client;
    struct question *question;
    // Fills the answer from the body; rows it makes are in *rows. Returns 0 or a fault.
    int (*parse)(struct span body, struct driver_answer *out, void **rows, struct failure *why);
    driver_done *done; // NULL: nobody listens
    void *owner;
};

static struct driver_client *client_of(struct driver *d)
{
    return CONTAINER_OF(d, struct driver_client, driver);
}

static void answered(void *owner, struct span body, const struct failure *why)
{
    struct driver_question *q = owner;
    struct driver_answer answer = {0};
    struct failure mine;
    void *rows = NULL;
    if (why == NULL && q->parse != NULL && q->parse(body, &answer, &rows, &mine) != 0)
        why = &mine;
    list_remove(&q->node);
    if (q->done != NULL)
        q->done(q->owner, &answer, why);
    free(rows);
    free(q);
}

static void ask_driver(struct driver *d, const struct question_ask *ask,
                       int (*parse)(struct span, struct driver_answer *, void **, struct failure *),
                       driver_done *done, void *owner)
{
    struct driver_client *client = client_of(d);
    struct driver_question *q = memory_new(sizeof *q);
    *q = (struct driver_question){.client = client, .parse = parse, .done = done, .owner = owner};
    list_append(&client->asked, &q->node);
    q->question = question_start(client->loop, client->requests, ask, answered, q);
}

static int parse_record(struct span body, struct driver_answer *out, void **rows,
                        struct failure *why)
{
    struct driver_record *record = memory_new(sizeof *record);
    *rows = record;
    out->records = record;
    out->count = 1;
    return driver_record_parse(body, record, why);
}

static int parse_records(struct span body, struct driver_answer *out, void **rows,
                         struct failure *why)
{
    struct json *j;
    int rc = json_parse(body, &json_limits_default, &j, why);
    if (rc != 0)
        return rc;
    int list = json_get(j, JSON_ROOT, "sandboxes");
    struct driver_record *record = memory_new_array(json_count(j, list) + 1, sizeof *record);
    *rows = record;
    out->records = record;
    if (json_type(j, list) != JSON_ARRAY)
        rc = failure_set(why, FAULT_PEER, "the driver's list has no `sandboxes`");
    JSON_EACH(child, j, list)
    {
        if (rc == 0)
            rc = driver_record_parse(json_raw(j, child), &record[out->count++], why);
    }
    json_free(j);
    return rc;
}

static int parse_volumes(struct span body, struct driver_answer *out, void **rows,
                         struct failure *why)
{
    struct json *j;
    int rc = json_parse(body, &json_limits_default, &j, why);
    if (rc != 0)
        return rc;
    int list = json_get(j, JSON_ROOT, "volumes");
    struct driver_volume *volume = memory_new_array(json_count(j, list) + 1, sizeof *volume);
    *rows = volume;
    out->volumes = volume;
    if (json_type(j, list) != JSON_ARRAY)
        rc = failure_set(why, FAULT_PEER, "the driver's list has no `volumes`");
    JSON_EACH(child, j, list)
    {
        if (rc == 0)
            rc = driver_volume_parse(json_raw(j, child), &volume[out->count++], why);
    }
    json_free(j);
    return rc;
}

static void copy_plain(const struct json *j, int node, char *out, size_t size)
{
    struct span text;
    if (!json_string_plain(j, node, &text) || !span_copy_string(text, out, size))
        out[0] = '\0';
}

static int parse_profiles(struct span body, struct driver_answer *out, void **rows,
                          struct failure *why)
{
    struct json *j;
    int rc = json_parse(body, &json_limits_default, &j, why);
    if (rc != 0)
        return rc;
    int list = json_get(j, JSON_ROOT, "profiles");
    struct driver_profile *profile = memory_new_array(json_count(j, list) + 1, sizeof *profile);
    *rows = profile;
    out->profiles = profile;
    JSON_EACH(child, j, list)
    {
        struct driver_profile *p = &profile[out->count++];
        copy_plain(j, json_get(j, child, "name"), p->name, sizeof p->name);
        copy_plain(j, json_get(j, child, "digest"), p->digest, sizeof p->digest);
        copy_plain(j, json_get(j, child, "revision"), p->revision, sizeof p->revision);
    }
    json_free(j);
    return 0;
}

static void client_create(struct driver *d, const struct driver_create *create, int64_t deadline_ms,
                          driver_done *done, void *owner)
{
    struct buffer body;
    buffer_init(&body, RECORD_BYTES);
    driver_create_write(create, &body); // of our own values: fits
    const struct question_ask ask = {.method = "POST",
                                     .target = "/v1/sandboxes",
                                     .body = buffer_span(&body),
                                     .deadline_ms = deadline_ms,
                                     .answer_bytes = RECORD_BYTES};
    ask_driver(d, &ask, parse_record, done, owner);
    memory_wipe(body.data, body.capacity);
    buffer_fini(&body);
}

static void client_list(struct driver *d, const char *fleet, driver_done *done, void *owner)
{
    char target[128];
    snprintf(target, sizeof target, "/v1/sandboxes?fleet=%s", fleet);
    const struct question_ask ask = {.method = "GET",
                                     .target = target,
                                     .deadline_ms = SHORT_DEADLINE_MS,
                                     .answer_bytes = LIST_BYTES};
    ask_driver(d, &ask, parse_records, done, owner);
}

static void client_remove(struct driver *d, const char *id, int64_t generation, driver_done *done,
                          void *owner)
{
    char target[128];
    snprintf(target, sizeof target, "/v1/sandboxes/%s?generation=%" PRId64, id, generation);
    const struct question_ask ask = {.method = "DELETE",
                                     .target = target,
                                     .deadline_ms = REMOVE_DEADLINE_MS,
                                     .answer_bytes = RECORD_BYTES};
    ask_driver(d, &ask, NULL, done, owner);
}

static void client_note(struct driver *d, const char *id, const char *note)
{
    char target[128];
    struct buffer body;
    struct json_writer w;
    snprintf(target, sizeof target, "/v1/sandboxes/%s/note", id);
    buffer_init(&body, RECORD_BYTES);
    json_writer_init(&w, &body);
    json_object_open(&w);
    json_write_member_string(&w, "note", note);
    json_object_close(&w);
    const struct question_ask ask = {.method = "PUT",
                                     .target = target,
                                     .body = buffer_span(&body),
                                     .deadline_ms = SHORT_DEADLINE_MS,
                                     .answer_bytes = RECORD_BYTES};
    ask_driver(d, &ask, NULL, NULL, NULL);
    buffer_fini(&body);
}

static void client_profiles(struct driver *d, driver_done *done, void *owner)
{
    const struct question_ask ask = {.method = "GET",
                                     .target = "/v1/profiles",
                                     .deadline_ms = SHORT_DEADLINE_MS,
                                     .answer_bytes = LIST_BYTES};
    ask_driver(d, &ask, parse_profiles, done, owner);
}

static void client_volumes(struct driver *d, const char *fleet, const char *principal,
                           driver_done *done, void *owner)
{
    char target[256];
    snprintf(target, sizeof target, "/v1/volumes?fleet=%s%s%s", fleet,
             principal[0] != '\0' ? "&owner=" : "", principal);
    const struct question_ask ask = {.method = "GET",
                                     .target = target,
                                     .deadline_ms = SHORT_DEADLINE_MS,
                                     .answer_bytes = LIST_BYTES};
    ask_driver(d, &ask, parse_volumes, done, owner);
}

static void client_remove_volume(struct driver *d, const char *fleet, const char *id,
                                 driver_done *done, void *owner)
{
    char target[256];
    snprintf(target, sizeof target, "/v1/volumes/%s?fleet=%s", id, fleet);
    const struct question_ask ask = {.method = "DELETE",
                                     .target = target,
                                     .deadline_ms = REMOVE_DEADLINE_MS,
                                     .answer_bytes = RECORD_BYTES};
    ask_driver(d, &ask, NULL, done, owner);
}

static void client_listen(struct driver *d, const struct driver_events *events, void *owner)
{
    struct driver_client *client = client_of(d);
    client->events = driver_event_stream_open(client->loop, client->stream, events, owner);
}

static void client_close(struct driver *d)
{
    struct driver_client *client = client_of(d);
    for (struct list *node; (node = list_pop(&client->asked)) != NULL;) {
        struct driver_question *q = LIST_ENTRY(node, struct driver_question, node);
        question_cancel(q->question);
        free(q);
    }
    driver_event_stream_close(client->events);
    http_client_close(client->requests);
    http_client_close(client->stream);
    free(client);
}

static const struct driver_ops client_ops = {
    .listen = client_listen,
    .create = client_create,
    .list = client_list,
    .remove = client_remove,
    .note = client_note,
    .profiles = client_profiles,
    .volumes = client_volumes,
    .remove_volume = client_remove_volume,
    .close = client_close,
};

int driver_client_open(struct loop *loop, const char *path, struct driver **out,
                       struct failure *why)
{
    char text[ENDPOINT_SIZE + 256];
    struct http_client_options options;
    http_client_options_default(&options);
    snprintf(text, sizeof text, "unix:%s", path);
    int rc = address_parse(span_from_string(text), &options.address, why);
    if (rc != 0)
        return failure_prefix(why, "driver socket");
    struct driver_client *client = memory_new(sizeof *client);
    client->driver.ops = &client_ops;
    client->loop = loop;
    list_init(&client->asked);
    options.connections = 1;
    client->stream = http_client_new(loop, &options);
    options.connections = CONNECTIONS;
    options.waiting = WAITING;
    client->requests = http_client_new(loop, &options);
    *out = &client->driver;
    return 0;
}
