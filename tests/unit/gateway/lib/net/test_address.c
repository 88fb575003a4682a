// SPDX-License-Identifier: Apache-2.0
#include "gateway/lib/net/address.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "gateway/lib/base/memory.h"

static void addresses_read_and_write_the_same_text(void **state)
{
    (void)state;
    const struct {
        const char *text, *host;
        bool loopback;
    } cases[] = {
        {"127.0.0.1:8443", "127.0.0.1", true}, {"[::1]:8443", "::1", true},
        {"0.0.0.0:1", "0.0.0.0", false},       {"[2001:db8::1]:65535", "2001:db8::1", false},
        {"unix:/run/x.sock", "unix", true},    {"10.0.0.1:0", "10.0.0.1", false},
    };
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        struct address a;
        char text[ADDRESS_TEXT_SIZE];
        assert_int_equal(address_parse(span_from_string(cases[i].text), &a, NULL), 0);
        address_format(&a, text);
        assert_string_equal(text, cases[i].text);
        address_format_host(&a, text);
        assert_string_equal(text, cases[i].host);
        assert_int_equal(address_is_loopback(&a), cases[i].loopback);
    }
}

static void what_is_no_address_is_refused(void **state)
{
    (void)state;
    const char *bad[] = {"",
                         "8443",
                         "localhost:1",
                         "1.2.3.4",
                         "1.2.3.4:65536",
                         "::1:80",
                         "[::1]",
                         "[::1:80",
                         "1.2.3.4:x",
                         "unix:",
                         "fd:",
                         "fd:-1",
                         "fd:99999999",
                         "[]:80",
                         "1.2.3:80",
                         "[1.2.3.4]:80",
                         "1.2.3.4:"};
    for (size_t i = 0; i < ARRAY_COUNT(bad); i++) {
        struct address a;
        struct failure why;
        if (address_parse(span_from_string(bad[i]), &a, &why) != FAULT_INVALID)
            fail_msg("%s was taken", bad[i]);
    }
}

static void an_inherited_listener_is_named_by_its_descriptor(void **state)
{
    (void)state;
    struct address a;
    assert_int_equal(address_parse(SPAN_LITERAL("fd:3"), &a, NULL), 0);
    assert_int_equal(a.inherited_fd, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses_read_and_write_the_same_text),
        cmocka_unit_test(what_is_no_address_is_refused),
        cmocka_unit_test(an_inherited_listener_is_named_by_its_descriptor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
