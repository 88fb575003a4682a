// SPDX-License-Identifier: Apache-2.0
//
// The secret keys of an installation, newest first: the newest seals and derives, older ones still
// open what was sealed under them. Kept in one file (0600) of the state directory, replaced
// atomically; made at the first start. What is derived, and never a key itself, leaves this folder.
#ifndef WRIST_GATEWAY_LIB_CRYPTO_KEYRING_H
#define WRIST_GATEWAY_LIB_CRYPTO_KEYRING_H

#include <stdint.h>

#include "gateway/lib/base/failure.h"
#include "gateway/lib/base/span.h"

enum {
    KEYRING_KEY_SIZE = 32,
    KEYRING_MOST = 16, // rotating past this drops the oldest
};

struct keyring;

// Reads the file; where there is none, makes a ring with one key and writes it. Refuses a file that
// others can read, and one that is damaged: losing the keys would lose every session, so that is
// for a person to decide.
int keyring_open(const char *file, int64_t now_ms, struct keyring **out, struct failure *why);
void keyring_free(struct keyring *r); // wipes the keys

// A new key in front. Keys made before `drop_before_ms` are dropped, but never the newest.
int keyring_rotate(struct keyring *r, int64_t now_ms, int64_t drop_before_ms, struct failure *why);

size_t keyring_count(const struct keyring *r);
uint32_t keyring_id(const struct keyring *r, size_t index);
int64_t keyring_created_ms(const struct keyring *r, size_t index);

// HKDF of one key for a purpose ("link") and a context (sandbox and generation). False where the
// ring has no such key.
bool keyring_derive(const struct keyring *r, uint32_t id, const char *purpose, struct span context,
                    void *out, size_t out_size);

#endif
