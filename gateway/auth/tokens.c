// SPDX-License-Identifier: Apache-2.0
#include "gateway/auth/tokens.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "gateway/auth/principal_new.h"
#include "gateway/lib/base/encode.h"
#include "gateway/lib/base/memory.h"
#include "gateway/lib/base/table.h"
#include "gateway/lib/config/keys.h"

enum { TOKENS_MOST = 100000 };

struct token_row {
    char sha256[SHA256_HEX_SIZE];
    char subject[128], tenant[128], provider[32], expires[32];
    char **profiles;
    size_t profile_count;
};

struct token_file {
    struct token_row *rows;
    size_t count;
};

struct token {
    struct principal *principal; // held
    int64_t expires_ms;          // wall time; 0: never
    unsigned char hash[SHA256_SIZE];
};

struct token_set {
    struct token *tokens; // owned
    size_t count;
    struct table *by_hash; // owned; to tokens
};

static bool parse_time(const char *text, int64_t *out_ms)
{
    struct tm t = {0};
    const char *end = strptime(text, "%Y-%m-%dT%H:%M:%SZ", &t);
    if (end == NULL || *end != '\0')
        return false;
    time_t seconds = timegm(&t);
    *out_ms = (int64_t)seconds * 1000;
    return seconds > 0;
}

static bool accepts_time(const char *text)
{
    int64_t ms;
    return parse_time(text, &ms);
}

static bool accepts_hash(const char *text)
{
    unsigned char hash[SHA256_SIZE];
    return hex_decode(span_from_string(text), hash, sizeof hash);
}

static const struct key keys[] = {
    {"tokens[]", KEYS_LIST(struct token_file, rows, count, struct token_row), .most = TOKENS_MOST,
     .help = "Who may call."},
    {"tokens[].sha256", KEY_STRING, KEY_AT(struct token_row, sha256), .required = true,
     .accepts = accepts_hash, .expected = "the token's SHA-256, 64 hex digits",
     .help = "The token's SHA-256; wristctl token new makes both."},
    {"tokens[].subject", KEY_STRING, KEY_AT(struct token_row, subject), .required = true,
     .help = "Who it is. Two tokens of one subject are one principal."},
    {"tokens[].tenant", KEY_STRING, KEY_AT(struct token_row, tenant), .fallback = "default",
     .help = "Whom the subject belongs to."},
    {"tokens[].profiles", KEYS_STRINGS(struct token_row, profiles, profile_count), .most = 64,
     .help = "Profiles that may be used; none: all."},
    {"tokens[].expires", KEY_STRING, KEY_AT(struct token_row, expires), .accepts = accepts_time,
     .expected = "a time like 2027-01-31T00:00:00Z", .help = "From when on it is refused."},
    {"tokens[].provider", KEY_STRING, KEY_AT(struct token_row, provider),
     .help = "The dialect of tool schemas for its clients."},
};

static int check_rows(const void *settings, const struct key_source *source, struct failure *why)
{
    const struct token_file *file = settings;
    struct table *seen = table_new();
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < file->count; i++) {
        unsigned char hash[SHA256_SIZE];
        hex_decode(span_from_string(file->rows[i].sha256), hash, sizeof hash);
        if (table_get(seen, span_of(hash, sizeof hash)) != NULL) {
            char path[64];
            snprintf(path, sizeof path, "tokens[%zu].sha256", i);
            rc = key_source_refuse(source, why, path, "expected another token, got one twice");
        }
        table_put(seen, span_of(hash, sizeof hash), &file->rows[i]);
    }
    table_free(seen);
    return rc;
}

static const struct key_table table = {
    .program = "wrist-gateway tokens",
    .title = "The tokens file.",
    .keys = keys,
    .count = ARRAY_COUNT(keys),
    .settings_size = sizeof(struct token_file),
    .check = check_rows,
};

static void fill_token(struct token *t, const struct token_row *row)
{
    struct principal_values values = {
        .issuer = "tokens",
        .subject = row->subject,
        .tenant = row->tenant,
        .provider = row->provider,
        .profiles = (const char *const *)row->profiles,
        .profile_count = row->profile_count,
    };
    t->principal = principal_new(&values);
    hex_decode(span_from_string(row->sha256), t->hash, sizeof t->hash);
    if (row->expires[0] != '\0')
        parse_time(row->expires, &t->expires_ms);
}

static struct token_set *set_from_file(struct token_file *file)
{
    struct token_set *set = memory_new(sizeof *set);
    set->tokens = memory_new_array(file->count, sizeof *set->tokens);
    set->count = file->count;
    set->by_hash = table_new();
    for (size_t i = 0; i < file->count; i++) {
        struct token *t = &set->tokens[i];
        fill_token(t, &file->rows[i]);
        table_put(set->by_hash, span_of(t->hash, sizeof t->hash), t);
    }
    keys_release(&table, file);
    return set;
}

struct token_set *token_set_load(const char *path, struct failure *why)
{
    struct token_file file;
    return keys_load(&table, path, &file, NULL, why) == 0 ? set_from_file(&file) : NULL;
}

struct token_set *token_set_parse(struct span yaml, const char *path, struct failure *why)
{
    struct token_file file;
    return keys_parse(&table, yaml, path, &file, NULL, why) == 0 ? set_from_file(&file) : NULL;
}

void token_set_free(struct token_set *set)
{
    if (set == NULL)
        return;
    for (size_t i = 0; i < set->count; i++)
        principal_drop(set->tokens[i].principal);
    table_free(set->by_hash);
    free(set->tokens);
    free(set);
}

size_t token_set_count(const struct token_set *set)
{
    return set->count;
}

struct principal *token_set_find(const struct token_set *set, const unsigned char hash[SHA256_SIZE],
                                 int64_t *expires_ms)
{
    // Finding the row by its hash tells a guesser nothing about a token: a hash cannot be steered
    // towards a stored one. The last word is the comparison of all bytes all the same.
    const struct token *t = table_get(set->by_hash, span_of(hash, SHA256_SIZE));
    if (t == NULL ||
        !equals_in_constant_time(span_of(t->hash, SHA256_SIZE), span_of(hash, SHA256_SIZE)))
        return NULL;
    *expires_ms = t->expires_ms;
    return t->principal;
}
