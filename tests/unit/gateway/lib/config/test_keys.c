// SPDX-License-Identifier: Apache-2.0
// The table engine: load, refusals, and what is written from the table.
#include "gateway/lib/config/keys.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "gateway/lib/base/memory.h"
#include "gateway/lib/json/json.h"

struct door {
    char address[64];
    bool tls;
};
struct mount {
    char from[64];
};
struct kind {
    char name[16];
    int64_t warm, memory;
    char **hosts;
    size_t host_count;
    struct mount *mounts;
    size_t mount_count;
};
struct sample {
    char user[16], password[32], state_dir[64], level[8];
    int mode;
    int64_t wait_ms, any;
    struct door *doors;
    size_t door_count;
    struct kind *kinds;
    size_t kind_count;
    char **origins;
    size_t origin_count;
};

static const char *const modes[] = {"slow", "fast", NULL};
static const char *const levels[] = {"info", "debug", NULL};

static bool has_dot(const char *text)
{
    return strchr(text, '.') != NULL;
}

static const struct key keys[] = {
    {"user", KEY_STRING, KEY_AT(struct sample, user), .fallback = "", .help = "Who."},
    {"password", KEY_STRING, KEY_AT(struct sample, password), .secret = true, .help = "Secret."},
    {"state_dir", KEY_PATH, KEY_AT(struct sample, state_dir), .required = true, .help = "Where."},
    {"level", KEY_WORD, KEY_AT(struct sample, level), .words = levels, .fallback = "info",
     .help = "How much is told."},
    {"mode", KEY_ENUM, KEY_AT(struct sample, mode), .words = modes, .fallback = "fast",
     .help = "How | why."},
    {"timeouts.wait", KEY_DURATION, KEY_AT(struct sample, wait_ms), .least = 1000, .most = 60000,
     .fallback = "30s", .help = "How long."},
    {"any", KEY_INTEGER, KEY_AT(struct sample, any), .least = -5, .most = 5, .fallback = "0",
     .help = "A number."},
    {"origins", KEYS_STRINGS(struct sample, origins, origin_count), .accepts = has_dot,
     .expected = "a host with a dot", .fallback = "a.b, c.d", .most = 3, .help = "Hosts."},
    {"doors[]", KEYS_LIST(struct sample, doors, door_count, struct door), .least = 1, .most = 2,
     .help = "Doors."},
    {"doors[].address", KEY_ADDRESS, KEY_AT(struct door, address), .required = true,
     .help = "Where."},
    {"doors[].tls", KEY_BOOL, KEY_AT(struct door, tls), .fallback = "true", .help = "Shut?"},
    {"kinds.<name>", KEYS_MAP(struct sample, kinds, kind_count, struct kind, name),
     .help = "Kinds."},
    {"kinds.<name>.warm", KEY_INTEGER, KEY_AT(struct kind, warm), .fallback = "2", .help = "Warm."},
    {"kinds.<name>.limits.memory", KEY_SIZE, KEY_AT(struct kind, memory), .fallback = "64MiB",
     .least = 4096, .help = "Memory."},
    {"kinds.<name>.limits.hosts", KEYS_STRINGS(struct kind, hosts, host_count), .help = "Hosts."},
    {"kinds.<name>.mounts[]", KEYS_LIST(struct kind, mounts, mount_count, struct mount),
     .help = "Mounts."},
    {"kinds.<name>.mounts[].from", KEY_PATH, KEY_AT(struct mount, from), .required = true,
     .help = "From."},
};

static int check(const void *settings, const struct key_source *source, struct failure *why)
{
    const struct sample *s = settings;
    for (size_t i = 0; i < s->kind_count; i++)
        if (strcmp(s->kinds[i].name, "bad") == 0)
            return key_source_refuse(source, why, "kinds.bad.warm", "expected better");
    return 0;
}

static const struct key_table table = {"sample",          "A sample.",           keys,
                                       ARRAY_COUNT(keys), sizeof(struct sample), check};

#define GOOD "state_dir: /s\ndoors: [{address: 'unix:/d'}]\n"

