// SPDX-License-Identifier: Apache-2.0
// The lines of a store: what is written is read back, and what is no line is refused whole.
#include "gateway/store/record.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "gateway/lib/base/memory.h"

#define HASH_A "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
#define HASH_B "ffeeddccbbaa99887766554433221100ffeeddccbbaa99887766554433221100"
#define LINE   "00112233445566778899aabbccddeeff main - - 1 2 3 4 5"

static int parse(const char *line, struct sandbox_record *out)
{
    struct failure why;
    return sandbox_record_parse(span_from_string(line), out, &why);
}

static void a_sandbox_with_grants_is_read_back(void **state)
{
    (void)state;
    struct buffer line;
    struct sandbox_record record, again;
    buffer_init(&line, 4096);
    assert_int_equal(parse(LINE, &record), 0);
    assert_int_equal(record.grants.count, 0);
    char hash[PRINCIPAL_HASH_SIZE];
    for (int i = 0; i < LINK_GRANTS_MOST; i++) {
        snprintf(hash, sizeof hash, "%064d", i);
        assert_true(sandbox_grants_add(&record.grants, hash));
    }
    assert_false(sandbox_grants_add(&record.grants, HASH_A));
    assert_true(sandbox_grants_add(&record.grants, hash)); // stands already
    struct failure why;
    assert_int_equal(sandbox_record_write(&record, &line), 0);
    assert_int_equal(sandbox_record_parse(buffer_span(&line), &again, &why), 0);
    assert_int_equal(again.grants.count, LINK_GRANTS_MOST);
    for (size_t i = 0; i < again.grants.count; i++)
        assert_true(sandbox_grants_has(&record.grants, again.grants.principals[i]));
    sandbox_grants_remove(&again.grants, hash);
    sandbox_grants_remove(&again.grants, HASH_A);
    assert_int_equal(again.grants.count, LINK_GRANTS_MOST - 1);
    assert_false(sandbox_grants_has(&again.grants, hash));
    buffer_fini(&line);
}

static void grants_that_are_no_hashes_make_no_record(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        LINE " ",
        LINE " x",
        LINE " " HASH_A ",",
        LINE " ," HASH_A,
        LINE " " HASH_A "," HASH_A,
        LINE " " HASH_A "0",
        LINE " " HASH_A " " HASH_B,
        LINE " FF112233445566778899aabbccddeeff00112233445566778899aabbccddeeff",
        LINE " " HASH_A "," HASH_B " ",
    };
    struct sandbox_record record;
    for (size_t i = 0; i < ARRAY_COUNT(wrong); i++)
        assert_int_equal(parse(wrong[i], &record), FAULT_PARSE);
    assert_int_equal(parse(LINE " " HASH_A "," HASH_B, &record), 0);
    assert_int_equal(record.grants.count, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sandbox_with_grants_is_read_back),
        cmocka_unit_test(grants_that_are_no_hashes_make_no_record),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
