// SPDX-License-Identifier: Apache-2.0
// The proxy between a client in memory and a worker on a unix socket, with a binder that does what
// the test says. Nothing sleeps: the clock stands still until it is moved.
#ifndef WRIST_TESTS_UNIT_GATEWAY_PROXY_FIXTURE_H
#define WRIST_TESTS_UNIT_GATEWAY_PROXY_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "gateway/auth/principal_new.h"
#include "gateway/lib/base/memory.h"
#include "gateway/lib/crypto/keyring.h"
#include "gateway/lib/http/client.h"
#include "gateway/lib/http/server.h"
#include "gateway/lib/json/json.h"
#include "gateway/lib/loop/loop.h"
#include "gateway/lib/loop/timer.h"
#include "gateway/lib/net/listener.h"
#include "gateway/lib/net/stream.h"
#include "gateway/lib/telemetry/log.h"
#include "gateway/lib/telemetry/metrics.h"
#include "gateway/pool/binder.h"
#include "gateway/proxy/proxy.h"
#include "gateway/proxy/sealed.h"

struct lease {
    bool is_live;
};

struct bind_wait {
    struct task task;
    bool is_live;
    void (*bound)(void *owner, struct lease *lease, const struct failure *why, int64_t retry);
    void (*told)(void *owner, const struct failure *why);
    void *owner;
    int fault;
};

enum worker_mode {
    WORKER_ANSWERS,
    WORKER_WAITS,
    WORKER_STREAMS,
    WORKER_FORGOT,
    WORKER_DIES,
    WORKER_IS_EMPTY
};

static struct world {
    struct clock_fake clock;
    struct loop *loop;
    char folder[64];
    struct keyring *ring;
    struct config config;
    struct profile profiles[2];
    struct metrics *metrics;
    struct principal *ann, *bob;
    struct proxy *proxy;
    struct http_server *server;
    // the binder
    struct bind_wait waits[16];
    struct lease lease;
    int bind_fault, check_fault, reach_fault; // what it answers; 0: well
    bool bind_holds;                          // does not answer yet
    bool has_card;
    const char *card_tools; // NULL: Bash alone
    bool knows_sandbox;
    int binds, ends, leases_live, rebinds, lost_reports;
    char session[ID_SIZE]; // of the last bind
    // the worker
    struct listener *listener;
    struct http_server *worker;
    struct http_client *link;
    enum worker_mode mode;
    struct exchange *worker_exchange;       // of a call that waits
    struct buffer worker_body, worker_seen; // body and heads of what came
    const char *worker_answer;
    int worker_calls;
} world;

// --- the binder
// ------------------------------------------------------------------------------------

static void run_wait(struct task *task)
{
    struct bind_wait *w = CONTAINER_OF(task, struct bind_wait, task);
    struct failure why = {0};
    w->is_live = false;
    if (w->fault != 0)
        failure_set(&why, (enum fault)w->fault, "the test's reason");
    if (w->told != NULL) {
        w->told(w->owner, w->fault != 0 ? &why : NULL);
        return;
    }
    if (w->fault == 0)
        world.leases_live++;
    w->bound(w->owner, w->fault == 0 ? &world.lease : NULL, w->fault != 0 ? &why : NULL, 2500);
}

static struct bind_wait *wait_new(void *owner, int fault)
{
    for (size_t i = 0; i < ARRAY_COUNT(world.waits); i++) {
        struct bind_wait *w = &world.waits[i];
        if (w->is_live)
            continue;
        *w = (struct bind_wait){.is_live = true, .owner = owner, .fault = fault};
        task_init(&w->task, run_wait);
        return w;
    }
    abort();
}

struct bind_wait *binder_start(struct binder *b, const struct bind_request *request,
                               void (*done)(void *owner, struct lease *lease,
                                            const struct failure *why, int64_t retry_after_ms),
                               void *owner)
{
    (void)b;
    struct bind_wait *w = wait_new(owner, world.bind_fault);
    w->bound = done;
    world.binds++;
    if (!span_copy_string(request->session, world.session, ID_SIZE))
        world.session[0] = '\0';
    if (!world.bind_holds)
        loop_defer(world.loop, &w->task);
    return w;
}

struct bind_wait *binder_reach(struct binder *b, const struct bind_request *request,
                               void (*done)(void *owner, struct lease *lease,
                                            const struct failure *why, int64_t retry_after_ms),
                               void *owner)
{
    (void)b;
    (void)request;
    struct bind_wait *w = wait_new(owner, world.reach_fault);
    w->bound = done;
    loop_defer(world.loop, &w->task);
    return w;
}

