// SPDX-License-Identifier: Apache-2.0
//
// What the files of an HTTP/2 connection share; nobody else includes it.
//
//   h2_server.c   the connection: reading, flushing, timers, drain
//   h2_session.c  what nghttp2 reports, noted down on streams; nothing of the handler runs there
//   h2_stream.c   the carrier of one exchange, and what is dispatched to it afterwards
//   h2_flood.c    how much a peer may annoy
#ifndef WRIST_GATEWAY_LIB_HTTP_H2_H
#define WRIST_GATEWAY_LIB_HTTP_H2_H

#include <nghttp2/nghttp2.h>

#include "gateway/lib/http/connection.h"
#include "gateway/lib/http/exchange_core.h"

enum {
    // A stream's window is the server's body_buffer_bytes. The connection's is given back as soon
    // as bytes are read, so that one stream that is not read stops no other, until this many wait.
    H2_CONNECTION_WINDOW = 1024 * 1024,
    H2_DATA_CREDIT = 2,    // a frame of data is answered by up to two window updates
    H2_USEFUL_BYTES = 256, // smaller frames may be a dribble, which earns nothing
};

enum h2_state {
    H2_OPEN,
    H2_NOTICED,   // draining: the first GOAWAY is out, requests under way still come
    H2_ENDING,    // no new streams; ends with the last one
    H2_LINGERING, // the last bytes are out, what comes is dropped
    H2_GONE,      // buried
};

struct h2_flood {
    int64_t tokens; // below 0: enough
    int64_t refilled_us;
    enum http_hostility kind; // of the last charge
};

// Streams that ended from our side only. A head (trailers) that the peer sent on them before it
// knew is no fault of its own; on any other closed stream it is (RFC 9113 §5.1, §5.1.1).
struct h2_resets {
    int32_t ids[16];
    uint32_t next;
    int32_t forgotten; // up to this id nobody remembers any more: no fault is found
};

struct h2_stream;

struct h2_connection {
    struct connection base;
    enum h2_state state;
    nghttp2_session *session;      // owned
    struct list streams;           // struct h2_stream, all of them
    struct list events;            // those that have something to be dispatched
    struct h2_stream *assembling;  // borrowed; whose head is not complete
    struct h2_stream *data_stream; // borrowed; whose bytes `data` are, within one step
    struct span data;
    size_t unread;     // of all streams
    int32_t newest_id; // of the streams that the peer opened
    struct h2_resets resets;
    uint32_t fault; // the GOAWAY's code for what our own callbacks found
    struct h2_flood flood;
    struct task dispatch, flush;
    struct timer idle, tick;
    struct reading reading;
};

// Lies in its exchange's arena.
struct h2_stream {
    struct exchange *ex;
    struct h2_connection *connection;
    struct list node, event;
    int32_t id;
    size_t header_capacity, head_size;
    size_t owed;          // unread bytes that the connection's window still lacks
    struct buffer unread; // body bytes the handler did not want yet
    struct buffer out;    // response bytes that wait for window or socket
    uint64_t sent;
    struct reading reading;
    uint32_t reset_code;
    bool head_too_large, expects_continue;
    // What nghttp2 said and was not dispatched yet.
    bool is_new, request_ended, was_reset, is_drained, answer_is_out;
    bool dispatched, out_ended, deferred, choked;
};

// h2_session.c
nghttp2_session *h2_session_new(struct h2_connection *c);

// h2_stream.c
struct h2_stream *h2_stream_new(struct h2_connection *c, int32_t id);
int h2_stream_add_header(struct h2_stream *stream, struct span name, struct span value);
void h2_stream_note(struct h2_stream *stream); // it goes on the list of events
void h2_stream_dispatch(struct h2_stream *stream);
void h2_stream_take_data(struct h2_stream *stream, struct span bytes);
void h2_stream_finish(struct h2_stream *stream, const struct failure *why);
ssize_t h2_stream_read_out(struct h2_stream *stream, size_t size, uint32_t *flags);
int h2_stream_send_out(struct h2_stream *stream, struct span frame_head, size_t size);
void h2_stream_check_progress(struct h2_stream *stream); // the client must take bytes that wait

// h2_server.c
void h2_want_flush(struct h2_connection *c);
void h2_streams_changed(struct h2_connection *c);

// h2_flood.c
void h2_flood_init(struct h2_flood *flood, int64_t now_us);
void h2_flood_charge(struct h2_flood *flood, int64_t now_us, enum http_hostility kind,
                     int64_t cost);
void h2_flood_credit(struct h2_flood *flood, int64_t amount);

#endif
