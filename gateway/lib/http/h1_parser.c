// SPDX-License-Identifier: Apache-2.0
#include "gateway/lib/http/h1_parser.h"

#include <stdlib.h>

#include "gateway/lib/base/memory.h"
#include "gateway/lib/net/chunk.h"

enum {
    FIRST_PIECES = 32,
    // Chunk sizes, extensions and trailers may outweigh the body, but not without end.
    OVERHEAD_FLOOR = 16 * 1024,
    OVERHEAD_PER_BODY_BYTE = 8,
};

// ---- adapters for llhttp

static int add_bytes(struct h1_parser *p, const char *at, size_t size)
{
    if (!p->is_open) {
        if (p->piece_count / 2 > p->limits->header_count)
            return HPE_USER;
        if (p->piece_count == p->piece_capacity) {
            p->piece_capacity = p->piece_capacity > 0 ? p->piece_capacity * 2 : FIRST_PIECES;
            p->pieces = memory_resize(p->pieces, p->piece_capacity, sizeof *p->pieces);
        }
        p->pieces[p->piece_count++] = (struct h1_piece){.at = (uint32_t)buffer_size(&p->text)};
        p->is_open = true;
    }
    p->pieces[p->piece_count - 1].size += (uint32_t)size;
    return buffer_append(&p->text, span_of(at, size)) == 0 ? 0 : HPE_USER;
}

static struct h1_parser *parser_of(llhttp_t *http)
{
    return http->data;
}

static int on_text(llhttp_t *http, const char *at, size_t size)
{
    struct h1_parser *p = parser_of(http);
    return p->in_head ? add_bytes(p, at, size) : 0; // trailers are read and dropped
}

static int on_text_complete(llhttp_t *http)
{
    struct h1_parser *p = parser_of(http);
    // An empty value is a piece too.
    if (p->in_head && !p->is_open && add_bytes(p, "", 0) != 0)
        return HPE_USER;
    p->is_open = false;
    return 0;
}

static int on_headers_complete(llhttp_t *http)
{
    struct h1_parser *p = parser_of(http);
    p->in_head = false;
    http->upgrade = 0; // attempts are ignored
    int status = http->type == HTTP_RESPONSE ? http->status_code : 200;
    if (p->bodyless || status / 100 == 1 || status == 204 || status == 304)
        http->flags |= F_SKIPBODY;
    return HPE_PAUSED;
}

static int on_body(llhttp_t *http, const char *at, size_t size)
{
    struct h1_parser *p = parser_of(http);
    if (p->body == NULL)
        p->body = (char *)(uintptr_t)at; // the caller's own bytes, which it gave as writable
    else if (p->body + p->body_size != at)
        memmove(p->body + p->body_size, at, size);
    p->body_size += size;
    return 0;
}

static int on_message_complete(llhttp_t *http)
{
    parser_of(http)->paused_at_end = true;
    return HPE_PAUSED;
}

static const llhttp_settings_t settings = {
    .on_url = on_text,
    .on_url_complete = on_text_complete,
    .on_header_field = on_text,
    .on_header_field_complete = on_text_complete,
    .on_header_value = on_text,
    .on_header_value_complete = on_text_complete,
    .on_headers_complete = on_headers_complete,
    .on_body = on_body,
    .on_message_complete = on_message_complete,
};

// ---- the head, line by line before llhttp sees it

static enum h1_event fail(struct h1_parser *p, int status, const char *text)
{
    p->error = (struct h1_error){status, text};
    return H1_BAD;
}

static enum h1_event check_size(struct h1_parser *p, size_t more)
{
    p->head_size += more;
    p->line_size += more;
    if (!p->request_line_done && p->http.type == HTTP_REQUEST &&
        p->line_size > p->limits->head_bytes / 2)
        return fail(p, 414, "the request target is too long");
    if (p->head_size > p->limits->head_bytes)
        return fail(p, 431, "the head is too large");
    return H1_MORE;
}

