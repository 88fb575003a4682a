// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "gateway/lib/control/worker_start.h"

static void fill(struct worker_start *s)
{
    worker_start_default(s);
    memset(s->id, 'a', ID_SIZE - 1);
    memcpy(s->profile, "small", 6);
    memset(s->secret, 7, sizeof s->secret);
    s->generation = 3;
    s->orphan_ms = 60000;
    s->command_uid = s->command_gid = 1000;
    s->weak_isolation = true;
    s->read_only = true;
}

static void what_is_written_reads_back_the_same(void **state)
{
    (void)state;
    struct worker_start s, back;
    struct failure why = {0};
    struct buffer json;
    fill(&s);
    buffer_init(&json, WORKER_START_LIMIT);
    assert_int_equal(worker_start_write(&s, &json), 0);
    assert_int_equal(worker_start_parse(buffer_span(&json), &back, &why), 0);
    assert_string_equal(back.id, s.id);
    assert_string_equal(back.profile, "small");
    assert_memory_equal(back.secret, s.secret, sizeof s.secret);
    assert_int_equal(back.generation, 3);
    assert_int_equal(back.orphan_ms, 60000);
    assert_int_equal(back.command_uid, 1000);
    assert_int_equal(back.limits.processes, 512);
    assert_string_equal(back.workspace, "/workspace");
    assert_string_equal(back.inputs, "/inputs");
    assert_true(back.weak_isolation);
    assert_true(back.read_only);
    buffer_fini(&json);
}

static void a_cut_document_is_refused_at_every_length(void **state)
{
    (void)state;
    struct worker_start s, back;
    struct buffer json;
    fill(&s);
    buffer_init(&json, WORKER_START_LIMIT);
    assert_int_equal(worker_start_write(&s, &json), 0);
    for (size_t size = 0; size < buffer_size(&json); size++) {
        struct failure why = {0};
        assert_int_not_equal(
            worker_start_parse(span_slice(buffer_span(&json), 0, size), &back, &why), 0);
        assert_true(why.text[0] != '\0');
    }
    buffer_fini(&json);
}

static void a_relative_workspace_is_refused(void **state)
{
    (void)state;
    struct worker_start s, back;
    struct failure why = {0};
    struct buffer json;
    fill(&s);
    memcpy(s.workspace, "here", 5);
    buffer_init(&json, WORKER_START_LIMIT);
    assert_int_equal(worker_start_write(&s, &json), 0);
    assert_int_equal(worker_start_parse(buffer_span(&json), &back, &why), FAULT_INVALID);
    buffer_fini(&json);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_reads_back_the_same),
        cmocka_unit_test(a_cut_document_is_refused_at_every_length),
        cmocka_unit_test(a_relative_workspace_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
