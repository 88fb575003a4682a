// SPDX-License-Identifier: Apache-2.0
// driver_api, link and the failure in JSON.
#include "gateway/lib/control/driver_api.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "gateway/lib/control/link.h"

#define HEX32 "00112233445566778899aabbccddeeff"

static void a_creation_reads_back_as_it_was_written(void **state)
{
    (void)state;
    struct driver_create sent = {.id = HEX32, .fleet = HEX32, .profile = "c-22", .generation = 3};
    struct driver_create got;
    struct buffer out;
    struct failure why;
    for (int i = 0; i < LINK_SECRET_BYTES; i++)
        sent.secret[i] = (unsigned char)(i * 9);
    sent.orphan_ms = 60000;
    snprintf(sent.volume, sizeof sent.volume, "%s", HEX32 HEX32);
    snprintf(sent.volume_owner, sizeof sent.volume_owner, "%s", HEX32 HEX32);
    snprintf(sent.volume_label, sizeof sent.volume_label, "sealed");
    sent.volume_keep_ms = 1000;
    sent.volumes_most = 3;
    buffer_init(&out, 4096);
    assert_int_equal(driver_create_write(&sent, &out), 0);
    assert_int_equal(driver_create_parse(buffer_span(&out), &got, &why), 0);
    assert_memory_equal(&sent, &got, sizeof sent);
    buffer_fini(&out);
}

static void a_creation_of_an_older_gateway_has_no_volume(void **state)
{
    (void)state;
    struct driver_create got;
    struct failure why;
    assert_int_equal(
        driver_create_parse(SPAN_LITERAL("{\"id\":\"" HEX32 "\",\"fleet\":\"" HEX32
                                         "\",\"profile\":\"c\",\"generation\":1,\"secret\":"
                                         "\"" HEX32 HEX32 "\",\"orphan_ms\":5}"),
                            &got, &why),
        0);
    assert_string_equal(got.volume, "");
    assert_int_equal(got.volumes_most, 0);
}

static void a_volume_reads_back_as_it_was_written(void **state)
{
    (void)state;
    struct driver_volume sent = {.id = HEX32 HEX32,
                                 .fleet = HEX32,
                                 .owner = HEX32 HEX32,
                                 .label = "sealed",
                                 .profile = "c",
                                 .bytes = 1,
                                 .keep_ms = INT64_MAX,
                                 .created_ms = 5,
                                 .used_ms = 6};
    struct driver_volume got;
    struct buffer out;
    struct failure why;
    buffer_init(&out, 4096);
    assert_int_equal(driver_volume_write(&sent, &out), 0);
    assert_int_equal(driver_volume_parse(buffer_span(&out), &got, &why), 0);
    assert_memory_equal(&sent, &got, sizeof sent);
    assert_int_equal(driver_volume_parse(SPAN_LITERAL("{}"), &got, &why), FAULT_INVALID);
    buffer_fini(&out);
}

static void a_record_reads_back_and_leaves_out_what_is_empty(void **state)
{
    (void)state;
    struct driver_record sent = {.id = HEX32,
                                 .fleet = HEX32,
                                 .profile = "c",
                                 .generation = INT64_MAX,
                                 .state = DRIVER_STATE_EXITED,
                                 .created_ms = 1764544205123,
                                 .endpoint = "unix:/run/x\"y"};
    struct driver_record got;
    struct buffer out;
    struct failure why;
    buffer_init(&out, 8192);
    assert_int_equal(driver_record_write(&sent, &out), 0);
    assert_null(memmem(buffer_span(&out).data, buffer_size(&out), "note", 4));
    assert_int_equal(driver_record_parse(buffer_span(&out), &got, &why), 0);
    assert_memory_equal(&sent, &got, sizeof sent);
    buffer_fini(&out);
}

