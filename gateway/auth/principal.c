// SPDX-License-Identifier: Apache-2.0
#include "gateway/auth/principal.h"

#include <stdlib.h>

#include "gateway/auth/principal_new.h"
#include "gateway/lib/base/encode.h"
#include "gateway/lib/base/memory.h"
#include "gateway/lib/crypto/digest.h"

struct principal {
    size_t holds;
    char hash[PRINCIPAL_HASH_SIZE];
    char tenant_hash[ID_SIZE];
    char *issuer, *subject, *tenant, *provider; // owned
    char **profiles;                            // owned; none: all
    size_t profile_count;
};

// Each part with its length, so that ("a", "bc") and ("ab", "c") are two principals.
static void hash_part(struct sha256 *s, const char *text)
{
    uint64_t size = strlen(text);
    sha256_update(s, span_of(&size, sizeof size));
    sha256_update(s, span_of(text, size));
}

static void hash_whole(const char *issuer, const char *subject, const char *tenant,
                       char out[PRINCIPAL_HASH_SIZE])
{
    unsigned char digest[SHA256_SIZE];
    struct sha256 *s = sha256_start();
    hash_part(s, issuer);
    hash_part(s, subject);
    hash_part(s, tenant);
    sha256_finish(s, digest);
    hex_encode(span_of(digest, sizeof digest), out);
}

void principal_hash_beside(const struct principal *p, const char *subject, const char *tenant,
                           char out[PRINCIPAL_HASH_SIZE])
{
    hash_whole(p->issuer, subject, tenant, out);
}

struct principal *principal_new(const struct principal_values *values)
{
    unsigned char digest[SHA256_SIZE];
    struct principal *p = memory_new(sizeof *p);
    hash_whole(values->issuer, values->subject, values->tenant, p->hash);
    p->issuer = memory_copy_string(values->issuer);
    sha256(span_from_string(values->tenant), digest);
    hex_encode(span_of(digest, ID_SIZE / 2), p->tenant_hash);
    p->holds = 1;
    p->subject = memory_copy_string(values->subject);
    p->tenant = memory_copy_string(values->tenant);
    p->provider = memory_copy_string(values->provider);
    p->profile_count = values->profile_count;
    p->profiles = memory_new_array(values->profile_count, sizeof *p->profiles);
    for (size_t i = 0; i < values->profile_count; i++)
        p->profiles[i] = memory_copy_string(values->profiles[i]);
    return p;
}

struct principal *principal_hold(struct principal *p)
{
    p->holds++;
    return p;
}

void principal_drop(struct principal *p)
{
    if (p == NULL || --p->holds > 0)
        return;
    for (size_t i = 0; i < p->profile_count; i++)
        free(p->profiles[i]);
    free(p->profiles);
    free(p->issuer);
    free(p->subject);
    free(p->tenant);
    free(p->provider);
    free(p);
}

const char *principal_hash(const struct principal *p)
{
    return p->hash;
}

const char *principal_subject(const struct principal *p)
{
    return p->subject;
}

const char *principal_tenant_hash(const struct principal *p)
{
    return p->tenant_hash;
}

const char *principal_tenant(const struct principal *p)
{
    return p->tenant;
}

const char *principal_provider(const struct principal *p)
{
    return p->provider;
}

bool principal_may_use(const struct principal *p, const char *profile)
{
    for (size_t i = 0; i < p->profile_count; i++)
        if (strcmp(p->profiles[i], profile) == 0)
            return true;
    return p->profile_count == 0;
}
