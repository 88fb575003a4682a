// SPDX-License-Identifier: Apache-2.0
#include "gateway/lib/scrub/scrub.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "gateway/lib/base/memory.h"

#define A20 "q7Zp2Lx9Vb4Kt8Rw3Ny6"
#define A40 A20 "Hc5Jd1Mf0Gs7TaUe2Bq9"
#define A64 A40 "Wk3Xv8Yz6Po4Ir1Ls5Dn0Ch7"
#define H32 "3f9a0c7be4d15286907fa1cb3de84625"

static int append(void *owner, struct span bytes)
{
    return buffer_append(owner, bytes);
}

// Pushed in two pieces, cut at `cut`.
static void scrub_cut(struct span text, size_t cut, struct buffer *out)
{
    struct scrub *s = scrub_new(append, out);
    assert_int_equal(scrub_push(s, span_slice(text, 0, cut)), 0);
    assert_int_equal(scrub_push(s, span_slice(text, cut, text.size)), 0);
    assert_int_equal(scrub_finish(s), 0);
    scrub_free(s);
}

static void assert_scrubbed(const char *text, const char *wanted)
{
    size_t size = strlen(text);
    for (size_t cut = 0; cut <= size; cut++) {
        struct buffer out;
        buffer_init(&out, 1 << 20);
        scrub_cut(span_from_string(text), cut, &out);
        buffer_append_char(&out, '\0');
        assert_string_equal(buffer_span(&out).data, wanted);
        buffer_fini(&out);
    }
}

static const struct {
    const char *text, *scrubbed;
} secrets[] = {
    {"id AKIAQ7ZP2LX9VB4KT8RW!", "id [redacted:aws-access-key]!"},
    {"see ghp_" A20 "Hc5Jd1Mf0Gs7TaUe.", "see [redacted:github-token]."},
    {"\"glpat-" A20 "\"", "\"[redacted:gitlab-token]\""},
    {"xoxb-123456789012-" A20, "xoxb-123456789012-" A20}, // has a placeholder's digits
    {"xoxb-923757789012-" A20, "[redacted:slack-token]"},
    {"https://hooks.slack.com/services/T0A1B2C3D/B4E5F6G7H/" A20,
     "https://[redacted:slack-webhook]"},
    {"sk_live_" A20, "[redacted:stripe-key]"},
    {"AIza" A20 "Hc5Jd1Mf0Gs7TaU", "[redacted:google-api-key]"},
    {"sk-ant-api03-" A40, "[redacted:anthropic-key]"},
    {"sk-proj-" A40, "[redacted:openai-key]"},
    {"//registry.npmjs.org/:_authToken=npm_" A20 "Hc5Jd1Mf0Gs7TaUe",
     "//registry.npmjs.org/:_authToken=[redacted:secret]"},
    {"pypi-AgEIcHlwaS5vcmc" A64, "[redacted:pypi-token]"},
    {"hf_" A20 "HcKJdLMfQGsRTaU", "[redacted:huggingface-token]"},
    {"hvs." A40, "[redacted:vault-token]"},
    {"dckr_pat_" A20 "Hc5Jd1M", "[redacted:docker-token]"},
    {"ya29." A40, "[redacted:google-oauth]"},
    {"GOCSPX-" A20 "Hc5Jd1Mf", "[redacted:google-oauth]"},
    {"shpat_" H32, "[redacted:shopify-token]"},
    {"dop_v1_" H32 H32, "[redacted:digitalocean-token]"},
    {"SG." A20 "Hc." A40 "Wk3", "[redacted:sendgrid-key]"},
    {"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJ3cmlzdCJ9." A40, "[redacted:jwt]"},
    {"postgres://app:q7Zp2Lx9@db/x", "postgres://app:[redacted:url-password]@db/x"},
    {"DB_PASSWORD=correct-horse-9", "DB_PASSWORD=[redacted:secret]"},
    {"export GITHUB_TOKEN=" A20, "export GITHUB_TOKEN=[redacted:secret]"},
    {"AWS_SECRET_ACCESS_KEY=" A40 "\nnext", "AWS_SECRET_ACCESS_KEY=[redacted:secret]\nnext"},
    {"{\"password\": \"hunter2!x\", \"a\": 1}", "{\"password\": \"[redacted:secret]\", \"a\": 1}"},
    {"  api_key: " A20 "\n", "  api_key: [redacted:secret]\n"},
    {"Pwd=q7Zp2Lx9;Server=x", "Pwd=[redacted:secret];Server=x"},
    {"AccountKey=" A64 "==;E=1", "AccountKey=[redacted:secret];E=1"},
    {"Authorization: Bearer " A40, "Authorization: Bearer [redacted:authorization]"},
    {"authorization: basic dXNlcjpxN1pwMkx4OQ==", "authorization: basic [redacted:authorization]"},
    {"-----BEGIN RSA PRIVATE KEY-----\n" A64 "\n" A20 "\n-----END RSA PRIVATE KEY-----\nend",
     "-----BEGIN RSA PRIVATE KEY-----\n[redacted:private-key]\n[redacted:private-key]\n"
     "-----END RSA PRIVATE KEY-----\nend"},
    {"7\t" A64 "\n8\t" A20 "\n9\t-----END PRIVATE KEY-----\n",
     "7\t[redacted:private-key]\n8\t[redacted:private-key]\n9\t-----END PRIVATE KEY-----\n"},
    {A64 "\n" A64 "\n" A64 "\n",
     "[redacted:private-key]\n[redacted:private-key]\n[redacted:private-key]\n"},
};

