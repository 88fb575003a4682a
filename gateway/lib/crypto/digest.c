// SPDX-License-Identifier: Apache-2.0
#include "gateway/lib/crypto/digest.h"

#include <assert.h>
#include <limits.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdlib.h>

#include "gateway/lib/base/encode.h"
#include "gateway/lib/base/memory.h"

// OpenSSL fails here only without memory or without its own algorithms; neither can be handled.
static void must(bool worked)
{
    if (!worked)
        abort();
}

// Fetched once: EVP_sha256() looks it up, under locks, at every use. Lives as long as the process.
static const EVP_MD *sha256_method(void)
{
    static const EVP_MD *method;
    if (method == NULL)
        method = EVP_MD_fetch(NULL, "SHA256", NULL);
    must(method != NULL);
    return method;
}

// One context for all that is digested at once: making one costs more than a short text's digest.
void sha256(struct span bytes, unsigned char out[SHA256_SIZE])
{
    static EVP_MD_CTX *context;
    if (context == NULL)
        context = EVP_MD_CTX_new();
    must(context != NULL && EVP_DigestInit_ex(context, sha256_method(), NULL) == 1 &&
         EVP_DigestUpdate(context, bytes.data, bytes.size) == 1 &&
         EVP_DigestFinal_ex(context, out, NULL) == 1);
}

void sha256_hex(struct span bytes, char out[SHA256_HEX_SIZE])
{
    unsigned char digest[SHA256_SIZE];
    sha256(bytes, digest);
    hex_encode(span_of(digest, sizeof digest), out);
}

void sha1_hex(struct span bytes, char out[SHA1_HEX_SIZE])
{
    unsigned char digest[20];
    must(EVP_Q_digest(NULL, "SHA1", NULL, bytes.data, bytes.size, digest, NULL) == 1);
    hex_encode(span_of(digest, sizeof digest), out);
}

struct sha256 {
    EVP_MD_CTX *context;
};

struct sha256 *sha256_start(void)
{
    struct sha256 *s = memory_new(sizeof *s);
    s->context = EVP_MD_CTX_new();
    must(s->context != NULL && EVP_DigestInit_ex(s->context, sha256_method(), NULL) == 1);
    return s;
}

void sha256_update(struct sha256 *s, struct span bytes)
{
    if (bytes.size > 0)
        must(EVP_DigestUpdate(s->context, bytes.data, bytes.size) == 1);
}

void sha256_finish(struct sha256 *s, unsigned char out[SHA256_SIZE])
{
    must(EVP_DigestFinal_ex(s->context, out, NULL) == 1);
    sha256_free(s);
}

void sha256_free(struct sha256 *s)
{
    if (s == NULL)
        return;
    EVP_MD_CTX_free(s->context);
    free(s);
}

void hmac_sha256(struct span key, struct span bytes, unsigned char out[SHA256_SIZE])
{
    unsigned size = 0;
    assert(key.size <= INT_MAX);
    must(HMAC(EVP_sha256(), key.size > 0 ? key.data : "", (int)key.size,
              (const unsigned char *)(bytes.size > 0 ? bytes.data : ""), bytes.size, out,
              &size) != NULL);
}

static void expand_block(const unsigned char key[SHA256_SIZE], struct span before, struct span info,
                         unsigned char counter, unsigned char out[SHA256_SIZE])
{
    // T(n) = HMAC(key, T(n-1) ‖ info ‖ n)
    size_t size = before.size + info.size + 1;
    unsigned char *text = memory_new(size);
    if (before.size > 0)
        memcpy(text, before.data, before.size);
    if (info.size > 0)
        memcpy(text + before.size, info.data, info.size);
    text[size - 1] = counter;
    hmac_sha256(span_of(key, SHA256_SIZE), span_of(text, size), out);
    memory_wipe(text, size);
    free(text);
}

void hkdf_sha256(struct span key, struct span salt, struct span info, void *out, size_t out_size)
{
    static const unsigned char no_salt[SHA256_SIZE];
    unsigned char extracted[SHA256_SIZE], block[SHA256_SIZE];
    struct span before = {(const char *)block, 0};
    unsigned char *to = out;
    assert(out_size <= 255 * SHA256_SIZE);
    hmac_sha256(salt.size > 0 ? salt : span_of(no_salt, sizeof no_salt), key, extracted);
    for (unsigned char counter = 1; out_size > 0; counter++) {
        size_t take = out_size < SHA256_SIZE ? out_size : SHA256_SIZE;
        expand_block(extracted, before, info, counter, block);
        before.size = sizeof block;
        memcpy(to, block, take);
        to += take;
        out_size -= take;
    }
    memory_wipe(extracted, sizeof extracted);
    memory_wipe(block, sizeof block);
}

bool equals_in_constant_time(struct span a, struct span b)
{
    return a.size == b.size && (a.size == 0 || CRYPTO_memcmp(a.data, b.data, a.size) == 0);
}