static void a_whole_file_lands_in_the_struct(void **state)
{
    (void)state;
    static const char yaml[] = "user: no\n"
                               "password: 1000\n"
                               "state_dir: /var/lib/x\n"
                               "mode: slow\n"
                               "level: debug\n"
                               "timeouts:\n  wait: 1 min\n"
                               "any: -5\n"
                               "origins: [x.y]\n"
                               "doors:\n- address: '[::1]:8443'\n  tls: false\n"
                               "- address: 127.0.0.1:1\n"
                               "kinds:\n  c:\n    limits: {memory: 2GiB, hosts: [h]}\n"
                               "    mounts:\n    - from: /a\n    - from: /b\n"
                               "  py-3: {}\n";
    struct sample s;
    struct failure why;
    if (keys_parse(&table, span_from_string(yaml), "f", &s, NULL, &why) != 0)
        fail_msg("%s", why.text);
    assert_string_equal(s.user, "no");
    assert_string_equal(s.password, "1000");
    assert_int_equal(s.mode, 0);
    assert_string_equal(s.level, "debug");
    assert_int_equal(s.wait_ms, 60000);
    assert_int_equal(s.any, -5);
    assert_int_equal(s.origin_count, 1);
    assert_int_equal(s.door_count, 2);
    assert_false(s.doors[0].tls);
    assert_true(s.doors[1].tls);
    assert_int_equal(s.kind_count, 2);
    assert_string_equal(s.kinds[0].name, "c");
    assert_int_equal(s.kinds[0].memory, 2LL << 30);
    assert_string_equal(s.kinds[0].hosts[0], "h");
    assert_string_equal(s.kinds[0].mounts[1].from, "/b");
    assert_string_equal(s.kinds[1].name, "py-3");
    assert_int_equal(s.kinds[1].warm, 2);
    assert_int_equal(s.kinds[1].memory, 64 << 20);
    keys_release(&table, &s);
    assert_null(s.kinds);
}

static void what_is_left_out_takes_its_default(void **state)
{
    (void)state;
    struct sample s;
    struct failure why;
    assert_int_equal(keys_parse(&table, SPAN_LITERAL(GOOD), "f", &s, NULL, &why), 0);
    assert_string_equal(s.user, "");
    assert_int_equal(s.mode, 1);
    assert_int_equal(s.wait_ms, 30000);
    assert_int_equal(s.origin_count, 2);
    assert_string_equal(s.origins[1], "c.d");
    assert_int_equal(s.kind_count, 0);
    keys_release(&table, &s);
}

