// SPDX-License-Identifier: Apache-2.0
//
// SHA-256, HMAC, HKDF and comparison in constant time. Keys stay with the caller.
#ifndef WRIST_GATEWAY_LIB_CRYPTO_DIGEST_H
#define WRIST_GATEWAY_LIB_CRYPTO_DIGEST_H

#include "gateway/lib/base/span.h"

enum {
    SHA256_SIZE = 32,
    SHA256_HEX_SIZE = 65, // with the closing NUL
};

void sha256(struct span bytes, unsigned char out[SHA256_SIZE]);
void sha256_hex(struct span bytes, char out[SHA256_HEX_SIZE]);

// For names that others give by it, as Redis does to scripts. It protects nothing.
enum { SHA1_HEX_SIZE = 41 };
void sha1_hex(struct span bytes, char out[SHA1_HEX_SIZE]);

// For content that comes in pieces. sha256_finish frees; so does sha256_free, for one given up.
struct sha256;
struct sha256 *sha256_start(void);
void sha256_update(struct sha256 *s, struct span bytes);
void sha256_finish(struct sha256 *s, unsigned char out[SHA256_SIZE]);
void sha256_free(struct sha256 *s);

void hmac_sha256(struct span key, struct span bytes, unsigned char out[SHA256_SIZE]);
// RFC 5869 with SHA-256; `salt` may be empty, out_size ≤ 255 * 32.
void hkdf_sha256(struct span key, struct span salt, struct span info, void *out, size_t out_size);

// Takes as long for equal as for different bytes. The sizes are not secret.
bool equals_in_constant_time(struct span a, struct span b);

#endif
