// SPDX-License-Identifier: Apache-2.0
//
// The bench's upstream: answers tools/call with a text of as many bytes as its argument `bytes`
// says, and does nothing else, so that what is measured is what stands before it.
//
//   upstream FOLDER   plays wrist-driver on FOLDER/driver.sock and a worker on a socket of its own
//                     for each sandbox; the same MCP answers stand on FOLDER/peers.sock for the
//                     proxies beside Wrist and on 127.0.0.1 at the port that it prints
//   upstream --stdio  the same answers to an MCP client on stdin and stdout
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "gateway/lib/base/memory.h"
#include "gateway/lib/control/driver_api.h"
#include "gateway/lib/control/link.h"
#include "gateway/lib/http/server.h"
#include "gateway/lib/json/json.h"
#include "gateway/lib/loop/loop.h"
#include "gateway/lib/net/listener.h"
#include "gateway/lib/net/stream.h"

enum {
    BODY_BYTES = 1 << 20,
    RESULT_BYTES_MAX = 40 << 20,
    SANDBOXES_MAX = 16384,
    CONNECTIONS = 20000,
};

static const char tools[] =
    "\"tools\":[{\"name\":\"payload\",\"description\":\"A text of that many bytes.\","
    "\"inputSchema\":{\"type\":\"object\",\"properties\":{\"bytes\":{\"type\":\"integer\"}}}}]";
static const char server_info[] = "\"serverInfo\":{\"name\":\"upstream\",\"version\":\"1\"},"
                                  "\"capabilities\":{\"tools\":{}}";

static char filler[RESULT_BYTES_MAX];

// --- MCP -----------------------------------------------------------------------------------------

static size_t asked_bytes(const struct json *doc, int params)
{
    int64_t bytes = 1024;
    int arguments = json_get(doc, params, "arguments");
    if (arguments != JSON_NONE)
        json_i64(doc, json_get(doc, arguments, "bytes"), &bytes);
    return bytes < 0 || bytes > RESULT_BYTES_MAX ? 0 : (size_t)bytes;
}

static void write_result(const struct json *doc, struct buffer *out)
{
    int method = json_get(doc, JSON_ROOT, "method");
    int params = json_get(doc, JSON_ROOT, "params");
    if (json_string_is(doc, method, "tools/call")) {
        buffer_append_string(out, "{\"content\":[{\"type\":\"text\",\"text\":\"");
        buffer_append(out, span_of(filler, asked_bytes(doc, params)));
        buffer_append_string(out, "\"}]}");
    } else if (json_string_is(doc, method, "initialize")) {
        int version = params != JSON_NONE ? json_get(doc, params, "protocolVersion") : JSON_NONE;
        buffer_printf(out, "{%s,\"protocolVersion\":", server_info);
        buffer_append(out, version != JSON_NONE ? json_raw(doc, version)
                                                : SPAN_LITERAL("\"2025-11-25\""));
        buffer_append_string(out, "}");
    } else if (json_string_is(doc, method, "tools/list")) {
        buffer_printf(out, "{%s}", tools);
    } else {
        buffer_append_string(out, "{}");
    }
}

// False for what wants no answer.
static bool mcp_answer(struct span message, struct buffer *out)
{
    struct json *doc;
    struct failure why;
    if (json_parse(message, NULL, &doc, &why) != 0)
        return false;
    int id = json_get(doc, JSON_ROOT, "id");
    bool answers = id != JSON_NONE && json_get(doc, JSON_ROOT, "method") != JSON_NONE;
    if (answers) {
        buffer_append_string(out, "{\"jsonrpc\":\"2.0\",\"id\":");
        buffer_append(out, json_raw(doc, id));
        buffer_append_string(out, ",\"result\":");
        write_result(doc, out);
        buffer_append_string(out, "}");
    }
    json_free(doc);
    return answers;
}

// --- HTTP ----------------------------------------------------------------------------------------

struct sandbox {
    struct driver_record record;
    char principal[PRINCIPAL_HASH_SIZE];
    struct http_server *server; // of its worker
};

static struct {
    struct loop *loop;
    const char *folder;
    struct sandbox *sandboxes[SANDBOXES_MAX];
    size_t sandbox_count;
} upstream;

typedef void take_body(struct sandbox *s, struct exchange *ex, struct span body);

struct request {
    struct sandbox *sandbox; // NULL at the driver and the peers' ports
    take_body *take;
    struct buffer body;
};

static void respond(struct exchange *ex, int status, struct span body)
{
    const struct http_header type = {SPAN_LITERAL("content-type"),
                                     SPAN_LITERAL("application/json")};
    const struct http_response head = {.status = status,
                                       .headers = &type,
                                       .header_count = body.size > 0 ? 1 : 0,
                                       .content_length = (int64_t)body.size};
    exchange_respond(ex, &head, body);
}