static bool has_spare_spaces(struct h1_parser *p, const char *at, const char *stop)
{
    if (p->request_line_done || p->http.type != HTTP_REQUEST)
        return false;
    for (; at < stop; at++)
        p->spaces += *at == ' ';
    return p->spaces > 2;
}

// Finds out how many of the bytes belong to the head (*size, *ends), and refuses what llhttp may
// let pass: a line feed without its carriage return, and folded lines.
static enum h1_event scan_head(struct h1_parser *p, const char *bytes, size_t *size, bool *ends)
{
    const char *at = bytes, *end = bytes + *size;
    *ends = false;
    while (at < end) {
        if (p->request_line_done && p->line_size == 0 && (*at == ' ' || *at == '\t'))
            return fail(p, 400, "a header line is folded");
        if (p->request_line_done && p->line_size == 0 && *at == ':')
            return fail(p, 400, "a header has no name");
        const char *feed = memchr(at, '\n', (size_t)(end - at));
        const char *stop = feed != NULL ? feed + 1 : end;
        bool after_cr = feed != NULL && (feed > at ? feed[-1] == '\r' : p->line_was_cr);
        if (feed != NULL && !after_cr)
            return fail(p, 400, "a line ends without a carriage return");
        if (check_size(p, (size_t)(stop - at)) != H1_MORE)
            return H1_BAD;
        if (has_spare_spaces(p, at, stop))
            return fail(p, 400, "the request line has more than two spaces");
        p->line_was_cr = stop[-1] == '\r';
        at = stop;
        if (feed == NULL)
            continue;
        bool empty = p->line_size == 2;
        p->line_size = 0;
        if (empty && p->request_line_done) {
            *ends = true;
            break;
        }
        if (!empty)
            p->request_line_done = true;
    }
    *size = (size_t)(at - bytes);
    return H1_MORE;
}

static enum h1_event explain(struct h1_parser *p, llhttp_errno_t error)
{
    if (error == HPE_USER)
        return fail(p, 431, "the head is too large");
    if (error == HPE_INVALID_METHOD && p->first_byte >= 'A' && p->first_byte <= 'Z')
        return fail(p, 501, "unknown method");
    if (error == HPE_INVALID_VERSION)
        return fail(p, 505, "this HTTP version is not spoken here");
    const char *reason = llhttp_get_error_reason(&p->http);
    return fail(p, 400, reason != NULL && *reason != '\0' ? reason : "not HTTP/1.1");
}

static enum h1_event step_head(struct h1_parser *p, char *bytes, size_t size, size_t *used)
{
    bool ends;
    if (scan_head(p, bytes, &size, &ends) != H1_MORE)
        return H1_BAD;
    if (p->piece_count == 0)
        p->first_byte = bytes[0];
    chunk_lend(&p->text);
    llhttp_errno_t error = llhttp_execute(&p->http, bytes, size);
    *used = size;
    if (error == HPE_OK && !ends)
        return H1_MORE;
    if (error != HPE_PAUSED || !ends || p->in_head)
        return error != HPE_OK && error != HPE_PAUSED ? explain(p, error)
                                                      : fail(p, 400, "not HTTP/1.1");
    llhttp_resume(&p->http);
    return H1_HEAD;
}

static enum h1_event step_body(struct h1_parser *p, char *bytes, size_t size, size_t *used)
{
    p->body = NULL;
    p->body_size = 0;
    llhttp_errno_t error = llhttp_execute(&p->http, bytes, size);
    if (error == HPE_PAUSED) {
        size = (size_t)(llhttp_get_error_pos(&p->http) - bytes);
        llhttp_resume(&p->http);
    } else if (error != HPE_OK) {
        return explain(p, error);
    }
    *used = size;
    p->body_total += p->body_size;
    p->overhead += size - p->body_size;
    if (p->overhead > OVERHEAD_FLOOR + p->body_total * OVERHEAD_PER_BODY_BYTE)
        return fail(p, 400, "too much framing around too little body");
    if (p->body_size > 0)
        return H1_BODY;
    return p->paused_at_end ? H1_END : H1_MORE;
}

