// SPDX-License-Identifier: Apache-2.0
#ifndef WRIST_GATEWAY_LIB_BASE_ENCODE_H
#define WRIST_GATEWAY_LIB_BASE_ENCODE_H

#include "gateway/lib/base/span.h"

// Lower case; out takes 2 * size + 1 bytes.
void hex_encode(struct span bytes, char *out);
// Exactly out_size bytes, either case. False on anything else.
bool hex_decode(struct span text, void *out, size_t out_size);

// RFC 4648 §5 without padding; out takes base64url_size(n) + 1 bytes. Returns the length.
static inline size_t base64url_size(size_t bytes)
{
    return (bytes * 4 + 2) / 3;
}
size_t base64url_encode(struct span bytes, char *out);
// out takes text.size * 3 / 4 bytes. False on foreign characters, padding or stray bits.
bool base64url_decode(struct span text, void *out, size_t *out_size);

// RFC 4648 §4 with padding, as in Mcp-Name sentinels and image content.
// out takes base64_size(n) + 1 bytes, or text.size * 3 / 4 bytes.
static inline size_t base64_size(size_t bytes)
{
    return (bytes + 2) / 3 * 4;
}
size_t base64_encode(struct span bytes, char *out);
bool base64_decode(struct span text, void *out, size_t *out_size);

// Percent encoding, RFC 3986. `out` takes 3 * size + 1 bytes; what is not unreserved is encoded.
void percent_encode(struct span bytes, char *out);
// `out` takes text.size bytes. False on a % without two hex digits.
bool percent_decode(struct span text, char *out, size_t *out_size);

// A query's value of that name as it was sent, the last one where there are several; else absent.
struct span query_value(struct span query, const char *name);

#endif