static void every_mistake_names_its_place_key_and_what_was_expected(void **state)
{
    (void)state;
    static const struct {
        const char *yaml, *says;
    } rows[] = {
        {"", "f:1:1: state_dir: expected an absolute path, got nothing"},
        {"state_dir: /s\n", "f:1:1: doors: expected a list, got nothing"},
        {"- a\n", "f:1:1: expected keys, got a list"},
        {GOOD "usr: x\n", "f:3:1: usr: expected a known key, did you mean `user`?"},
        {GOOD "modee: fast\n", "f:3:1: modee: expected a known key, did you mean `mode`?"},
        {GOOD "zzzzzzzzzzzz: x\n", "f:3:1: zzzzzzzzzzzz: expected a known key (user, password, "},
        {GOOD "user: x\nuser: y\n", "f:4:1: expected each key once, got `user` again (first in "
                                    "line 3)"},
        {GOOD "user:\n", "f:3:6: user: expected a string, got nothing"},
        {GOOD "user: ~\n", "f:3:7: user: expected a string, got nothing"},
        {GOOD "user: [x]\n", "f:3:7: user: expected a string, got a list"},
        {GOOD "user: {a: b}\n", "f:3:7: user: expected a string, got a group of keys"},
        {GOOD "user: 1234567890123456\n", "f:3:7: user: expected at most 15 bytes, got 16"},
        {GOOD "user: \"a\\x07b\"\n", "f:3:7: user: expected a string, got `a?b`"},
        {GOOD "password: \"very\\0secret\"\n",
         "f:3:11: password: expected a string, got something else (not shown)"},
        {"state_dir: s\n", "f:1:12: state_dir: expected an absolute path, got `s`"},
        {"state_dir: ''\n", "f:1:12: state_dir: expected an absolute path, got ``"},
        {GOOD "mode: quick\n", "f:3:7: mode: expected one of slow, fast, got `quick`"},
        {GOOD "mode: 1\n", "f:3:7: mode: expected one of slow, fast, got `1`"},
        {GOOD "level: INFO\n", "f:3:8: level: expected one of info, debug, got `INFO`"},
        {GOOD "any: 6\n", "f:3:6: any: expected a whole number from -5 to 5, got `6`"},
        {GOOD "any: \"3\"\n", "f:3:6: any: expected a whole number from -5 to 5, got `3`"},
        {GOOD "any: 03\n", "f:3:6: any: expected a whole number from -5 to 5, got `03`"},
        {GOOD "any: 1.0\n", "f:3:6: any: expected a whole number"},
        {GOOD "any: 99999999999999999999\n", "f:3:6: any: expected a whole number"},
        {GOOD "any: ten\n", "f:3:6: any: expected a whole number"},
        {GOOD "timeouts: 5s\n", "f:3:11: timeouts: expected a group of keys, got a value"},
        {GOOD "timeouts:\n  wiat: 5s\n",
         "f:4:3: timeouts.wiat: expected a known key, did you mean `wait`?"},
        {GOOD "timeouts:\n  wait: 5\n", "f:4:9: timeouts.wait: expected a duration like 500ms, "
                                        "30s, 5min, 8h or 7d from 1s to 1min, got `5`"},
        {GOOD "timeouts:\n  wait: 2min\n", "f:4:9: timeouts.wait: expected a duration"},
        {GOOD "timeouts:\n  wait: 999999999999999999d\n", "f:4:9: timeouts.wait: expected a dura"},
        {GOOD "timeouts:\n  wait: -5s\n", "f:4:9: timeouts.wait: expected a duration"},
        {GOOD "origins: x.y\n", "f:3:10: origins: expected a list, got a value"},
        {GOOD "origins: [x.y, z]\n", "f:3:16: origins[1]: expected a host with a dot, got `z`"},
        {GOOD "origins: [x.y, ]\norigins: 1\n", "f:4:1: expected each key once"},
        {GOOD "origins: [x.y, ~]\n", "f:3:16: origins[1]: expected a string, got nothing"},
        {GOOD "origins: [x.y, [z.z]]\n", "f:3:16: origins[1]: expected a string, got a list"},
        {GOOD "origins: [a.a, b.b, c.c, d.d]\n", "f:3:10: origins: expected at most 3, got 4"},
        {"state_dir: /s\ndoors: []\n", "f:2:8: doors: expected at least 1, got 0"},
        {"state_dir: /s\ndoors: [{tls: true}]\n", "f:2:9: doors[0].address: expected an address"},
        {"state_dir: /s\ndoors: [{address: 'localhost:1'}]\n",
         "f:2:19: doors[0].address: expected an address like"},
        {"state_dir: /s\ndoors: [{address: '127.0.0.1:65536'}]\n", "f:2:19: doors[0].address: "},
        {"state_dir: /s\ndoors: [{address: 127.0.0.1}]\n", "f:2:19: doors[0].address: expected"},
        {"state_dir: /s\ndoors: [{address: '::1:5'}]\n", "f:2:19: doors[0].address: expected"},
        {"state_dir: /s\ndoors: [{address: 'unix:x'}]\n", "f:2:19: doors[0].address: expected"},
        {"state_dir: /s\ndoors: [{address: 'fd:3', tls: yes}]\n",
         "f:2:32: doors[0].tls: expected true or false, got `yes`"},
        {"state_dir: /s\ndoors: [{address: 'fd:3', tls: 'true'}]\n",
         "f:2:32: doors[0].tls: expected true or false, got `true`"},
        {"state_dir: /s\ndoors: [5]\n", "f:2:9: doors[0]: expected a group of keys, got a value"},
        {"state_dir: /s\ndoors: {a: {}}\n", "f:2:8: doors: expected a list, got a group of keys"},
        {GOOD "kinds: [a]\n", "f:3:8: kinds: expected a map from names, got a list"},
        {GOOD "kinds:\n  A: {}\n", "f:4:3: kinds.A: expected a name of a-z, 0-9 and - of at most"},
        {GOOD "kinds:\n  ../x: {}\n", "f:4:3: kinds.../x: expected a name"},
        {GOOD "kinds:\n  aaaaaaaaaaaaaaaa: {}\n", "f:4:3: kinds.aaaaaaaaaaaaaaaa: expected a na"},
        {GOOD "kinds:\n  c:\n", "f:4:5: kinds.c: expected a group of keys, got nothing"},
        {GOOD "kinds:\n  c: {warm: -1}\n", "f:4:13: kinds.c.warm: expected a whole number, got"},
        {GOOD "kinds:\n  c: {limits: {memory: 1KiB}}\n",
         "f:4:24: kinds.c.limits.memory: expected a size like 512KiB, 16MiB or 2GiB from 4KiB, "},
        {GOOD "kinds:\n  c: {limits: {memory: 64MB}}\n", "f:4:24: kinds.c.limits.memory: expect"},
        {GOOD "kinds:\n  c:\n    mounts:\n    - from: /a\n    - form: /b\n",
         "f:7:7: kinds.c.mounts[1].form: expected a known key, did you mean `from`?"},
        {GOOD "kinds:\n  c:\n    mounts:\n    - {}\n",
         "f:6:7: kinds.c.mounts[0].from: expected an absolute path, got nothing"},
        {GOOD "kinds:\n  bad: {warm: 1}\n", "f:4:15: kinds.bad.warm: expected better"},
        {GOOD "kinds:\n  bad: {}\n", "f:4:8: kinds.bad.warm: expected better"},
        {GOOD "user: &a x\n", "f:3:7: expected a value, got an anchor (&name)"},
        {GOOD "user: *a\n", "f:3:7: expected a value, got an alias (*name)"},
        {GOOD "user: !!str x\n", "f:3:7: expected a value, got a tag (!name)"},
        {GOOD "kinds:\n  <<: {warm: 1}\n", "f:4:3: kinds.<<: expected a name"},
        {GOOD "? [a]\n: b\n", "f:3:3: expected a key, got something else"},
        {GOOD "? {a: b}\n: b\n", "f:3:3: expected a key, got something else"},
        {"%YAML 1.1\n---\n" GOOD, "f:1:1: expected no directives, got one"},
        {GOOD "---\nuser: x\n", "f:3:1: expected one document, got another one"},
        {GOOD "kinds:\n\tc: {}\n", "f:4:1: expected spaces for indentation, got a tab"},
        {GOOD "user: 'x\n", "f:4:1: expected YAML, got a mistake: while scanning a quoted scalar"},
        {GOOD "user: [x\n", "f:4:1: expected YAML, got a mistake: "},
        {GOOD "user: x: y\n", "f:3:8: expected YAML, got a mistake: mapping values are not allow"},
        {GOOD "user: \xff\n", "f: byte "},
        {"a: {b: {c: {d: {e: {f: {g: {h: {i: {j: {k: {l: {m: {n: {o: {p: {q: {}}}}}}}}}}}}}}}}}\n",
         "f:1:64: expected at most 16 levels, got more"},
    };
    for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
        struct sample s;
        struct failure why = {0};
        int rc = keys_parse(&table, span_from_string(rows[i].yaml), "f", &s, NULL, &why);
        if (rc == 0 || strncmp(why.text, rows[i].says, strlen(rows[i].says)) != 0)
            fail_msg("\n%s\nsays:     %s\nexpected: %s", rows[i].yaml,
                     rc == 0 ? "(accepted)" : why.text, rows[i].says);
    }
}