static inline void binder_goes_on(void)
{
    for (size_t i = 0; i < ARRAY_COUNT(world.waits); i++) {
        if (world.waits[i].is_live)
            loop_defer(world.loop, &world.waits[i].task);
    }
}

void bind_wait_cancel(struct bind_wait *w)
{
    task_cancel(&w->task);
    w->is_live = false;
}

struct bind_wait *binder_check_session(struct binder *b, const struct bind_request *request,
                                       void (*done)(void *owner, const struct failure *why),
                                       void *owner)
{
    (void)b;
    (void)request;
    struct bind_wait *w = wait_new(owner, world.check_fault);
    w->told = done;
    loop_defer(world.loop, &w->task);
    return w;
}

struct bind_wait *binder_end_session(struct binder *b, const struct bind_request *request,
                                     void (*done)(void *owner, const struct failure *why),
                                     void *owner)
{
    struct bind_wait *w = binder_check_session(b, request, done, owner);
    world.ends++;
    world.check_fault = FAULT_NOT_FOUND; // from now on
    return w;
}

bool binder_show_sandbox(struct binder *b, const struct principal *principal, struct span sandbox,
                         struct sandbox_view *out)
{
    (void)b;
    (void)sandbox;
    (void)out;
    return world.knows_sandbox && principal == world.ann;
}

bool binder_serves_sandbox(struct binder *b, const struct principal *principal, struct span sandbox)
{
    (void)b;
    (void)sandbox;
    return world.knows_sandbox && principal == world.ann;
}

struct http_client *lease_link(const struct lease *l)
{
    (void)l;
    return world.link;
}

const char *lease_authorization(const struct lease *l)
{
    (void)l;
    return "Bearer link-secret";
}

const char *lease_sandbox(const struct lease *l)
{
    (void)l;
    return "0123456789abcdef0123456789abcdef";
}

void lease_rebind(struct lease *l, void (*again)(void *owner, const struct failure *why),
                  void *owner)
{
    (void)l;
    struct bind_wait *w = wait_new(owner, 0);
    w->told = again;
    world.rebinds++;
    world.mode = WORKER_ANSWERS;
    loop_defer(world.loop, &w->task);
}

void lease_report_lost(struct lease *l, const struct failure *why)
{
    (void)l;
    assert_non_null(why);
    world.lost_reports++;
}

void lease_release(struct lease *l)
{
    (void)l;
    world.leases_live--;
}

int64_t binder_now_ms(const struct binder *b)
{
    (void)b;
    return clock_wall_ms(&world.clock.clock);
}

const struct card *binder_card(struct binder *b, const struct profile *profile, struct failure *why)
{
    (void)b;
    (void)profile;
    if (!world.has_card)
        failure_set(why, FAULT_UNAVAILABLE, "no worker has been asked yet");
    return world.has_card ? (const struct card *)&world : NULL;
}

struct span card_member(const struct card *c, const char *name)
{
    (void)c;
    static const char *const members[][2] = {
        {"serverInfo", "{\"name\":\"w\",\"version\":\"1\"}"},
        {"capabilities", "{\"tools\":{}}"},
        {"instructions", "\"use it\""},
        {"tools", "[{\"name\":\"Bash\",\"inputSchema\":{\"type\":\"object\"}}]"},
        {"discover", "{}"},
    };
    for (size_t i = 0; i < ARRAY_COUNT(members); i++) {
        if (strcmp(name, "tools") == 0 && world.card_tools != NULL)
            return span_from_string(world.card_tools);
        if (strcmp(members[i][0], name) == 0)
            return span_from_string(members[i][1]);
    }
    return SPAN_NONE;
}

static int authenticate(void *user, struct span authorization, struct principal **out,
                        struct failure *why)
{
    (void)user;
    if (span_is(authorization, "Bearer ann"))
        *out = principal_hold(world.ann);
    else if (span_is(authorization, "Bearer bob"))
        *out = principal_hold(world.bob);
    else
        return failure_set(why, FAULT_UNAUTHENTICATED, "a bearer token is needed");
    return 0;
}

// --- the worker
// ------------------------------------------------------------------------------------

static inline const char *terminated(struct buffer *b)
{
    buffer_append_char(b, '\0');
    buffer_truncate(b, buffer_size(b) - 1);
    return buffer_span(b).data;
}

