// SPDX-License-Identifier: Apache-2.0
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <stdlib.h>

#include "gateway/lib/base/memory.h"
#include "gateway/lib/net/transport.h"
#include "gateway/lib/tls/tls_context.h"

struct tls {
    SSL *ssl; // owned
    // The last read found less than a record: what SSL_has_pending counts is of no use until the
    // fd brings more.
    bool dry;
};

// What a call that did not succeed means for the stream.
static int transport_result(struct tls *tls, int rc, const char *doing, struct failure *why)
{
    int saved = errno;
    switch (SSL_get_error(tls->ssl, rc)) {
    case SSL_ERROR_WANT_READ:
        return TRANSPORT_WANTS_READ;
    case SSL_ERROR_WANT_WRITE:
        return TRANSPORT_WANTS_WRITE;
    case SSL_ERROR_ZERO_RETURN:
        return 0;
    case SSL_ERROR_SYSCALL:
        ERR_clear_error();
        errno = saved;
        if (saved == 0)
            failure_set(why, FAULT_CLOSED, "%s: the peer is gone", doing);
        else
            failure_errno(why, "%s", doing);
        return TRANSPORT_FAILED;
    default:
        tls_failure(why, FAULT_PEER, doing);
        return TRANSPORT_FAILED;
    }
}

static int tls_handshake(void *state, int fd, struct failure *why)
{
    struct tls *tls = state;
    (void)fd;
    ERR_clear_error();
    errno = 0;
    int rc = SSL_do_handshake(tls->ssl);
    if (rc == 1)
        return 0;
    int result = transport_result(tls, rc, "TLS handshake", why);
    if (result != 0)
        return result;
    failure_set(why, FAULT_CLOSED, "TLS handshake: the peer closed");
    return TRANSPORT_FAILED;
}

static ssize_t tls_read(void *state, int fd, char *to, size_t size, struct failure *why)
{
    struct tls *tls = state;
    (void)fd;
    ERR_clear_error();
    errno = 0;
    int n = SSL_read(tls->ssl, to, size > INT32_MAX ? INT32_MAX : (int)size);
    tls->dry = n <= 0;
    return n > 0 ? n : transport_result(tls, n, "TLS read", why);
}

static ssize_t tls_write(void *state, int fd, const char *from, size_t size, struct failure *why)
{
    struct tls *tls = state;
    (void)fd;
    ERR_clear_error();
    errno = 0;
    int n = SSL_write(tls->ssl, from, size > INT32_MAX ? INT32_MAX : (int)size);
    if (n > 0)
        return n;
    int result = transport_result(tls, n, "TLS write", why);
    if (result != 0)
        return result;
    failure_set(why, FAULT_CLOSED, "TLS write: the peer closed");
    return TRANSPORT_FAILED;
}

static bool tls_has_more(const void *state)
{
    const struct tls *tls = state;
    return !tls->dry && SSL_has_pending(tls->ssl) == 1;
}

static void tls_end(void *state, int fd)
{
    struct tls *tls = state;
    ERR_clear_error();
    SSL_shutdown(tls->ssl); // close_notify; the peer's is read like any other end
    shutdown(fd, SHUT_WR);
}

static struct span tls_protocol(const void *state)
{
    const struct tls *tls = state;
    const unsigned char *name;
    unsigned size;
    SSL_get0_alpn_selected(tls->ssl, &name, &size);
    return size > 0 ? span_of(name, size) : SPAN_NONE;
}

static void tls_close(void *state)
{
    struct tls *tls = state;
    ERR_clear_error();
    // Without this a connection that just ended would not be resumable.
    SSL_set_shutdown(tls->ssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
    SSL_free(tls->ssl);
    free(tls);
}

static const struct transport_ops tls_transport = {
    .handshake = tls_handshake,
    .read = tls_read,
    .write = tls_write,
    .has_more = tls_has_more,
    .end = tls_end,
    .protocol = tls_protocol,
    .encrypted = true,
    .close = tls_close,
};

static struct tls *new_tls(const struct tls_context *context, int fd)
{
    struct tls *tls = memory_new(sizeof *tls);
    tls->ssl = SSL_new(context->shared);
    if (tls->ssl == NULL || SSL_set_fd(tls->ssl, fd) != 1)
        abort();
    tls->dry = true;
    return tls;
}

struct stream *tls_accept(struct loop *loop, const struct tls_context *context, int fd,
                          const struct address *peer, const struct stream_limits *limits,
                          int64_t handshake_ms)
{
    struct tls *tls = new_tls(context, fd);
    SSL_set_accept_state(tls->ssl);
    return stream_new(loop, fd, peer, limits, &tls_transport, tls, handshake_ms);
}

static void expect_name(SSL *ssl, const char *server_name)
{
    struct in6_addr literal;
    if (inet_pton(AF_INET, server_name, &literal) == 1 ||
        inet_pton(AF_INET6, server_name, &literal) == 1) {
        X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), server_name);
        return;
    }
    // OpenSSL's macro casts the const away; it only reads.
    SSL_ctrl(ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
             (void *)(uintptr_t)server_name);
    SSL_set1_host(ssl, server_name);
}

struct stream *tls_connect(struct loop *loop, const struct tls_context *context,
                           const struct address *to, const char *server_name,
                           const struct stream_limits *limits, int64_t timeout_ms)
{
    struct failure why;
    int fd;
    int rc = socket_start_connecting(to, &why, &fd);
    struct tls *tls = new_tls(context, fd);
    SSL_set_connect_state(tls->ssl);
    expect_name(tls->ssl, server_name);
    struct stream *s = stream_new(loop, fd, to, limits, &tls_transport, tls, timeout_ms);
    if (rc != 0)
        stream_fail_later(s, &why);
    else
        stream_set_connecting(s);
    return s;
}
