// SPDX-License-Identifier: Apache-2.0
#include "gateway/lib/tokens/token.h"

#include <stdio.h>
#include <stdlib.h>

#include "ctl/command.h"
#include "ctl/options.h"
#include "ctl/token_edit.h"
#include "gateway/lib/base/clock.h"
#include "gateway/lib/base/memory.h"
#include "gateway/lib/config/value.h"

enum { PROFILES_MOST = 64, HASH_PREFIX_LEAST = 8 };

static int refuse_call(const struct failure *why)
{
    fprintf(stderr, "wristctl: %s; see wristctl --help\n", why->text);
    return 2;
}

static int tell_failure(const struct failure *why)
{
    fprintf(stderr, "wristctl: %s\n", why->text);
    return 1;
}

// "30d", or a time like 2027-01-31T00:00:00Z.
static int parse_expires(const char *text, char out[32], struct failure *why)
{
    static const struct key duration = {
        .path = "--expires", .kind = KEY_DURATION, .least = 1000, .most = 36500LL * 86400000};
    char time[CLOCK_TEXT_SIZE];
    int64_t ms;
    if (text == NULL)
        return 0;
    if (token_time_parse(text, &ms)) {
        snprintf(out, 32, "%s", text);
        return 0;
    }
    if (value_parse(&duration, span_from_string(text), false, &ms, NULL) != 0)
        return failure_set(why, FAULT_INVALID,
                           "--expires: expected a duration like 30d or a time like "
                           "2027-01-31T00:00:00Z, got `%s`",
                           text);
    clock_format_wall(clock_wall_ms(clock_system()) + ms, time);
    snprintf(out, 32, "%.19sZ", time); // whole seconds
    return 0;
}

static int parse_profiles(const char *text, struct token_row *row, struct failure *why)
{
    struct span rest = span_from_string(text);
    row->profiles = memory_new_array(PROFILES_MOST, sizeof *row->profiles);
    while (!span_is_absent(rest)) {
        char *name = memory_copy_span(span_trim(span_split(&rest, ',')));
        if (row->profile_count == PROFILES_MOST || !name_is_valid(name)) {
            failure_set(why, FAULT_INVALID, "--profiles: expected at most %d names, got `%s`",
                        PROFILES_MOST, name);
            free(name);
            return FAULT_INVALID;
        }
        row->profiles[row->profile_count++] = name;
    }
    return 0;
}

static void row_fini(struct token_row *row)
{
    for (size_t i = 0; i < row->profile_count; i++)
        free(row->profiles[i]);
    free(row->profiles);
}

static int copy_option(const char *name, const char *value, char *out, size_t out_size,
                       struct failure *why)
{
    struct key key = {.path = name, .kind = KEY_STRING, .size = out_size};
    if (value == NULL)
        return 0;
    if (value_parse(&key, span_from_string(value), true, out, why) == 0)
        return 0;
    return failure_prefix(why, "%s", name);
}

static int print_entry(const char *token, const struct token_row *row)
{
    struct buffer text;
    buffer_init(&text, 65536);
    token_row_write(row, 2, &text);
    printf("token: %s\n\nEntry of the tokens file, under `tokens:`\n%.*s", token,
           SPAN_ARGS(buffer_span(&text)));
    buffer_fini(&text);
    return 0;
}

static int make_token(struct token_row *row, const char *file)
{
    char token[TOKEN_SIZE];
    struct failure why;
    int status = 0;
    token_new(token);
    sha256_hex(span_from_string(token), row->sha256);
    if (file == NULL)
        status = print_entry(token, row);
    else if (token_edit_append(file, row, &why) != 0)
        status = tell_failure(&why);
    else {
        printf("%s\n", token);
        fprintf(stderr, "The token of %s, shown this once; %s holds its hash.\n", row->subject,
                file);
    }
    memory_wipe(token, sizeof token);
    return status;
}