static void worker_answer(struct exchange *ex, int status, const char *type, const char *body)
{
    struct http_header header = {SPAN_LITERAL("content-type"), span_from_string(type)};
    struct http_response head = {status, &header, 1, (int64_t)strlen(body)};
    exchange_respond(ex, &head, span_from_string(body));
}

static void worker_body_ended(struct exchange *ex);

static void worker_request(void *service, struct exchange *ex)
{
    (void)service;
    buffer_clear(&world.worker_body);
    buffer_printf(&world.worker_seen, "%.*s %.*s\n", SPAN_ARGS(exchange_method(ex)),
                  SPAN_ARGS(exchange_path(ex)));
    for (size_t i = 0; i < exchange_header_count(ex); i++)
        buffer_printf(&world.worker_seen, "%.*s: %.*s\n",
                      SPAN_ARGS(exchange_header_at(ex, i)->name),
                      SPAN_ARGS(exchange_header_at(ex, i)->value));
    if (exchange_has_body(ex))
        exchange_read_body(ex, 1 << 20);
    else
        worker_body_ended(ex);
}

static void worker_body(struct exchange *ex, struct span bytes)
{
    (void)ex;
    buffer_append(&world.worker_body, bytes);
}

static void worker_body_ended(struct exchange *ex)
{
    buffer_append(&world.worker_seen, buffer_span(&world.worker_body));
    buffer_append_char(&world.worker_seen, '\n');
    if (!span_is(exchange_path(ex), "/mcp") ||
        strstr(terminated(&world.worker_body), "notifications/") != NULL) {
        struct http_response head = {202, NULL, 0, 0};
        exchange_respond(ex, &head, SPAN_LITERAL(""));
        return;
    }
    struct failure why;
    world.worker_calls++;
    world.worker_exchange = ex;
    struct http_header stream = {SPAN_LITERAL("content-type"), SPAN_LITERAL("text/event-stream")};
    struct http_response head = {200, &stream, 1, -1};
    switch (world.mode) {
    case WORKER_ANSWERS:
        worker_answer(ex, 200, "application/json", world.worker_answer);
        break;
    case WORKER_FORGOT:
        worker_answer(ex, 404, "application/json",
                      "{\"error\":{\"fault\":\"NOT_FOUND\",\"message\":\"unknown session\"}}");
        break;
    case WORKER_STREAMS:
        exchange_start(ex, &head);
        break;
    case WORKER_DIES:
        failure_set(&why, FAULT_IO, "the worker died");
        exchange_abort(ex, &why);
        break;
    case WORKER_IS_EMPTY:
        exchange_respond(ex, &(struct http_response){204, NULL, 0, 0}, SPAN_LITERAL(""));
        break;
    case WORKER_WAITS:
        break;
    }
}

static void worker_closed(struct exchange *ex, const struct failure *why)
{
    (void)why;
    if (world.worker_exchange == ex)
        world.worker_exchange = NULL;
}

static const struct exchange_ops worker_ops = {
    .request = worker_request,
    .body = worker_body,
    .body_ended = worker_body_ended,
    .closed = worker_closed,
};

static void worker_accepted(void *owner, int fd, const struct address *peer)
{
    (void)owner;
    struct stream_limits limits = {1 << 16, 1 << 24, 1 << 20, 1 << 18};
    http_server_adopt(world.worker, stream_from_fd(world.loop, fd, peer, &limits));
}

// --- the client
// ------------------------------------------------------------------------------------

struct client {
    struct stream *stream;
    struct buffer in;   // since the last client_send
    struct buffer body; // of it, without chunks
    bool is_ended;      // the last chunk came
    size_t told;        // what client_news has told of the body
    int status;
};

static void client_readable(void *owner, struct buffer *in)
{
    struct client *c = owner;
    buffer_append(&c->in, buffer_span(in));
    buffer_consume(in, buffer_size(in));
}

static void client_nothing(void *owner)
{
    (void)owner;
}

static void client_closed(void *owner, const struct failure *why)
{
    struct client *c = owner;
    (void)why;
    c->stream = NULL;
}

static const struct stream_ops client_ops = {
    .readable = client_readable,
    .read_ended = client_nothing,
    .drained = client_nothing,
    .closed = client_closed,
};

static inline void turn(int times)
{
    for (int i = 0; i < times; i++)
        loop_turn(world.loop, false);
}

static inline void client_open(struct client *c)
{
    struct stream_limits limits = {1 << 20, 1 << 24, 1 << 20, 1 << 18};
    struct stream *end;
    *c = (struct client){0};
    buffer_init(&c->in, 1 << 26);
    buffer_init(&c->body, 1 << 26);
    stream_pair(world.loop, 1 << 16, &limits, &c->stream, &end);
    stream_set_owner(c->stream, &client_ops, c);
    http_server_adopt(world.server, end);
}

