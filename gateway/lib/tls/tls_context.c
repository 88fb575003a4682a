// SPDX-License-Identifier: Apache-2.0
#include "gateway/lib/tls/tls_context.h"

#include <openssl/err.h>
#include <signal.h>
#include <stdlib.h>

#include "gateway/lib/base/memory.h"

int tls_failure(struct failure *why, enum fault fault, const char *doing)
{
    unsigned long code = ERR_peek_error();
    const char *reason = code != 0 ? ERR_reason_error_string(code) : NULL;
    ERR_clear_error();
    return failure_set(why, fault, "%s: %s", doing, reason != NULL ? reason : "no reason is known");
}

// OpenSSL writes to sockets without MSG_NOSIGNAL.
static void ignore_sigpipe(void)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    sigaction(SIGPIPE, &ignore, NULL);
}

static SSL_CTX *new_shared(const SSL_METHOD *method)
{
    SSL_CTX *shared = SSL_CTX_new(method);
    if (shared == NULL)
        abort();
    SSL_CTX_set_min_proto_version(shared, TLS1_2_VERSION);
    SSL_CTX_set_options(shared, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                    SSL_OP_CIPHER_SERVER_PREFERENCE);
    SSL_CTX_set_mode(shared, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                                 SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    // One read per flight instead of one for each record's header and one for its body.
    SSL_CTX_set_read_ahead(shared, 1);
    return shared;
}

// The client's list is lengths and names in turn; ours come first in our order.
static int choose_protocol(SSL *ssl, const unsigned char **out, unsigned char *out_size,
                           const unsigned char *offered, unsigned offered_size, void *arg)
{
    static const unsigned char ours[] = "\x02h2\x08http/1.1";
    (void)ssl;
    (void)arg;
    unsigned char *chosen = NULL;
    int rc = SSL_select_next_proto(&chosen, out_size, ours, sizeof ours - 1, offered, offered_size);
    *out = chosen;
    return rc == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_NOACK;
}

static SSL_CTX *load_server(const char *certificate_file, const char *key_file, struct failure *why)
{
    SSL_CTX *shared = new_shared(TLS_server_method());
    SSL_CTX_set_alpn_select_cb(shared, choose_protocol, NULL);
    SSL_CTX_set_num_tickets(shared, 1);
    if (SSL_CTX_use_certificate_chain_file(shared, certificate_file) != 1)
        tls_failure(why, FAULT_INVALID, certificate_file);
    else if (SSL_CTX_use_PrivateKey_file(shared, key_file, SSL_FILETYPE_PEM) != 1)
        tls_failure(why, FAULT_INVALID, key_file); // also where it is not the certificate's key
    else
        return shared;
    SSL_CTX_free(shared);
    return NULL;
}

struct tls_context *tls_server_new(const char *certificate_file, const char *key_file,
                                   struct failure *why)
{
    SSL_CTX *shared = load_server(certificate_file, key_file, why);
    if (shared == NULL)
        return NULL;
    ignore_sigpipe();
    struct tls_context *context = memory_new(sizeof *context);
    context->shared = shared;
    context->certificate_file = memory_copy_string(certificate_file);
    context->key_file = memory_copy_string(key_file);
    return context;
}

int tls_server_reload(struct tls_context *context, struct failure *why)
{
    SSL_CTX *shared = load_server(context->certificate_file, context->key_file, why);
    if (shared == NULL)
        return why != NULL ? why->fault : FAULT_INVALID;
    SSL_CTX_free(context->shared);
    context->shared = shared;
    return 0;
}

struct tls_context *tls_client_new(const char *ca_file, const char *alpn, struct failure *why)
{
    unsigned char offer[64];
    size_t size = alpn != NULL ? strlen(alpn) : 0;
    SSL_CTX *shared = new_shared(TLS_client_method());
    SSL_CTX_set_verify(shared, SSL_VERIFY_PEER, NULL);
    int rc = ca_file != NULL ? SSL_CTX_load_verify_locations(shared, ca_file, NULL)
                             : SSL_CTX_set_default_verify_paths(shared);
    if (rc != 1) {
        tls_failure(why, FAULT_INVALID, ca_file != NULL ? ca_file : "the system's CAs");
        SSL_CTX_free(shared);
        return NULL;
    }
    if (size > 0 && size < sizeof offer - 1) {
        offer[0] = (unsigned char)size;
        memcpy(offer + 1, alpn, size);
        SSL_CTX_set_alpn_protos(shared, offer, (unsigned)size + 1);
    }
    ignore_sigpipe();
    struct tls_context *context = memory_new(sizeof *context);
    context->shared = shared;
    return context;
}

void tls_context_free(struct tls_context *context)
{
    if (context == NULL)
        return;
    SSL_CTX_free(context->shared);
    free(context->certificate_file);
    free(context->key_file);
    free(context);
}