static void every_secret_is_found_wherever_it_is_cut(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_COUNT(secrets); i++)
        assert_scrubbed(secrets[i].text, secrets[i].scrubbed);
}

// G-29: what merely looks like it stays byte for byte.
static void source_code_stays_as_it_is(void **state)
{
    static const char *const kept[] = {
        "password = get_password()",
        "if token == NUMBER:",
        "token: string;",
        "let secret: [u8; 32] = load();",
        "const char *api_key = getenv(\"API_KEY\");",
        "\"password\": \"changeme\"",
        "PASSWORD=${DB_PASSWORD}",
        "password: <your password>",
        "token = self.next_token2",
        "\"integrity\": \"sha512-" A64 "==\"",
        "commit 3f9a0c7be4d15286907fa1cb3de8462590817263",
        "id: 123e4567-e89b-12d3-a456-426614174000",
        "<img src=\"data:image/png;base64," A64 A64 "\">",
        ".sk-loading-indicator-large-2 { color: red }",
        "postgres://user:password@localhost/db",
        "https://registry.example.com:4873/@scope/name",
        "the bearer of this letter, the basic idea",
        "-----BEGIN CERTIFICATE-----\n" A64 "\n" A64 "\n" A64 "\n-----END CERTIFICATE-----\n",
        A64 "\n" A64 "\n" A64 "\n-----END CERTIFICATE-----\n",
        "parse(\"-----BEGIN PRIVATE KEY-----\")\nreturn initializeEverythingFromNothing()\n",
        "compass=north-by-2-west",
        "PWD=/home/me/src/tree9",
        "ghp_short sk-learn npm_config_registry",
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_COUNT(kept); i++)
        assert_scrubbed(kept[i], kept[i]);
}

static void a_secret_on_the_edge_of_the_window_is_found(void **state)
{
    static const char secret[] = " ghp_" A20 "Hc5Jd1Mf0Gs7TaUe ";
    (void)state;
    for (size_t before = 57200; before < 57500; before++) {
        struct buffer in, out;
        size_t found = 0;
        buffer_init(&in, 1 << 20);
        buffer_init(&out, 1 << 20);
        for (size_t i = 0; i < before; i++)
            buffer_append_char(&in, i % 61 == 60 ? '\n' : 'x');
        buffer_append_string(&in, secret);
        for (size_t i = 0; i < 70000; i++)
            buffer_append_char(&in, 'y');
        assert_int_equal(scrub_text(buffer_span(&in), &out, &found), 0);
        assert_int_equal(found, 1);
        assert_int_equal(buffer_size(&out), buffer_size(&in) - (sizeof secret - 3) +
                                                strlen("[redacted:github-token]"));
        buffer_fini(&in);
        buffer_fini(&out);
    }
}

static void a_known_value_is_found_in_base64_and_url_encoded(void **state)
{
    (void)state;
    scrub_know("known", SPAN_LITERAL("pl um&tree/27"));
    assert_scrubbed("a pl um&tree/27 b", "a [redacted:known] b");
    assert_scrubbed("?q=pl%20um%26tree%2F27&", "?q=[redacted:known]&");
    assert_scrubbed("?q=pl%20um%26tree%2f27&", "?q=[redacted:known]&");
    // base64 of "pl um&tree/27", "xpl um&tree/27" and "xxpl um&tree/27"
    static const char *const encoded[] = {
        "cGwgdW0mdHJlZS8yNw==", "eHBsIHVtJnRyZWUvMjc=", "eHhwbCB1bSZ0cmVlLzI3"};
    for (size_t i = 0; i < ARRAY_COUNT(encoded); i++) {
        struct buffer out;
        size_t found = 0;
        buffer_init(&out, 4096);
        assert_int_equal(scrub_text(span_from_string(encoded[i]), &out, &found), 0);
        assert_int_equal(found, 1);
        buffer_fini(&out);
    }
}

static void a_mark_is_known_again(void **state)
{
    (void)state;
    assert_true(scrub_has_mark(SPAN_LITERAL("a = [redacted:secret]")));
    assert_false(scrub_has_mark(SPAN_LITERAL("a = [redacted]")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_secret_is_found_wherever_it_is_cut),
        cmocka_unit_test(source_code_stays_as_it_is),
        cmocka_unit_test(a_secret_on_the_edge_of_the_window_is_found),
        cmocka_unit_test(a_known_value_is_found_in_base64_and_url_encoded),
        cmocka_unit_test(a_mark_is_known_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