static const char *ended(struct buffer *b)
{
    assert_int_equal(buffer_append_char(b, '\0'), 0);
    return buffer_span(b).data;
}

static void the_dump_loads_again_marks_defaults_and_hides_secrets(void **state)
{
    (void)state;
    struct sample s, again;
    struct failure why;
    struct key_source *source;
    struct buffer out, second;
    buffer_init(&out, 65536);
    buffer_init(&second, 65536);
    assert_int_equal(keys_parse(&table,
                                SPAN_LITERAL(GOOD "password: hush\nuser: 'a\"b'\n"
                                                  "kinds: {c: {mounts: [{from: /a}]}}\n"),
                                "f", &s, &source, &why),
                     0);
    assert_int_equal(keys_write_dump(&table, &s, source, &out), 0);
    assert_int_equal(keys_parse(&table, buffer_span(&out), "dump", &again, NULL, &why), 0);
    assert_int_equal(again.wait_ms, s.wait_ms);
    assert_string_equal(again.kinds[0].mounts[0].from, "/a");
    const char *text = ended(&out);
    assert_null(strstr(text, "hush"));
    assert_non_null(strstr(text, "password: \"***\" # hidden\n"));
    assert_non_null(strstr(text, "user: \"a\\\"b\"\n"));
    assert_non_null(strstr(text, "mode: fast # default\n"));
    assert_non_null(strstr(text, "timeouts:\n  wait: 30s # default\n"));
    assert_non_null(strstr(text, "doors:\n  - address: unix:/d\n    tls: true # default\n"));
    assert_non_null(strstr(text, "kinds:\n  c:\n    warm: 2 # default\n    limits:\n"
                                 "      memory: 64MiB # default\n"));
    assert_non_null(strstr(text, "origins: # default\n  - a.b\n  - c.d\n"));
    key_source_free(source);
    keys_release(&table, &s);
    keys_release(&table, &again);
    buffer_fini(&out);
    buffer_fini(&second);
}

