// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "driver/files.h"
#include "driver/oci/ids.h"

static void a_range_maps_every_id_in_it_and_no_other(void **state)
{
    (void)state;
    struct id_map m;
    id_map_from_range(&m, 2000000000, 65536);
    assert_int_equal(id_map_outside(&m, 0), 2000000000);
    assert_int_equal(id_map_outside(&m, 65535), 2000065535);
    assert_int_equal(id_map_outside(&m, 65536), -1);
    assert_int_equal(id_map_outside(&m, -1), -1);
}

static void grants(const char *text, int64_t inside, int64_t expected)
{
    char path[] = "/tmp/wrist-subuid-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(file_write(path, span_from_string(text), 0600, NULL), 0);
    struct id_map m;
    id_map_from_grant(&m, path, 4711);
    assert_int_equal(id_map_outside(&m, 0), 4711);
    assert_int_equal(id_map_outside(&m, inside), expected);
    unlink(path);
}

static void a_grant_counts_for_its_user_only_and_malformed_lines_for_nobody(void **state)
{
    (void)state;
    char own[64];
    if (access("/usr/bin/newuidmap", X_OK) != 0) {
        print_message("needs newuidmap\n");
        skip();
    }
    snprintf(own, sizeof own, "other:1:5\n%u:100000:65536\n", (unsigned)getuid());
    grants(own, 1000, 100999);
    snprintf(own, sizeof own, "%u:100000:10\n", (unsigned)getuid());
    grants(own, 1000, -1);
    grants("someone-else:100000:65536\n", 1000, -1);
    snprintf(own, sizeof own, "%u:99999999999:65536\n", (unsigned)getuid());
    grants(own, 1000, -1);
    snprintf(own, sizeof own, "%u:x:65536\n%u\n:\n", (unsigned)getuid(), (unsigned)getuid());
    grants(own, 1000, -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_range_maps_every_id_in_it_and_no_other),
        cmocka_unit_test(a_grant_counts_for_its_user_only_and_malformed_lines_for_nobody),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
