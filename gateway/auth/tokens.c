// SPDX-License-Identifier: Apache-2.0
#include "gateway/auth/tokens.h"

#include <stdlib.h>

#include "gateway/auth/principal_new.h"
#include "gateway/lib/base/encode.h"
#include "gateway/lib/base/memory.h"
#include "gateway/lib/base/table.h"
#include "gateway/lib/tokens/token_file.h"

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
    t->expires_ms = token_row_expires_ms(row);
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
    token_file_release(file);
    return set;
}

struct token_set *token_set_load(const char *path, struct failure *why)
{
    struct token_file file;
    return token_file_load(path, &file, NULL, why) == 0 ? set_from_file(&file) : NULL;
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
