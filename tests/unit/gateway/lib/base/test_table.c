// SPDX-License-Identifier: Apache-2.0
#include "gateway/lib/base/table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

static struct span key_of(int i, char text[16])
{
    return span_of(text, (size_t)snprintf(text, 16, "key-%d", i));
}

static void rows_survive_growth_and_removal(void **state)
{
    (void)state;
    static int values[5000];
    char text[16];
    struct table *t = table_new();
    for (int i = 0; i < 5000; i++)
        table_put(t, key_of(i, text), &values[i]);
    for (int i = 0; i < 5000; i += 2)
        assert_ptr_equal(table_remove(t, key_of(i, text)), &values[i]);
    assert_null(table_remove(t, key_of(0, text)));
    assert_int_equal(table_count(t), 2500);
    for (int i = 0; i < 5000; i++)
        assert_ptr_equal(table_get(t, key_of(i, text)), i % 2 != 0 ? &values[i] : NULL);
    table_put(t, key_of(0, text), &values[7]);
    assert_ptr_equal(table_get(t, key_of(0, text)), &values[7]);
    table_free(t);
}

static void iteration_sees_each_row_once_while_rows_are_removed(void **state)
{
    (void)state;
    static int seen[300];
    char text[16];
    struct table *t = table_new();
    for (int i = 0; i < 300; i++)
        table_put(t, key_of(i, text), &seen[i]);
    struct span key;
    void *value;
    for (size_t at = 0; table_next(t, &at, &key, &value);) {
        ++*(int *)value;
        table_remove(t, key);
    }
    for (int i = 0; i < 300; i++)
        assert_int_equal(seen[i], 1);
    assert_int_equal(table_count(t), 0);
    table_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_survive_growth_and_removal),
        cmocka_unit_test(iteration_sees_each_row_once_while_rows_are_removed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