static void take_mcp(struct sandbox *s, struct exchange *ex, struct span body)
{
    struct buffer out;
    (void)s;
    buffer_init(&out, RESULT_BYTES_MAX + 4096);
    bool answers = mcp_answer(body, &out);
    respond(ex, answers ? 200 : 202, answers ? buffer_span(&out) : SPAN_LITERAL(""));
    buffer_fini(&out);
}

static void respond_status(struct sandbox *s, struct exchange *ex)
{
    struct link_status status = {.generation = s->record.generation, .absolute_left_ms = -1};
    struct buffer out;
    memcpy(status.sandbox, s->record.id, sizeof status.sandbox);
    memcpy(status.principal, s->principal, sizeof status.principal);
    buffer_init(&out, 4096);
    link_status_write(&status, &out);
    respond(ex, 200, buffer_span(&out));
    buffer_fini(&out);
}

static void take_bind(struct sandbox *s, struct exchange *ex, struct span body)
{
    struct link_bind bind;
    struct failure why;
    if (link_bind_parse(body, &bind, &why) != 0) {
        respond(ex, 400, SPAN_LITERAL(""));
        return;
    }
    memcpy(s->principal, bind.principal, sizeof s->principal);
    respond_status(s, ex);
}

static void read_body(struct exchange *ex, struct sandbox *s, take_body *take)
{
    struct request *r = arena_alloc(exchange_arena(ex), sizeof *r);
    *r = (struct request){.sandbox = s, .take = take};
    buffer_init(&r->body, BODY_BYTES);
    exchange_set_user(ex, r);
    if (exchange_has_body(ex))
        exchange_read_body(ex, BODY_BYTES);
    else
        take(s, ex, SPAN_LITERAL(""));
}

static void on_body(struct exchange *ex, struct span bytes)
{
    struct request *r = exchange_user(ex);
    buffer_append(&r->body, bytes);
}

static void on_body_ended(struct exchange *ex)
{
    struct request *r = exchange_user(ex);
    r->take(r->sandbox, ex, buffer_span(&r->body));
}

static void on_drained(struct exchange *ex)
{
    (void)ex;
}

static void on_closed(struct exchange *ex, const struct failure *why)
{
    struct request *r = exchange_user(ex);
    (void)why;
    if (r != NULL)
        buffer_fini(&r->body);
}

static bool is_route(struct exchange *ex, const char *method, const char *path)
{
    return span_is(exchange_method(ex), method) && span_is(exchange_path(ex), path);
}

static void worker_request(void *service, struct exchange *ex)
{
    struct sandbox *s = service;
    struct buffer card;
    exchange_set_user(ex, NULL);
    if (is_route(ex, "POST", "/mcp")) {
        read_body(ex, s, take_mcp);
    } else if (is_route(ex, "POST", "/bind")) {
        read_body(ex, s, take_bind);
    } else if (is_route(ex, "GET", "/status")) {
        respond_status(s, ex);
    } else if (is_route(ex, "GET", "/card")) {
        buffer_init(&card, 8192);
        buffer_printf(&card, "{\"digest\":\"sha256:%064d\",%s,%s}", 0, server_info, tools);
        respond(ex, 200, buffer_span(&card));
        buffer_fini(&card);
    } else {
        respond(ex, 204, SPAN_LITERAL(""));
    }
}

// The proxies beside Wrist: POST alone; a GET's 405 is what tells their clients so.
static void peer_request(void *service, struct exchange *ex)
{
    (void)service;
    exchange_set_user(ex, NULL);
    if (span_is(exchange_method(ex), "POST"))
        read_body(ex, NULL, take_mcp);
    else
        respond(ex, 405, SPAN_LITERAL(""));
}

static const struct exchange_ops worker_ops = {worker_request, on_body, on_body_ended, on_drained,
                                               on_closed};
static const struct exchange_ops peer_ops = {peer_request, on_body, on_body_ended, on_drained,
                                             on_closed};

static void on_accepted(void *owner, int fd, const struct address *peer)
{
    static const struct stream_limits limits = {.read_bytes = 1 << 20,
                                                .write_bytes = 2 * RESULT_BYTES_MAX,
                                                .high_water = 1 << 20,
                                                .low_water = 1 << 18};
    http_server_adopt(owner, stream_from_fd(upstream.loop, fd, peer, &limits));
}

static struct http_server *serve(const struct exchange_ops *ops, void *service, const char *at)
{
    struct http_server_limits limits;
    struct listener_options options = {.unix_mode = 0666};
    struct failure why;
    http_server_limits_default(&limits);
    limits.connections = limits.connections_per_peer = CONNECTIONS;
    limits.write_buffer_bytes = 2 * RESULT_BYTES_MAX;
    limits.idle_timeout_ms = 3600 * 1000;
    struct http_server *server = http_server_new(upstream.loop, &limits, ops, service);
    struct listener *l = NULL;
    if (address_parse(span_from_string(at), &options.address, &why) == 0)
        l = listener_open(upstream.loop, &options, on_accepted, server, &why);
    if (l == NULL) {
        fprintf(stderr, "upstream: %s: %s\n", at, why.text);
        exit(EXIT_FAILURE);
    }
    char text[ADDRESS_TEXT_SIZE];
    address_format(listener_address(l), text);
    if (!address_is_unix(listener_address(l))) {
        printf("%s\n", text);
        fflush(stdout);
    }
    return server;
}