static inline void client_close(struct client *c)
{
    if (c->stream != NULL)
        stream_close(c->stream);
    buffer_fini(&c->in);
    buffer_fini(&c->body);
    turn(20);
}

// More headers end with CRLF each. A body makes it a JSON POST.
static inline void client_send(struct client *c, const char *line, const char *headers,
                               const char *body)
{
    char head[4096];
    int size = snprintf(head, sizeof head, "%s HTTP/1.1\r\nhost: localhost\r\n%s", line, headers);
    buffer_clear(&c->in);
    c->told = 0;
    if (body != NULL)
        size += snprintf(head + size, sizeof head - (size_t)size,
                         "content-type: application/json\r\ncontent-length: %zu\r\n", strlen(body));
    size += snprintf(head + size, sizeof head - (size_t)size, "\r\n");
    stream_write(c->stream, span_of(head, (size_t)size));
    if (body != NULL)
        stream_write(c->stream, span_from_string(body));
    turn(60);
}

static void client_take_chunks(struct client *c, const char *at)
{
    const char *end = buffer_span(&c->in).data + buffer_size(&c->in);
    while (at < end) {
        char *line;
        size_t size = strtoul(at, &line, 16);
        c->is_ended = size == 0;
        if (c->is_ended || line + 2 + size > end)
            return;
        buffer_append(&c->body, span_of(line + 2, size));
        at = line + 2 + size + 2;
    }
}

// The body of the answer so far, as a string.
static inline const char *client_text(struct client *c)
{
    const char *text = terminated(&c->in);
    c->status = buffer_size(&c->in) > 12 ? (int)strtol(text + 9, NULL, 10) : 0;
    const char *body = strstr(text, "\r\n\r\n");
    buffer_clear(&c->body);
    if (body != NULL && strstr(text, "transfer-encoding: chunked") != NULL)
        client_take_chunks(c, body + 4);
    else if (body != NULL)
        buffer_append_string(&c->body, body + 4);
    return terminated(&c->body);
}

// What came of it since the last time.
static inline const char *client_news(struct client *c)
{
    const char *text = client_text(c) + c->told;
    c->told = buffer_size(&c->body);
    return text;
}

#define ANN  "authorization: Bearer ann\r\n"
#define BOB  "authorization: Bearer bob\r\n"
#define BOTH "accept: application/json, text/event-stream\r\n"
#define JSON "accept: application/json\r\n"
#define INIT                                                                                       \
    "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":"     \
    "\"2025-11-25\",\"capabilities\":{},\"clientInfo\":{\"name\":\"t\",\"version\":\"1\"}}}"
#define CALL                                                                                       \
    "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{\"name\":\"Bash\","       \
    "\"arguments\":{\"n\":1.50}}}"
#define PING "{\"jsonrpc\":\"2.0\",\"id\":\"p\",\"method\":\"ping\"}"

// A header of the answer, copied to `out`.
static inline void client_header(struct client *c, const char *name, char *out, size_t size)
{
    char key[64];
    client_text(c);
    snprintf(key, sizeof key, "\r\n%s: ", name);
    const char *at = strstr(buffer_span(&c->in).data, key);
    out[0] = '\0';
    for (size_t i = 0; at != NULL && i + 1 < size && at[strlen(key) + i] != '\r'; i++) {
        out[i] = at[strlen(key) + i];
        out[i + 1] = '\0';
    }
}

// Asks on a connection of its own; returns the body's text, until the next ask.
static inline const char *ask(const char *line, const char *headers, const char *body, int *status)
{
    static struct client c;
    static bool is_open;
    if (is_open)
        client_close(&c);
    is_open = line != NULL;
    if (line == NULL)
        return NULL;
    client_open(&c);
    client_send(&c, line, headers, body);
    const char *text = client_text(&c);
    *status = c.status;
    return text;
}

// Opens a session; `headers` then hold credential, accept and session id.
static inline void open_session(const char *path, const char *who, char headers[1024])
{
    struct client c;
    char id[600], line[128];
    client_open(&c);
    snprintf(line, sizeof line, "POST %s", path);
    snprintf(headers, 1024, "%s" BOTH, who);
    client_send(&c, line, headers, INIT);
    client_header(&c, "mcp-session-id", id, sizeof id);
    assert_int_not_equal(id[0], '\0');
    snprintf(headers, 1024, "%s" BOTH "mcp-session-id: %s\r\n", who, id);
    client_close(&c);
}

