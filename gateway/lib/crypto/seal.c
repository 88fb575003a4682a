// SPDX-License-Identifier: Apache-2.0
#include "gateway/lib/crypto/seal.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>

#include "gateway/lib/base/encode.h"
#include "gateway/lib/base/memory.h"
#include "gateway/lib/base/random.h"
#include "gateway/lib/crypto/digest.h"

// The sealed bytes: format (1), key id (4, big-endian), nonce (12), ciphertext, tag (16). Format
// and key id are authenticated too.
enum {
    FORMAT = 1,
    HEAD_SIZE = 5,
    NONCE_SIZE = 12,
    TAG_SIZE = 16,
    SEALED_MOST = SEAL_PLAIN_MOST + SEAL_OVERHEAD,
};

struct gcm {
    EVP_CIPHER_CTX *context;
};

static void gcm_close(struct gcm *g)
{
    EVP_CIPHER_CTX_free(g->context);
}

// Fetched once: EVP_aes_256_gcm() looks it up, under locks, at every use.
static const EVP_CIPHER *gcm_method(void)
{
    static const EVP_CIPHER *method;
    if (method == NULL)
        method = EVP_CIPHER_fetch(NULL, "AES-256-GCM", NULL);
    return method;
}

// Ready for the text: key, nonce and what is authenticated beside it are in.
static bool gcm_open(struct gcm *g, bool sealing, const struct keyring *ring, uint32_t id,
                     const char *purpose, const unsigned char *sealed, struct span bound)
{
    unsigned char key[KEYRING_KEY_SIZE];
    char full[64];
    int size;
    snprintf(full, sizeof full, "seal/%s", purpose);
    if (!keyring_derive(ring, id, full, SPAN_NONE, key, sizeof key))
        return false;
    bool ok =
        gcm_method() != NULL &&
        EVP_CipherInit_ex(g->context, gcm_method(), NULL, key, sealed + HEAD_SIZE, sealing) == 1 &&
        EVP_CipherUpdate(g->context, NULL, &size, sealed, HEAD_SIZE) == 1 &&
        (bound.size == 0 ||
         EVP_CipherUpdate(g->context, NULL, &size, (const unsigned char *)bound.data,
                          (int)bound.size) == 1);
    memory_wipe(key, sizeof key);
    return ok;
}

static bool gcm_run(struct gcm *g, const unsigned char *in, size_t in_size, unsigned char *out)
{
    int size = 0, rest = 0;
    return (in_size == 0 || EVP_CipherUpdate(g->context, out, &size, in, (int)in_size) == 1) &&
           EVP_CipherFinal_ex(g->context, out + size, &rest) == 1 &&
           (size_t)(size + rest) == in_size;
}

static void write_head(unsigned char *sealed, uint32_t id)
{
    sealed[0] = FORMAT;
    for (int i = 0; i < 4; i++)
        sealed[1 + i] = (unsigned char)(id >> (24 - 8 * i));
}

// A nonce that follows from the content, as in SIV: it can only come again with the same content.
static bool derive_nonce(unsigned char *nonce, const struct keyring *ring, uint32_t id,
                         const char *purpose, struct span bound, struct span plain)
{
    unsigned char key[KEYRING_KEY_SIZE], digest[SHA256_SIZE];
    unsigned char both[2 + 2 * SEAL_PLAIN_MOST] = {(unsigned char)(bound.size >> 8),
                                                   (unsigned char)bound.size};
    char full[64];
    snprintf(full, sizeof full, "nonce/%s", purpose);
    if (!keyring_derive(ring, id, full, SPAN_NONE, key, sizeof key))
        return false;
    if (bound.size > 0)
        memcpy(both + 2, bound.data, bound.size);
    if (plain.size > 0)
        memcpy(both + 2 + bound.size, plain.data, plain.size);
    hmac_sha256(span_of(key, sizeof key), span_of(both, 2 + bound.size + plain.size), digest);
    memcpy(nonce, digest, NONCE_SIZE);
    memory_wipe(key, sizeof key);
    memory_wipe(both, sizeof both);
    return true;
}

static bool sizes_fit(struct span bound, size_t plain_size)
{
    return bound.size <= SEAL_PLAIN_MOST && plain_size <= SEAL_PLAIN_MOST;
}

static int seal_under(const struct keyring *ring, const char *purpose, struct span bound,
                      struct span plain, bool same, struct buffer *out)
{
    unsigned char sealed[SEALED_MOST];
    char text[SEAL_TEXT_MOST + 1];
    uint32_t id = keyring_id(ring, 0);
    unsigned char *body = sealed + HEAD_SIZE + NONCE_SIZE;
    struct gcm CLEANUP(gcm_close) g = {EVP_CIPHER_CTX_new()};
    if (!sizes_fit(bound, plain.size))
        return FAULT_TOO_LARGE;
    write_head(sealed, id);
    if (!same)
        random_bytes(sealed + HEAD_SIZE, NONCE_SIZE);
    else if (!derive_nonce(sealed + HEAD_SIZE, ring, id, purpose, bound, plain))
        return FAULT_INTERNAL;
    if (g.context == NULL || !gcm_open(&g, true, ring, id, purpose, sealed, bound) ||
        !gcm_run(&g, (const unsigned char *)plain.data, plain.size, body) ||
        EVP_CIPHER_CTX_ctrl(g.context, EVP_CTRL_GCM_GET_TAG, TAG_SIZE, body + plain.size) != 1)
        return FAULT_INTERNAL;
    size_t size = base64url_encode(span_of(sealed, plain.size + SEAL_OVERHEAD), text);
    return buffer_append(out, span_of(text, size));
}

int seal(const struct keyring *ring, const char *purpose, struct span bound, struct span plain,
         struct buffer *out)
{
    return seal_under(ring, purpose, bound, plain, false, out);
}

int seal_same(const struct keyring *ring, const char *purpose, struct span bound, struct span plain,
              struct buffer *out)
{
    return seal_under(ring, purpose, bound, plain, true, out);
}

int seal_open(const struct keyring *ring, const char *purpose, struct span bound, struct span text,
              struct buffer *out)
{
    unsigned char sealed[SEALED_MOST + 3], plain[SEAL_PLAIN_MOST + 16];
    size_t size;
    struct gcm CLEANUP(gcm_close) g = {EVP_CIPHER_CTX_new()};
    if (text.size > SEAL_TEXT_MOST || !base64url_decode(text, sealed, &size) ||
        size < SEAL_OVERHEAD || sealed[0] != FORMAT || !sizes_fit(bound, size - SEAL_OVERHEAD))
        return FAULT_NOT_FOUND;
    size_t plain_size = size - SEAL_OVERHEAD;
    uint32_t id = (uint32_t)sealed[1] << 24 | (uint32_t)sealed[2] << 16 | (uint32_t)sealed[3] << 8 |
                  sealed[4];
    if (g.context == NULL || !gcm_open(&g, false, ring, id, purpose, sealed, bound) ||
        EVP_CIPHER_CTX_ctrl(g.context, EVP_CTRL_GCM_SET_TAG, TAG_SIZE, sealed + size - TAG_SIZE) !=
            1 ||
        !gcm_run(&g, sealed + HEAD_SIZE + NONCE_SIZE, plain_size, plain))
        return FAULT_NOT_FOUND;
    int rc = buffer_append(out, span_of(plain, plain_size));
    memory_wipe(plain, sizeof plain);
    return rc;
}
