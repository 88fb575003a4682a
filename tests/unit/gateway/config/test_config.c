// SPDX-License-Identifier: Apache-2.0
#include "gateway/config/config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define GOOD                                                                                       \
    "listen:\n"                                                                                    \
    "  - address: 127.0.0.1:8443\n"                                                                \
    "    certificate: /c.pem\n"                                                                    \
    "    key: /k.pem\n"                                                                            \
    "tokens: /t.yaml\n"                                                                            \
    "default_profile: c\n"                                                                         \
    "profiles:\n"                                                                                  \
    "  c: {warm: 2, idle: 5min}\n"

static void defaults_fill_what_a_small_file_leaves_out(void **state)
{
    (void)state;
    struct config *c;
    struct failure why;
    assert_int_equal(config_parse(span_from_string(GOOD), "g.yaml", &c, &why), 0);
    const struct profile *p = config_profile(c, "c");
    assert_non_null(p);
    assert_int_equal(p->warm, 2);
    assert_int_equal(p->idle_ms, 300000);
    assert_int_equal(p->absolute_ms, 8 * 3600 * 1000);
    assert_int_equal(p->bind, BIND_MODE_SESSION);
    assert_int_equal(p->on_loss, ON_LOSS_REPLACE);
    assert_true(c->listen[0].tls);
    assert_int_equal(c->body_bytes, 4 << 20);
    assert_int_equal(c->keepalive_ms, 15000);
    assert_string_equal(c->admin_address, "127.0.0.1:9443");
    assert_null(config_profile(c, "d"));
    config_free(c);
}

// What is appended to or replaced in the good file, and what the message must name.
static void a_bad_file_says_where_and_what_was_expected(void **state)
{
    (void)state;
    static const struct {
        const char *yaml, *place, *says;
    } bad[] = {
        {GOOD "warmth: 3\n", "g.yaml:9:", "warmth"},
        {GOOD "  d: {warm: -1}\n", "g.yaml:9:", "profiles.d.warm"},
        {GOOD "  d: {warm: 65}\n", "g.yaml:9:", "at most maximum"},
        {GOOD "  d: {idle: 9h}\n", "g.yaml:9:", "absolute"},
        {GOOD "  d: {bind: turn}\n", "g.yaml:9:", "profiles.d.bind"},
        {GOOD "  d: {absolute: soon}\n", "g.yaml:9:", "duration"},
        {GOOD "limits: {body: 4 elephants}\n", "g.yaml:9:", "limits.body"},
        {GOOD "admin: 0.0.0.0:9443\n", "g.yaml:9:", "loopback"},
        {GOOD "default_profile: c\n", "g.yaml:9:", "default_profile"},
        {GOOD "public_url: wrist.example\n", "g.yaml:9:", "https://"},
        {"listen: [{address: '0.0.0.0:80', tls: false}]\ntokens: /t\ndefault_profile: c\n"
         "profiles: {c: {}}\n",
         "g.yaml:1:", "loopback"},
        {"listen: [{address: '127.0.0.1:80'}]\ntokens: /t\ndefault_profile: c\nprofiles: {c: {}}\n",
         "g.yaml:1:", "certificate"},
        {"listen: [{address: '127.0.0.1:80', tls: false}, {address: '127.0.0.1:80', tls: false}]\n"
         "tokens: /t\ndefault_profile: c\nprofiles: {c: {}}\n",
         "g.yaml:1:", "second time"},
        {"listen: [{address: nowhere, tls: false}]\ntokens: /t\ndefault_profile: c\n"
         "profiles: {c: {}}\n",
         "g.yaml:1:", "listen[0].address"},
        {"listen: [{address: '127.0.0.1:80', tls: false}]\ntokens: /t\ndefault_profile: d\n"
         "profiles: {c: {}}\n",
         "g.yaml:3:", "one of the profiles"},
        {"tokens: /t\ndefault_profile: c\nprofiles: {c: {}}\n", "g.yaml:", "listen"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct config *c;
        struct failure why = {0};
        int rc = config_parse(span_from_string(bad[i].yaml), "g.yaml", &c, &why);
        if (rc >= 0 || strstr(why.text, bad[i].place) == NULL ||
            strstr(why.text, bad[i].says) == NULL)
            fail_msg("case %zu: rc %d, expected %s and '%s' in: %s", i, rc, bad[i].place,
                     bad[i].says, why.text);
    }
}

static void compare(const char *path, int (*write)(const struct key_table *t, struct buffer *out),
                    const char *renew)
{
    struct buffer out;
    char *there = calloc(1, 1 << 20);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    size_t size = fread(there, 1, 1 << 20, f);
    fclose(f);
    buffer_init(&out, 1 << 20);
    assert_int_equal(write(&config_table, &out), 0);
    if (size != buffer_size(&out) || memcmp(there, buffer_span(&out).data, size) != 0)
        fail_msg("%s is not what the table says; renew it: %s", path, renew);
    buffer_fini(&out);
    free(there);
}

static void the_documents_in_the_tree_are_what_the_table_says(void **state)
{
    (void)state;
    compare("deploy/CONFIG.md", keys_write_page, "wrist-gateway --config-docs > deploy/CONFIG.md");
    compare("schemas/config.schema.json", keys_write_schema,
            "wrist-gateway --config-schema > schemas/config.schema.json");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_fill_what_a_small_file_leaves_out),
        cmocka_unit_test(a_bad_file_says_where_and_what_was_expected),
        cmocka_unit_test(the_documents_in_the_tree_are_what_the_table_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
