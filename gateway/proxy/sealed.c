// SPDX-License-Identifier: Apache-2.0
#include "gateway/proxy/sealed.h"

#include <stdio.h>

#include "gateway/lib/base/encode.h"
#include "gateway/lib/crypto/digest.h"
#include "gateway/lib/crypto/seal.h"

enum {
    FORMAT = 1,
    RAW_ID = 16,
    SESSION_BYTES =
        1 + RAW_ID + 8 + 1,    // the provider's name follows, and after a space the volume's
    HANDLE_BYTES = 1 + RAW_ID, // the profile's name follows
    BOUND_BYTES = PRINCIPAL_HASH_SIZE + PROFILE_NAME_SIZE + ID_SIZE,
};

static void write_i64(unsigned char *at, int64_t value)
{
    for (int i = 0; i < 8; i++)
        at[i] = (unsigned char)((uint64_t)value >> (56 - 8 * i));
}

static int64_t read_i64(const unsigned char *at)
{
    uint64_t value = 0;
    for (int i = 0; i < 8; i++)
        value = value << 8 | at[i];
    return (int64_t)value;
}

// Principal and place are not in the text: with others it does not open.
static struct span bind_to(const struct principal *principal, struct span place,
                           char out[BOUND_BYTES])
{
    struct span hash = span_from_string(principal_hash(principal));
    size_t room = BOUND_BYTES - hash.size - 1;
    size_t size = place.size < room ? place.size : room;
    memcpy(out, hash.data, hash.size);
    out[hash.size] = '/';
    memcpy(out + hash.size + 1, place.data, size);
    return span_of(out, hash.size + 1 + size);
}

int session_name_seal(const struct keyring *ring, const struct principal *principal,
                      struct span place, const struct session_name *name, struct buffer *out)
{
    unsigned char plain[SESSION_BYTES + PROVIDER_NAME_SIZE + VOLUME_NAME_SIZE] = {FORMAT};
    char names[PROVIDER_NAME_SIZE + VOLUME_NAME_SIZE], bound[BOUND_BYTES];
    int size = snprintf(names, sizeof names, "%s%s%s", name->provider,
                        name->volume[0] != '\0' ? " " : "", name->volume);
    if (!hex_decode(span_from_string(name->id), plain + 1, RAW_ID))
        return FAULT_INVALID;
    write_i64(plain + 1 + RAW_ID, name->issued_ms);
    plain[SESSION_BYTES - 1] = (unsigned char)name->revision;
    memcpy(plain + SESSION_BYTES, names, (size_t)size);
    return seal(ring, "session", bind_to(principal, place, bound),
                span_of(plain, SESSION_BYTES + (size_t)size), out);
}

static int open_sealed(const struct keyring *ring, const char *purpose, struct span bound,
                       struct span text, struct buffer *out)
{
    if (text.size == 0 || text.size >= SEALED_TEXT_SIZE)
        return FAULT_NOT_FOUND;
    return seal_open(ring, purpose, bound, text, out);
}

void session_name_mark(struct session_name *name)
{
    char hex[SHA256_HEX_SIZE];
    sha256_hex(span_from_string(name->id), hex);
    span_copy_string(span_of(hex, sizeof name->mark - 1), name->mark, sizeof name->mark);
}

int session_name_open(const struct keyring *ring, const struct principal *principal,
                      struct span place, struct span text, struct session_name *out)
{
    char bound[BOUND_BYTES];
    struct buffer plain;
    buffer_init(&plain, SEALED_TEXT_SIZE);
    int fault = open_sealed(ring, "session", bind_to(principal, place, bound), text, &plain);
    struct span s = buffer_span(&plain);
    const unsigned char *at = (const unsigned char *)s.data;
    struct span names = span_slice(s, SESSION_BYTES, s.size);
    struct span provider = span_split(&names, ' ');
    if (fault != 0 || s.size < SESSION_BYTES || at[0] != FORMAT ||
        at[SESSION_BYTES - 1] >= MCP_REVISION_COUNT ||
        !span_copy_string(provider, out->provider, PROVIDER_NAME_SIZE) ||
        !span_copy_string(names, out->volume, VOLUME_NAME_SIZE)) {
        fault = FAULT_NOT_FOUND;
    } else {
        hex_encode(span_of(at + 1, RAW_ID), out->id);
        out->issued_ms = read_i64(at + 1 + RAW_ID);
        out->revision = (enum mcp_revision)at[SESSION_BYTES - 1];
        session_name_mark(out);
    }
    buffer_fini(&plain);
    return fault;
}

int handle_name_seal(const struct keyring *ring, const char *grantee,
                     const struct handle_name *name, struct buffer *out)
{
    unsigned char plain[HANDLE_BYTES + PROFILE_NAME_SIZE] = {FORMAT};
    size_t size = strlen(name->profile);
    if (!hex_decode(span_from_string(name->sandbox), plain + 1, RAW_ID))
        return FAULT_INVALID;
    memcpy(plain + HANDLE_BYTES, name->profile, size);
    return seal_same(ring, "handle", span_from_string(grantee), span_of(plain, HANDLE_BYTES + size),
                     out);
}

int handle_name_open(const struct keyring *ring, const char *principal, struct span text,
                     struct handle_name *out)
{
    struct buffer plain;
    buffer_init(&plain, SEALED_TEXT_SIZE);
    int fault = open_sealed(ring, "handle", SPAN_LITERAL(""), text, &plain);
    if (fault != 0) {
        buffer_clear(&plain);
        fault = open_sealed(ring, "handle", span_from_string(principal), text, &plain);
    }
    struct span s = buffer_span(&plain);
    if (fault != 0 || s.size <= HANDLE_BYTES || s.data[0] != FORMAT ||
        !span_copy_string(span_slice(s, HANDLE_BYTES, s.size), out->profile, PROFILE_NAME_SIZE))
        fault = FAULT_NOT_FOUND;
    else
        hex_encode(span_slice(s, 1, HANDLE_BYTES), out->sandbox);
    buffer_fini(&plain);
    return fault;
}