static void help_and_page_show_every_key(void **state)
{
    (void)state;
    struct buffer out;
    for (int page = 0; page < 2; page++) {
        buffer_init(&out, 65536);
        assert_int_equal(page ? keys_write_page(&table, &out) : keys_write_help(&table, &out), 0);
        const char *text = ended(&out);
        for (size_t i = 0; i < ARRAY_COUNT(keys); i++)
            assert_non_null(strstr(text, keys[i].path));
        assert_non_null(strstr(text, page ? "How \\| why." : "default 30s"));
        buffer_fini(&out);
    }
}

static void the_schema_says_what_the_table_says(void **state)
{
    (void)state;
    struct buffer out;
    struct json *j;
    struct failure why;
    int64_t most;
    buffer_init(&out, 65536);
    assert_int_equal(keys_write_schema(&table, &out), 0);
    assert_int_equal(json_parse(buffer_span(&out), &json_limits_default, &j, &why), 0);
    int properties = json_get(j, JSON_ROOT, "properties");
    int warm = JSON_NONE;
    assert_true(json_i64(j, json_get(j, json_get(j, properties, "any"), "maximum"), &most));
    assert_int_equal(most, 5);
    assert_int_equal(json_count(j, json_get(j, JSON_ROOT, "required")), 2);
    assert_int_equal(json_type(j, json_get(j, JSON_ROOT, "additionalProperties")), JSON_FALSE);
    warm = json_get(j, json_get(j, properties, "kinds"), "additionalProperties");
    warm = json_get(j, json_get(j, warm, "properties"), "warm");
    assert_true(json_string_is(j, json_get(j, warm, "type"), "integer"));
    json_free(j);
    buffer_fini(&out);
}

static void lines_of_keys_and_elements_can_be_asked(void **state)
{
    (void)state;
    struct sample s;
    struct failure why;
    struct key_source *source;
    assert_int_equal(keys_parse(&table,
                                SPAN_LITERAL("state_dir: /s\ndoors:\n- address: 'fd:3'\n"
                                             "- tls: true\n  address: 'fd:4'\n"),
                                "f", &s, &source, &why),
                     0);
    assert_int_equal(key_source_line(source, "doors"), 2);
    assert_int_equal(key_source_line(source, "doors[1]"), 4);
    assert_int_equal(key_source_line(source, "doors[1].address"), 5);
    assert_int_equal(key_source_line(source, "doors[2]"), 0);
    assert_false(key_source_has(source, "mode"));
    key_source_free(source);
    keys_release(&table, &s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_whole_file_lands_in_the_struct),
        cmocka_unit_test(what_is_left_out_takes_its_default),
        cmocka_unit_test(every_mistake_names_its_place_key_and_what_was_expected),
        cmocka_unit_test(the_dump_loads_again_marks_defaults_and_hides_secrets),
        cmocka_unit_test(help_and_page_show_every_key),
        cmocka_unit_test(the_schema_says_what_the_table_says),
        cmocka_unit_test(lines_of_keys_and_elements_can_be_asked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