// --- wrist-driver --------------------------------------------------------------------------------

static void respond_record(struct exchange *ex, int status, const struct sandbox *s)
{
    struct buffer out;
    buffer_init(&out, 8192);
    driver_record_write(&s->record, &out);
    respond(ex, status, buffer_span(&out));
    buffer_fini(&out);
}

static void take_create(struct sandbox *none, struct exchange *ex, struct span body)
{
    struct driver_create order;
    struct failure why;
    (void)none;
    if (upstream.sandbox_count == SANDBOXES_MAX || driver_create_parse(body, &order, &why) != 0) {
        respond(ex, 400, SPAN_LITERAL(""));
        return;
    }
    struct sandbox *s = memory_new(sizeof *s);
    struct driver_record *r = &s->record;
    *r = (struct driver_record){
        .generation = order.generation, .state = DRIVER_STATE_RUNNING, .created_ms = 1};
    memcpy(r->id, order.id, sizeof r->id);
    memcpy(r->fleet, order.fleet, sizeof r->fleet);
    memcpy(r->profile, order.profile, sizeof r->profile);
    snprintf(r->digest, sizeof r->digest, "sha256:%064d", 0);
    snprintf(r->endpoint, sizeof r->endpoint, "unix:%.60s/%s.sock", upstream.folder, r->id);
    s->server = serve(&worker_ops, s, r->endpoint);
    upstream.sandboxes[upstream.sandbox_count++] = s;
    respond_record(ex, 201, s);
}

static void list_sandboxes(struct exchange *ex)
{
    struct buffer out;
    buffer_init(&out, 64 << 20);
    buffer_append_string(&out, "{\"sandboxes\":[");
    for (size_t i = 0; i < upstream.sandbox_count; i++) {
        if (i > 0)
            buffer_append_string(&out, ",");
        driver_record_write(&upstream.sandboxes[i]->record, &out);
    }
    buffer_append_string(&out, "]}");
    respond(ex, 200, buffer_span(&out));
    buffer_fini(&out);
}

static void list_profiles(struct exchange *ex)
{
    char text[512];
    int size = snprintf(text, sizeof text,
                        "{\"profiles\":[{\"name\":\"trial\",\"digest\":\"sha256:%064d\","
                        "\"engine\":\"oci\",\"trial\":false,\"weak_isolation\":false}]}",
                        0);
    respond(ex, 200, span_of(text, (size_t)size));
}

static void driver_request(void *service, struct exchange *ex)
{
    (void)service;
    exchange_set_user(ex, NULL);
    if (is_route(ex, "POST", "/v1/sandboxes")) {
        read_body(ex, NULL, take_create);
    } else if (is_route(ex, "GET", "/v1/sandboxes")) {
        list_sandboxes(ex);
    } else if (is_route(ex, "GET", "/v1/profiles")) {
        list_profiles(ex);
    } else if (is_route(ex, "GET", "/v1/events")) {
        const struct http_response head = {.status = 200, .content_length = -1};
        exchange_start(ex, &head); // held
        exchange_write(ex, SPAN_LITERAL("{\"event\":\"hello\"}\n"));
    } else {
        respond(ex, 204,
                SPAN_LITERAL("")); // notes and ends: sandboxes stay until the bench is over
    }
}

static const struct exchange_ops driver_ops = {driver_request, on_body, on_body_ended, on_drained,
                                               on_closed};

// --- the program ---------------------------------------------------------------------------------

static int run_stdio(void)
{
    char *line = NULL;
    size_t room = 0;
    ssize_t size;
    struct buffer out;
    buffer_init(&out, RESULT_BYTES_MAX + 4096);
    while ((size = getline(&line, &room, stdin)) > 0) {
        buffer_clear(&out);
        if (mcp_answer(span_of(line, (size_t)size), &out)) {
            buffer_append_char(&out, '\n');
            fwrite(buffer_span(&out).data, 1, buffer_size(&out), stdout);
            fflush(stdout);
        }
    }
    buffer_fini(&out);
    free(line);
    return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    char address[128];
    if (argc != 2) {
        fprintf(stderr, "usage: upstream FOLDER|--stdio\n");
        return 2;
    }
    memset(filler, 'x', sizeof filler);
    if (strcmp(argv[1], "--stdio") == 0)
        return run_stdio();
    upstream.folder = argv[1];
    upstream.loop = loop_new(clock_system());
    snprintf(address, sizeof address, "unix:%.90s/driver.sock", upstream.folder);
    serve(&driver_ops, NULL, address);
    snprintf(address, sizeof address, "unix:%.90s/peers.sock", upstream.folder);
    serve(&peer_ops, NULL, address);
    serve(&peer_ops, NULL, "127.0.0.1:0");
    loop_run(upstream.loop);
    return EXIT_SUCCESS;
}