static void what_a_peer_gets_wrong_is_refused_by_name(void **state)
{
    (void)state;
    static const struct {
        const char *json, *says;
    } rows[] = {
        {"[]", "bind: expected an object"},
        {"{}", "bind: principal: expected 64"},
        {"{\"principal\":\"" HEX32 "\"}", "bind: principal: expected 64"},
        {"{\"principal\":\"" HEX32 HEX32 "\",\"generation\":0}", "bind: generation: expected"},
        {"{\"principal\":\"" HEX32 HEX32 "\",\"generation\":1.5}", "bind: generation: expected"},
        {"{\"principal\":\"" HEX32 HEX32 "\",\"generation\":\"1\"}", "bind: generation: expected"},
        {"{\"principal\":\"" HEX32 HEX32 "\",\"generation\":1,\"session\":7}", "bind: session:"},
        {"{\"principal\":\"" HEX32 HEX32 "\",\"generation\":1,\"session\":\"../x\"}",
         "bind: session:"},
        {"{\"principal\":\"" HEX32 HEX32 "\",\"generation\":1,\"idle_ms\":-1}", "bind: idle_ms:"},
        {"{\"principal\":\"" HEX32 HEX32 "\\u0000\",\"generation\":1}", "bind: principal:"},
        {"{\"principal\"", "bind: "},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct link_bind b;
        struct failure why;
        int rc = link_bind_parse(span_from_string(rows[i].json), &b, &why);
        assert_true(rc == FAULT_INVALID || rc == FAULT_PARSE);
        if (strncmp(why.text, rows[i].says, strlen(rows[i].says)) != 0)
            fail_msg("%s: %s", rows[i].json, why.text);
        assert_string_equal(b.principal, "");
    }
}

static void unknown_members_of_a_newer_peer_are_passed_over(void **state)
{
    (void)state;
    struct link_bind b;
    struct failure why;
    assert_int_equal(link_bind_parse(SPAN_LITERAL("{\"principal\":\"" HEX32 HEX32
                                                  "\",\"generation\":2,\"idle_ms\":0,"
                                                  "\"absolute_ms\":5,\"colour\":[{\"a\":1}]}"),
                                     &b, &why),
                     0);
    assert_int_equal(b.absolute_ms, 5);
    assert_string_equal(b.session, "");
}

static void a_status_reads_back_before_and_after_the_bind(void **state)
{
    (void)state;
    struct link_status sent = {.sandbox = HEX32, .generation = 1, .absolute_left_ms = -1};
    struct link_status got;
    struct failure why;
    struct buffer out;
    buffer_init(&out, 4096);
    for (int round = 0; round < 2; round++) {
        buffer_clear(&out);
        assert_int_equal(link_status_write(&sent, &out), 0);
        assert_int_equal(link_status_parse(buffer_span(&out), &got, &why), 0);
        assert_memory_equal(&sent, &got, sizeof sent);
        snprintf(sent.principal, sizeof sent.principal, "%s", HEX32 HEX32);
        sent.absolute_left_ms = 1000;
        sent.calls = 2;
    }
    buffer_fini(&out);
}

static void a_failure_crosses_with_its_fault_and_message(void **state)
{
    (void)state;
    struct failure sent, got;
    struct buffer out;
    buffer_init(&out, 4096);
    failure_set(&sent, FAULT_QUOTA, "at most 4 \"sandboxes\"");
    assert_int_equal(failure_write(&sent, &out), 0);
    assert_string_equal(
        (buffer_append_char(&out, '\0'), buffer_span(&out).data),
        "{\"error\":{\"fault\":\"QUOTA\",\"message\":\"at most 4 \\\"sandboxes\\\"\"}}");
    buffer_truncate(&out, buffer_size(&out) - 1);
    assert_int_equal(failure_parse(buffer_span(&out), &got), FAULT_QUOTA);
    assert_string_equal(got.text, sent.text);
    assert_int_equal(failure_parse(SPAN_LITERAL("<html>"), &got), FAULT_INTERNAL);
    assert_int_equal(failure_parse(SPAN_LITERAL("{\"error\":{\"fault\":\"NONE\"}}"), &got),
                     FAULT_INTERNAL);
    assert_int_equal(failure_parse(SPAN_LITERAL("{\"error\":{\"fault\":\"LOST\"}}"), &got),
                     FAULT_LOST);
    assert_string_equal(got.text, "the sandbox was lost");
    buffer_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_creation_reads_back_as_it_was_written),
        cmocka_unit_test(a_creation_of_an_older_gateway_has_no_volume),
        cmocka_unit_test(a_volume_reads_back_as_it_was_written),
        cmocka_unit_test(a_record_reads_back_and_leaves_out_what_is_empty),
        cmocka_unit_test(what_a_peer_gets_wrong_is_refused_by_name),
        cmocka_unit_test(unknown_members_of_a_newer_peer_are_passed_over),
        cmocka_unit_test(a_status_reads_back_before_and_after_the_bind),
        cmocka_unit_test(a_failure_crosses_with_its_fault_and_message),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
