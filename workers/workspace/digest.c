// SPDX-License-Identifier: Apache-2.0
#include "workers/workspace/digest.h"

#include <openssl/evp.h>
#include <stdlib.h>

struct digest {
    EVP_MD_CTX *ctx; // owned
};

// OpenSSL's SHA-256 fails only without memory or without the algorithm: nothing goes on then.
static void must(int ok)
{
    if (ok != 1)
        abort();
}

struct digest *digest_new(void)
{
    struct digest *d = malloc(sizeof *d);
    must(d != NULL);
    d->ctx = EVP_MD_CTX_new();
    must(d->ctx != NULL);
    must(EVP_DigestInit_ex(d->ctx, EVP_sha256(), NULL));
    return d;
}

void digest_add(struct digest *d, struct span bytes)
{
    if (bytes.size > 0)
        must(EVP_DigestUpdate(d->ctx, bytes.data, bytes.size));
}

void digest_finish(struct digest *d, unsigned char out[DIGEST_SIZE])
{
    must(EVP_DigestFinal_ex(d->ctx, out, NULL));
    digest_free(d);
}

void digest_free(struct digest *d)
{
    if (d == NULL)
        return;
    EVP_MD_CTX_free(d->ctx);
    free(d);
}

void digest_of(struct span bytes, unsigned char out[DIGEST_SIZE])
{
    struct digest *d = digest_new();
    digest_add(d, bytes);
    digest_finish(d, out);
}
