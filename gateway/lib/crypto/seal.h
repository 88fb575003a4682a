// SPDX-License-Identifier: Apache-2.0
//
// Small secrets that others keep for us: session ids and handles. AES-256-GCM under a key derived
// for each purpose from a ring's keys; the text carries the key's id, a random nonce and the tag,
// in base64url, and opens only under the purpose it was sealed for.
#ifndef WRIST_GATEWAY_LIB_CRYPTO_SEAL_H
#define WRIST_GATEWAY_LIB_CRYPTO_SEAL_H

#include "gateway/lib/base/buffer.h"
#include "gateway/lib/crypto/keyring.h"

enum {
    SEAL_PLAIN_MOST = 1024,
    SEAL_OVERHEAD = 33, // format 1, key id 4, nonce 12, tag 16
    // The longest text, without a closing NUL.
    SEAL_TEXT_MOST = ((SEAL_PLAIN_MOST + SEAL_OVERHEAD) * 4 + 2) / 3,
};

// `purpose` is a constant of the code ("session", "handle"); `bound` (may be empty) must be the
// same when opening, and is not in the text. Appends to *out.
int seal(const struct keyring *ring, const char *purpose, struct span bound, struct span plain,
         struct buffer *out);
// The same, but equal content under the same key gives equal text: for names that are compared.
int seal_same(const struct keyring *ring, const char *purpose, struct span bound, struct span plain,
              struct buffer *out);
// NOT_FOUND where the text is not ours, was altered, or its key is gone: one answer for all, so
// that a peer learns nothing. Appends to *out.
int seal_open(const struct keyring *ring, const char *purpose, struct span bound, struct span text,
              struct buffer *out);

#endif