int token_new_command(int argc, char **argv)
{
    const char *subject = NULL, *tenant = NULL, *profiles = NULL, *expires = NULL;
    const char *provider = NULL, *file = NULL;
    const struct option_row rows[] = {
        {"--subject", &subject, true},
        {"--tenant", &tenant, false},
        {"--profiles", &profiles, false},
        {"--expires", &expires, false},
        {"--provider", &provider, false},
        {"--file", &file, false},
        {NULL, NULL, false},
    };
    struct token_row CLEANUP(row_fini) row = {.tenant = "default"};
    struct failure why;
    int rc = options_parse(argc, argv, rows, NULL, 0, &why);
    if (rc == 0)
        rc = copy_option("--subject", subject, row.subject, sizeof row.subject, &why);
    if (rc == 0)
        rc = copy_option("--tenant", tenant, row.tenant, sizeof row.tenant, &why);
    if (rc == 0)
        rc = copy_option("--provider", provider, row.provider, sizeof row.provider, &why);
    if (rc == 0)
        rc = parse_expires(expires, row.expires, &why);
    if (rc == 0 && profiles != NULL)
        rc = parse_profiles(profiles, &row, &why);
    return rc != 0 ? refuse_call(&why) : make_token(&row, file);
}

static void print_row(const struct token_row *row, int64_t now_ms)
{
    int64_t expires_ms = token_row_expires_ms(row);
    printf("%.12s  %-20s %-12s %-22s ", row->sha256, row->subject, row->tenant,
           row->expires[0] == '\0' ? "never"
           : expires_ms <= now_ms  ? "expired"
                                   : row->expires);
    for (size_t i = 0; i < row->profile_count; i++)
        printf("%s%s", i > 0 ? "," : "", row->profiles[i]);
    printf("%s\n", row->profile_count == 0 ? "(all)" : "");
}

int token_list_command(int argc, char **argv)
{
    const char *file = NULL;
    const struct option_row rows[] = {{"--file", &file, true}, {NULL, NULL, false}};
    struct token_file tokens;
    struct failure why;
    if (options_parse(argc, argv, rows, NULL, 0, &why) != 0)
        return refuse_call(&why);
    if (token_file_load(file, &tokens, NULL, &why) != 0)
        return tell_failure(&why);
    printf("%-12s  %-20s %-12s %-22s %s\n", "SHA-256", "SUBJECT", "TENANT", "EXPIRES", "PROFILES");
    for (size_t i = 0; i < tokens.count; i++)
        print_row(&tokens.rows[i], clock_wall_ms(clock_system()));
    token_file_release(&tokens);
    return 0;
}

// Which rows to revoke; what is NULL matches any.
struct wish {
    const char *hash_prefix, *subject, *tenant;
};

static bool row_goes(const void *wish, const struct token_row *row)
{
    const struct wish *w = wish;
    return (w->hash_prefix == NULL ||
            strncasecmp(row->sha256, w->hash_prefix, strlen(w->hash_prefix)) == 0) &&
           (w->subject == NULL || strcmp(row->subject, w->subject) == 0) &&
           (w->tenant == NULL || strcmp(row->tenant, w->tenant) == 0);
}

int token_revoke_command(int argc, char **argv)
{
    const char *file = NULL, *rest[1] = {NULL};
    struct wish wish = {0};
    const struct option_row rows[] = {{"--file", &file, true},
                                      {"--subject", &wish.subject, false},
                                      {"--tenant", &wish.tenant, false},
                                      {NULL, NULL, false}};
    struct failure why;
    size_t removed = 0;
    int rc = options_parse(argc, argv, rows, rest, 1, &why);
    wish.hash_prefix = rest[0];
    if (rc == 0 && wish.hash_prefix == NULL && wish.subject == NULL)
        rc = failure_set(&why, FAULT_INVALID, "say which: a SHA-256 (or its start) or --subject");
    if (rc == 0 && wish.hash_prefix != NULL && strlen(wish.hash_prefix) < HASH_PREFIX_LEAST)
        rc = failure_set(&why, FAULT_INVALID, "expected at least %d digits of the SHA-256",
                         HASH_PREFIX_LEAST);
    if (rc != 0)
        return refuse_call(&why);
    if (token_edit_remove(file, row_goes, &wish, &removed, &why) != 0)
        return tell_failure(&why);
    printf("revoked %zu\n", removed);
    return removed > 0 ? 0 : 1;
}
