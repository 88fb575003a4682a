// SPDX-License-Identifier: Apache-2.0
#include "gateway/lib/tokens/token_file.h"

#include <stdio.h>
#include <time.h>

#include "gateway/lib/base/encode.h"
#include "gateway/lib/base/memory.h"
#include "gateway/lib/base/table.h"
#include "gateway/lib/config/value.h"

enum { TOKENS_MOST = 100000 };

bool token_time_parse(const char *text, int64_t *out_ms)
{
    struct tm t = {0};
    const char *end = strptime(text, "%Y-%m-%dT%H:%M:%SZ", &t);
    if (end == NULL || *end != '\0')
        return false;
    struct tm given = t;
    time_t seconds = timegm(&t);
    // timegm moves the 31st of February into March; such a date is a mistake.
    if (seconds <= 0 || t.tm_mday != given.tm_mday || t.tm_mon != given.tm_mon)
        return false;
    *out_ms = (int64_t)seconds * 1000;
    return true;
}

static bool accepts_time(const char *text)
{
    int64_t ms;
    return token_time_parse(text, &ms);
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
     .help = "Who it is. Tokens of one subject and tenant are one principal."},
    {"tokens[].tenant", KEY_STRING, KEY_AT(struct token_row, tenant), .fallback = "default",
     .help = "Whom the subject belongs to."},
    {"tokens[].profiles", KEYS_STRINGS(struct token_row, profiles, profile_count), .most = 64,
     .accepts = name_is_valid, .expected = "a profile's name",
     .help = "Profiles that may be used; none: all."},
    {"tokens[].expires", KEY_STRING, KEY_AT(struct token_row, expires), .accepts = accepts_time,
     .expected = "a time like 2027-01-31T00:00:00Z", .help = "From when on it is refused."},
    {"tokens[].provider", KEY_STRING, KEY_AT(struct token_row, provider), .fallback = "",
     .help = "The dialect of tool schemas for its clients."},
};

static int check_rows(const void *settings, const struct key_source *source, struct failure *why)
{
    const struct token_file *file = settings;
    struct table *seen = table_new();
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < file->count; i++) {
        unsigned char hash[SHA256_SIZE];
        char path[64];
        hex_decode(span_from_string(file->rows[i].sha256), hash, sizeof hash);
        snprintf(path, sizeof path, "tokens[%zu].sha256", i);
        if (table_get(seen, span_of(hash, sizeof hash)) != NULL)
            rc = key_source_refuse(source, why, path, "expected another token, got one twice");
        else
            table_put(seen, span_of(hash, sizeof hash), &file->rows[i]);
    }
    table_free(seen);
    return rc;
}

const struct key_table token_file_table = {
    .program = "the tokens file",
    .title = "Who may call the gateway, by the SHA-256 of a token.",
    .keys = keys,
    .count = ARRAY_COUNT(keys),
    .settings_size = sizeof(struct token_file),
    .check = check_rows,
};

int token_file_load(const char *file, struct token_file *out, struct key_source **source,
                    struct failure *why)
{
    return keys_load(&token_file_table, file, out, source, why);
}

int token_file_parse(struct span yaml, const char *file, struct token_file *out,
                     struct key_source **source, struct failure *why)
{
    return keys_parse(&token_file_table, yaml, file, out, source, why);
}

void token_file_release(struct token_file *f)
{
    keys_release(&token_file_table, f);
}

int64_t token_row_expires_ms(const struct token_row *row)
{
    int64_t ms = 0;
    return row->expires[0] != '\0' && token_time_parse(row->expires, &ms) ? ms : 0;
}

static int write_member(const char *name, const char *value, int indent, struct buffer *out)
{
    int rc = buffer_printf(out, "%*s%s: ", indent, "", name);
    if (rc == 0)
        rc = value_write_string(span_from_string(value), out);
    return rc != 0 ? rc : buffer_append_char(out, '\n');
}

static int write_profiles(const struct token_row *row, int indent, struct buffer *out)
{
    int rc = buffer_printf(out, "%*sprofiles: [", indent, "");
    for (size_t i = 0; i < row->profile_count && rc == 0; i++)
        rc = buffer_printf(out, "%s%s", i > 0 ? ", " : "", row->profiles[i]);
    return rc != 0 ? rc : buffer_append_string(out, "]\n");
}

int token_row_write(const struct token_row *row, int indent, struct buffer *out)
{
    int inner = indent + 2;
    int rc = buffer_printf(out, "%*s- sha256: %s\n", indent, "", row->sha256);
    if (rc == 0)
        rc = write_member("subject", row->subject, inner, out);
    if (rc == 0)
        rc = write_member("tenant", row->tenant, inner, out);
    if (rc == 0 && row->profile_count > 0)
        rc = write_profiles(row, inner, out);
    if (rc == 0 && row->expires[0] != '\0')
        rc = write_member("expires", row->expires, inner, out);
    if (rc == 0 && row->provider[0] != '\0')
        rc = write_member("provider", row->provider, inner, out);
    return rc;
}
