// SPDX-License-Identifier: Apache-2.0
// What the files of this folder share; nobody else includes it.
#ifndef WRIST_GATEWAY_LIB_TLS_TLS_CONTEXT_H
#define WRIST_GATEWAY_LIB_TLS_TLS_CONTEXT_H

#include <openssl/ssl.h>

#include "gateway/lib/tls/tls.h"

struct tls_context {
    SSL_CTX *shared;                   // owned; counted by OpenSSL, so old streams keep theirs
    char *certificate_file, *key_file; // owned; of a server
};

// Fills *why with the first reason on OpenSSL's queue, and empties the queue.
int tls_failure(struct failure *why, enum fault fault, const char *doing);

#endif