// --- the whole
// -------------------------------------------------------------------------------------

static void world_configure(void)
{
    static char origin[] = "https://app.example";
    static char *origins[] = {origin};
    struct config *c = &world.config;
    *c = (struct config){.default_profile = "trial",
                         .profiles = world.profiles,
                         .profile_count = 2,
                         .allowed_origins = origins,
                         .allowed_origin_count = 1,
                         .body_bytes = 4096,
                         .keepalive_ms = 15000,
                         .commit_ms = 2000};
    world.profiles[0] =
        (struct profile){.name = "trial", .start_timeout_ms = 60000, .call_timeout_ms = 600000};
    world.profiles[1] = (struct profile){.name = "other",
                                         .start_timeout_ms = 60000,
                                         .call_timeout_ms = 600000,
                                         .bind = BIND_MODE_PRINCIPAL};
}

static void world_open_worker(void)
{
    struct listener_options options = {0};
    struct http_server_limits limits;
    struct http_client_options client;
    struct failure why;
    char path[128];
    snprintf(path, sizeof path, "unix:%s/worker.sock", world.folder);
    assert_int_equal(address_parse(span_from_string(path), &options.address, &why), 0);
    world.listener = listener_open(world.loop, &options, worker_accepted, NULL, &why);
    assert_non_null(world.listener);
    http_server_limits_default(&limits);
    world.worker = http_server_new(world.loop, &limits, &worker_ops, NULL);
    http_client_options_default(&client);
    client.address = options.address;
    world.link = http_client_new(world.loop, &client);
    buffer_init(&world.worker_body, 1 << 20);
    buffer_init(&world.worker_seen, 1 << 22);
}

static int world_open(void **state)
{
    (void)state;
    struct failure why;
    char path[128];
    static const char *const only_other[] = {"other"};
    world =
        (struct world){.has_card = true,
                       .knows_sandbox = true,
                       .worker_answer = "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\n\"a\":1}}"};
    log_open("test", LOG_ERROR, STDERR_FILENO);
    snprintf(world.folder, sizeof world.folder, "/tmp/wrist-proxy-XXXXXX");
    assert_non_null(mkdtemp(world.folder));
    clock_fake_init(&world.clock);
    world.loop = loop_new(&world.clock.clock);
    snprintf(path, sizeof path, "%s/ring", world.folder);
    assert_int_equal(keyring_open(path, 1, &world.ring, &why), 0);
    world_configure();
    world_open_worker();
    world.metrics = metrics_new();
    world.ann = principal_new(&(struct principal_values){
        .issuer = "file", .subject = "ann", .tenant = "t", .provider = ""});
    world.bob = principal_new(&(struct principal_values){.issuer = "file",
                                                         .subject = "bob",
                                                         .tenant = "t",
                                                         .provider = "",
                                                         .profiles = only_other,
                                                         .profile_count = 1});
    struct proxy_options options = {.loop = world.loop,
                                    .config = &world.config,
                                    .keyring = world.ring,
                                    .metrics = world.metrics,
                                    .auth = {authenticate, NULL}};
    world.proxy = proxy_new(&options);
    struct http_server_limits limits;
    http_server_limits_default(&limits);
    world.server = http_server_new(world.loop, &limits, proxy_exchange_ops(),
                                   proxy_listener(world.proxy, true));
    return 0;
}

static int world_close(void **state)
{
    (void)state;
    char path[128];
    ask(NULL, NULL, NULL, NULL);
    http_server_close(world.server);
    turn(20);
    proxy_free(world.proxy);
    assert_int_equal(world.leases_live, 0);
    assert_int_equal(metric_value(metric_gauge(world.metrics, "wrist_exchanges_live", "", "")), 0);
    assert_int_equal(metric_value(metric_gauge(world.metrics, "wrist_streams_live", "", "")), 0);
    http_client_close(world.link);
    http_server_close(world.worker);
    listener_close(world.listener);
    turn(20);
    principal_drop(world.ann);
    principal_drop(world.bob);
    metrics_free(world.metrics);
    keyring_free(world.ring);
    buffer_fini(&world.worker_body);
    buffer_fini(&world.worker_seen);
    loop_free(world.loop);
    snprintf(path, sizeof path, "%s/ring", world.folder);
    unlink(path);
    snprintf(path, sizeof path, "%s/worker.sock", world.folder);
    unlink(path);
    rmdir(world.folder);
    return 0;
}

#endif
