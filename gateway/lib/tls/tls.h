// SPDX-License-Identifier: Apache-2.0
//
// Encrypted streams. A context holds what connections share; streams made from it keep what they
// need, so it may be reloaded or freed while they live.
#ifndef WRIST_GATEWAY_LIB_TLS_TLS_H
#define WRIST_GATEWAY_LIB_TLS_TLS_H

#include "gateway/lib/net/stream.h"

struct tls_context;

// TLS 1.2 and later, ALPN h2 before http/1.1; a client that offers neither is served as http/1.1.
// The files are PEM: the chain with the leaf first, and its key.
struct tls_context *tls_server_new(const char *certificate_file, const char *key_file,
                                   struct failure *why);
// Verifies the server against the CAs of `ca_file`, or the system's where it is NULL. `alpn` is one
// protocol to offer, or NULL.
struct tls_context *tls_client_new(const char *ca_file, const char *alpn, struct failure *why);
// Reads the server's files again; on any failure the old ones stay in use.
int tls_server_reload(struct tls_context *context, struct failure *why);
void tls_context_free(struct tls_context *context);

// Owns the fd. `readable` and the rest come once the handshake is done; a handshake that fails or
// takes longer than `handshake_ms` is told by `closed`.
struct stream *tls_accept(struct loop *loop, const struct tls_context *context, int fd,
                          const struct address *peer, const struct stream_limits *limits,
                          int64_t handshake_ms);
// `server_name` is a DNS name or an IP literal that the certificate must carry.
struct stream *tls_connect(struct loop *loop, const struct tls_context *context,
                           const struct address *to, const char *server_name,
                           const struct stream_limits *limits, int64_t timeout_ms);

#endif
