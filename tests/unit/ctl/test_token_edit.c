// SPDX-License-Identifier: Apache-2.0
#include "ctl/token_edit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "ctl/options.h"
#include "gateway/lib/tokens/token.h"

#define H1 "1111111111111111111111111111111111111111111111111111111111111111"
#define H2 "2222222222222222222222222222222222222222222222222222222222222222"
#define H3 "3333333333333333333333333333333333333333333333333333333333333333"

static char folder[] = "/tmp/wrist-ctl-XXXXXX";
static char file[64];

static int make_folder(void **state)
{
    (void)state;
    if (mkdtemp(folder) == NULL)
        return -1;
    snprintf(file, sizeof file, "%s/tokens.yaml", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    return rmdir(folder);
}

static int remove_file(void **state)
{
    (void)state;
    unlink(file);
    return 0;
}

static void write_tokens(const char *text, mode_t mode)
{
    FILE *f = fopen(file, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
    assert_int_equal(chmod(file, mode), 0);
}

static void assert_file(const char *text)
{
    char now[4096];
    FILE *f = fopen(file, "r");
    assert_non_null(f);
    now[fread(now, 1, sizeof now - 1, f)] = '\0';
    fclose(f);
    assert_string_equal(now, text);
}

static void append(const char *hash, const char *subject)
{
    struct token_row row = {.tenant = "default"};
    struct failure why;
    snprintf(row.sha256, sizeof row.sha256, "%s", hash);
    snprintf(row.subject, sizeof row.subject, "%s", subject);
    if (token_edit_append(file, &row, &why) != 0)
        fail_msg("%s", why.text);
}

static bool is_subject(const void *wish, const struct token_row *row)
{
    return strcmp(row->subject, wish) == 0;
}

static size_t remove_subject(const char *subject)
{
    struct failure why;
    size_t removed = 99;
    if (token_edit_remove(file, is_subject, subject, &removed, &why) != 0)
        fail_msg("%s", why.text);
    return removed;
}

static mode_t mode_of_file(void)
{
    struct stat st;
    assert_int_equal(stat(file, &st), 0);
    return st.st_mode & 07777;
}

static void a_new_file_is_for_its_owner_alone(void **state)
{
    (void)state;
    append(H1, "ann");
    assert_int_equal(mode_of_file(), 0600);
    struct token_file tokens;
    struct failure why;
    assert_int_equal(token_file_load(file, &tokens, NULL, &why), 0);
    assert_int_equal(tokens.count, 1);
    assert_string_equal(tokens.rows[0].subject, "ann");
    assert_int_equal(token_row_expires_ms(&tokens.rows[0]), 0);
    token_file_release(&tokens);
}

static void an_edit_keeps_comments_indentation_and_mode(void **state)
{
    (void)state;
    write_tokens("# top\ntokens:\n# one\n- {sha256: " H1 ", subject: a}\n# two\n"
                 "- sha256: " H2 " # x\n  subject: b",
                 0640);
    append(H3, "c");
    assert_file("# top\ntokens:\n# one\n- {sha256: " H1 ", subject: a}\n# two\n"
                "- sha256: " H2 " # x\n  subject: b\n"
                "- sha256: " H3 "\n  subject: c\n  tenant: default\n");
    assert_int_equal(remove_subject("b"), 1);
    assert_file("# top\ntokens:\n# one\n- {sha256: " H1 ", subject: a}\n# two\n"
                "- sha256: " H3 "\n  subject: c\n  tenant: default\n");
    assert_int_equal(mode_of_file(), 0640);
    assert_int_equal(remove_subject("b"), 0);
}

static void a_list_in_brackets_is_written_anew_with_all_its_rows(void **state)
{
    (void)state;
    write_tokens("{\"tokens\": [{\"sha256\": \"" H1 "\", \"subject\": \"a\", \"tenant\": \"t\","
                 "\"profiles\": [\"c\", \"go\"], \"expires\": \"2027-01-31T00:00:00Z\","
                 "\"provider\": \"gemini\"}]}\n",
                 0600);
    append(H2, "b");
    struct token_file tokens;
    struct failure why;
    assert_int_equal(token_file_load(file, &tokens, NULL, &why), 0);
    assert_int_equal(tokens.count, 2);
    assert_string_equal(tokens.rows[0].tenant, "t");
    assert_string_equal(tokens.rows[0].profiles[1], "go");
    assert_string_equal(tokens.rows[0].provider, "gemini");
    assert_int_equal(token_row_expires_ms(&tokens.rows[0]), 1801353600000);
    assert_string_equal(tokens.rows[1].subject, "b");
    token_file_release(&tokens);
}

static void the_last_one_out_leaves_a_file_that_loads(void **state)
{
    (void)state;
    append(H1, "a");
    append(H2, "a");
    assert_int_equal(remove_subject("a"), 2);
    append(H3, "b");
    assert_int_equal(remove_subject("b"), 1);
}

static void a_broken_file_or_a_token_that_is_there_changes_nothing(void **state)
{
    (void)state;
    struct token_row row = {.sha256 = H1, .subject = "x", .tenant = "default"};
    struct failure why;
    write_tokens("tokens:\n- sha256: 12\n", 0600);
    assert_true(token_edit_append(file, &row, &why) < 0);
    assert_non_null(strstr(why.text, "tokens.yaml:2:11: tokens[0].sha256: expected"));
    assert_file("tokens:\n- sha256: 12\n");
    write_tokens("tokens:\n- {sha256: " H1 ", subject: a}\n", 0600);
    assert_true(token_edit_append(file, &row, &why) < 0);
    assert_file("tokens:\n- {sha256: " H1 ", subject: a}\n");
}

static void tokens_are_fresh_and_as_long_as_256_bits(void **state)
{
    (void)state;
    char a[TOKEN_SIZE], b[TOKEN_SIZE];
    token_new(a);
    token_new(b);
    assert_int_equal(strlen(a), 6 + 43);
    assert_memory_equal(a, "wrist_", 6);
    assert_string_not_equal(a, b);
}

static void impossible_times_are_refused(void **state)
{
    (void)state;
    int64_t ms;
    assert_true(token_time_parse("2028-02-29T23:59:59Z", &ms));
    static const char *const bad[] = {
        "2027-02-29T00:00:00Z",  "2027-01-31", "2027-01-31T00:00:00",
        "2027-01-31T00:00:00Zx", "",           "1960-01-01T00:00:00Z"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_false(token_time_parse(bad[i], &ms));
}

static void options_are_taken_in_both_forms_and_once(void **state)
{
    (void)state;
    const char *a = NULL, *b = NULL, *rest[1] = {NULL};
    const struct option_row rows[] = {{"--a", &a, true}, {"--b", &b, false}, {NULL, NULL, false}};
    struct failure why;
    char *good[] = {(char[]){"--b=x=y"}, (char[]){"word"}, (char[]){"--a"}, (char[]){"1"}};
    char *twice[] = {(char[]){"--a"}, (char[]){"1"}, (char[]){"--a"}, (char[]){"2"}};
    char *open[] = {(char[]){"--a"}};
    char *unknown[] = {(char[]){"--ab"}, (char[]){"1"}};
    assert_int_equal(options_parse(4, good, rows, rest, 1, &why), 0);
    assert_string_equal(a, "1");
    assert_string_equal(b, "x=y");
    assert_string_equal(rest[0], "word");
    a = b = NULL;
    assert_true(options_parse(4, good, rows, rest, 0, &why) < 0);
    a = NULL;
    assert_true(options_parse(4, twice, rows, rest, 0, &why) < 0);
    a = NULL;
    assert_true(options_parse(1, open, rows, rest, 0, &why) < 0);
    assert_true(options_parse(2, unknown, rows, rest, 0, &why) < 0);
    assert_true(options_parse(0, NULL, rows, rest, 0, &why) < 0);
    assert_string_equal(why.text, "--a is missing");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_new_file_is_for_its_owner_alone, remove_file),
        cmocka_unit_test_teardown(an_edit_keeps_comments_indentation_and_mode, remove_file),
        cmocka_unit_test_teardown(a_list_in_brackets_is_written_anew_with_all_its_rows,
                                  remove_file),
        cmocka_unit_test_teardown(the_last_one_out_leaves_a_file_that_loads, remove_file),
        cmocka_unit_test_teardown(a_broken_file_or_a_token_that_is_there_changes_nothing,
                                  remove_file),
        cmocka_unit_test(tokens_are_fresh_and_as_long_as_256_bits),
        cmocka_unit_test(impossible_times_are_refused),
        cmocka_unit_test(options_are_taken_in_both_forms_and_once),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
