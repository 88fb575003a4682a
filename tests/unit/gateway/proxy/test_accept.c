// SPDX-License-Identifier: Apache-2.0
#include "gateway/proxy/accept.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void assert_accepts(const char *header, bool json, bool events)
{
    struct accept a = accept_parse(header != NULL ? span_from_string(header) : SPAN_NONE);
    assert_int_equal(a.json, json);
    assert_int_equal(a.events, events);
}

static void what_clients_really_send_is_understood(void **state)
{
    (void)state;
    assert_accepts("application/json, text/event-stream", true, true);
    assert_accepts("text/event-stream,application/json", true, true);
    assert_accepts(" Application/JSON ; q=0.9 ,TEXT/EVENT-STREAM;q=1", true, true);
    assert_accepts("application/json", true, false);
    assert_accepts("text/event-stream", false, true);
    assert_accepts(NULL, true, true);
    assert_accepts("", true, true);
    assert_accepts("*/*", true, true);
    assert_accepts("application/*", true, false);
    assert_accepts("text/*", false, true);
    assert_accepts("text/html, */*;q=0.1", true, true);
}

static void what_does_not_fit_is_not_accepted(void **state)
{
    (void)state;
    assert_accepts("text/html", false, false);
    assert_accepts("application/json;q=0", false, false);
    assert_accepts("application/json; q=0.000, text/event-stream", false, true);
    assert_accepts("*/*, text/event-stream;q=0", true, false);
    assert_accepts("application/json;q=0.001", true, false);
    assert_accepts(",;,=;q=", false, false);
    assert_accepts("application/jsonx", false, false);
}

static void a_json_media_type_may_have_parameters(void **state)
{
    (void)state;
    assert_true(media_type_is_json(SPAN_LITERAL("application/json")));
    assert_true(media_type_is_json(SPAN_LITERAL("Application/Json; charset=utf-8")));
    assert_false(media_type_is_json(SPAN_LITERAL("application/json-patch+json")));
    assert_false(media_type_is_json(SPAN_LITERAL("text/plain")));
    assert_false(media_type_is_json(SPAN_NONE));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_clients_really_send_is_understood),
        cmocka_unit_test(what_does_not_fit_is_not_accepted),
        cmocka_unit_test(a_json_media_type_may_have_parameters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