enum h1_event h1_parser_step(struct h1_parser *p, char *bytes, size_t size, size_t *used)
{
    *used = 0;
    if (p->paused_at_end)
        return H1_END;
    if (p->in_head)
        return size > 0 ? step_head(p, bytes, size, used) : H1_MORE;
    // With no bytes too: a head without a body is complete only once llhttp goes on.
    return step_body(p, bytes, size, used);
}

// ---- between messages

static void begin(struct h1_parser *p)
{
    p->in_head = true;
    p->is_open = p->line_was_cr = p->request_line_done = p->paused_at_end = false;
    p->bodyless = false;
    p->head_size = p->line_size = p->spaces = 0;
    p->piece_count = 0;
    p->body_total = p->overhead = 0;
}

void h1_parser_init(struct h1_parser *p, llhttp_type_t type, const struct h1_limits *limits)
{
    *p = (struct h1_parser){.limits = limits};
    buffer_init(&p->text, limits->head_bytes > CHUNK_SIZE ? limits->head_bytes : CHUNK_SIZE);
    llhttp_init(&p->http, type, &settings);
    p->http.data = p;
    begin(p);
}

void h1_parser_fini(struct h1_parser *p)
{
    chunk_take_back(&p->text);
    free(p->pieces);
    p->pieces = NULL;
}

void h1_parser_next(struct h1_parser *p)
{
    llhttp_reset(&p->http);
    begin(p);
}

enum h1_event h1_parser_finish(struct h1_parser *p)
{
    if (p->paused_at_end)
        return H1_END;
    if (p->in_head && p->head_size == 0)
        return H1_MORE;
    llhttp_errno_t error = llhttp_finish(&p->http);
    if (p->paused_at_end)
        return H1_END;
    return fail(p, 400, error == HPE_OK ? "ended early" : "the message was cut off");
}

bool h1_parser_has_begun(const struct h1_parser *p)
{
    return p->head_size > 0;
}

static void lower(char *text, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (text[i] >= 'A' && text[i] <= 'Z')
            text[i] = (char)(text[i] + ('a' - 'A'));
}

int h1_parser_take_head(struct h1_parser *p, struct arena *arena, struct h1_head *out)
{
    struct span text = buffer_span(&p->text);
    size_t first = p->http.type == HTTP_REQUEST ? 1 : 0;
    size_t count = (p->piece_count - first) / 2;
    char *copy = arena_try_alloc(arena, text.size + 1);
    struct http_header *headers = arena_try_alloc(arena, (count + 1) * sizeof *headers);
    *out = (struct h1_head){.headers = headers, .header_count = count};
    if (copy != NULL && headers != NULL) {
        memcpy(copy, text.data, text.size);
        if (first == 1)
            out->target = span_of(copy + p->pieces[0].at, p->pieces[0].size);
        for (size_t i = 0; i < count; i++) {
            const struct h1_piece *name = &p->pieces[first + 2 * i], *value = name + 1;
            lower(copy + name->at, name->size);
            headers[i].name = span_of(copy + name->at, name->size);
            headers[i].value = span_trim(span_of(copy + value->at, value->size));
        }
    }
    chunk_take_back(&p->text);
    p->piece_count = 0;
    return copy != NULL && headers != NULL ? 0 : FAULT_TOO_LARGE;
}

int64_t h1_parser_content_length(const struct h1_parser *p)
{
    bool told = (p->http.flags & F_CONTENT_LENGTH) != 0;
    return told && p->http.content_length <= INT64_MAX ? (int64_t)p->http.content_length : -1;
}

bool h1_parser_keeps_alive(const struct h1_parser *p)
{
    return llhttp_should_keep_alive(&p->http) != 0;
}
