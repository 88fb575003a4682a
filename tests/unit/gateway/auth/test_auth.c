// SPDX-License-Identifier: Apache-2.0
#include "gateway/auth/auth.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "gateway/lib/crypto/digest.h"

static char file[] = "/tmp/wrist-tokens-XXXXXX";
static struct clock_fake fake;

static int make_file(void **state)
{
    (void)state;
    int fd = mkstemp(file);
    assert_true(fd >= 0);
    close(fd);
    clock_fake_init(&fake);
    return 0;
}

static int remove_file(void **state)
{
    (void)state;
    return unlink(file);
}

static void write_file(const char *text)
{
    FILE *f = fopen(file, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void write_tokens(const char *extra)
{
    char hash[SHA256_HEX_SIZE], other[SHA256_HEX_SIZE], text[1024];
    sha256_hex(SPAN_LITERAL("wrist_one"), hash);
    sha256_hex(SPAN_LITERAL("wrist_two"), other);
    snprintf(text, sizeof text,
             "tokens:\n"
             "  - {sha256: %s, subject: ann, profiles: [c, go]}\n"
             "  - {sha256: %s, subject: ann, tenant: lab, expires: 2024-01-01T00:00:00Z}\n%s",
             hash, other, extra);
    write_file(text);
}

static void a_token_names_its_principal_whatever_the_case_of_the_scheme(void **state)
{
    (void)state;
    struct failure why;
    write_tokens("");
    struct auth *a = auth_new(file, &fake.clock, &why);
    assert_non_null(a);
    static const char *const headers[] = {"Bearer wrist_one", "bearer wrist_one",
                                          "BEARER   wrist_one ", " Bearer wrist_one"};
    for (size_t i = 0; i < 4; i++) {
        struct principal *p = auth_check(a, span_from_string(headers[i]), &why);
        assert_non_null(p);
        assert_string_equal(principal_subject(p), "ann");
        assert_string_equal(principal_tenant(p), "default");
        assert_true(principal_may_use(p, "go"));
        assert_false(principal_may_use(p, "rust"));
        principal_drop(p);
    }
    auth_free(a);
}

static void anything_else_is_refused_with_a_reason(void **state)
{
    (void)state;
    struct failure why;
    write_tokens("");
    struct auth *a = auth_new(file, &fake.clock, &why);
    static const char *const headers[] = {"",
                                          "Bearer",
                                          "Bearer ",
                                          "Basic wrist_one",
                                          "Bearer wrist_on",
                                          "Bearer wrist_one x",
                                          "Bearer wrist_one,wrist_one",
                                          "Bearerwrist_one",
                                          "Bearer wrist_one\x80"};
    for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++) {
        assert_null(auth_check(a, span_from_string(headers[i]), &why));
        assert_int_equal(why.fault, FAULT_UNAUTHENTICATED);
        assert_null(strstr(why.text, "wrist_one")); // it is shown to the client and logged
    }
    assert_null(auth_check(a, SPAN_NONE, &why));
    auth_free(a);
}

static void a_token_ends_at_its_expiry(void **state)
{
    (void)state;
    struct failure why;
    write_tokens("");
    struct auth *a = auth_new(file, &fake.clock, &why);
    struct principal *p = auth_check(a, SPAN_LITERAL("Bearer wrist_two"), &why);
    assert_non_null(p); // the fake clock stands in November 2023
    principal_drop(p);
    clock_fake_advance_ms(&fake, 1704067200000 - clock_wall_ms(&fake.clock));
    assert_null(auth_check(a, SPAN_LITERAL("Bearer wrist_two"), &why));
    assert_non_null(strstr(why.text, "expired"));
    clock_fake_init(&fake);
    auth_free(a);
}

static void a_principal_outlives_a_reload_that_drops_its_token(void **state)
{
    (void)state;
    struct failure why;
    write_tokens("");
    struct auth *a = auth_new(file, &fake.clock, &why);
    struct principal *p = auth_check(a, SPAN_LITERAL("Bearer wrist_one"), &why);
    write_file("tokens: []\n");
    assert_int_equal(auth_reload(a, &why), 0);
    assert_int_equal(auth_token_count(a), 0);
    assert_string_equal(principal_subject(p), "ann");
    assert_null(auth_check(a, SPAN_LITERAL("Bearer wrist_one"), &why));
    principal_drop(p);
    auth_free(a);
}

static void a_bad_file_says_where_and_keeps_the_old_tokens(void **state)
{
    (void)state;
    struct failure why;
    write_tokens("");
    struct auth *a = auth_new(file, &fake.clock, &why);
    write_tokens("  - {sha256: 12, subject: bob}\n");
    assert_true(auth_reload(a, &why) < 0);
    assert_non_null(strstr(why.text, ":4:"));
    assert_non_null(strstr(why.text, "sha256"));
    assert_int_equal(auth_token_count(a), 2);
    struct principal *p = auth_check(a, SPAN_LITERAL("Bearer wrist_one"), &why);
    assert_non_null(p);
    principal_drop(p);
    auth_free(a);
    assert_null(auth_new("/nonexistent/tokens.yaml", &fake.clock, &why));
}

static void a_token_that_stands_twice_is_refused(void **state)
{
    (void)state;
    struct failure why;
    char hash[SHA256_HEX_SIZE], extra[128];
    sha256_hex(SPAN_LITERAL("wrist_one"), hash);
    snprintf(extra, sizeof extra, "  - {sha256: %s, subject: eve}\n", hash);
    write_tokens(extra);
    assert_null(auth_new(file, &fake.clock, &why));
    assert_non_null(strstr(why.text, "twice"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_token_names_its_principal_whatever_the_case_of_the_scheme),
        cmocka_unit_test(anything_else_is_refused_with_a_reason),
        cmocka_unit_test(a_token_ends_at_its_expiry),
        cmocka_unit_test(a_principal_outlives_a_reload_that_drops_its_token),
        cmocka_unit_test(a_bad_file_says_where_and_keeps_the_old_tokens),
        cmocka_unit_test(a_token_that_stands_twice_is_refused),
    };
    return cmocka_run_group_tests(tests, make_file, remove_file);
}
