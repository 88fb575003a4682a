// SPDX-License-Identifier: Apache-2.0
// The parsers on what real tools printed, whole, byte by byte and in odd pieces; and the verdicts.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

#include "gateway/lib/base/memory.h"
#include "workers/checks/parse.h"

static const char pytest_xml[] =
    "<?xml version=\"1.0\" encoding=\"utf-8\"?><testsuites name=\"pytest tests\"><testsuite "
    "name=\"pytest\" errors=\"0\" failures=\"1\" skipped=\"1\" tests=\"3\" "
    "time=\"0.055\"><testcase "
    "classname=\"test_demo.TestA\" name=\"test_bad\" file=\"test_demo.py\" line=\"2\" "
    "time=\"0.001\"><failure message=\"AssertionError: a &lt; b &amp; c&#10;assert 1 == 2\">    "
    "def "
    "test_bad(self):\n&gt;       assert 1 == 2\nE       assert 1 == 2\n\ntest_demo.py:4: "
    "AssertionError</failure></testcase><testcase classname=\"test_demo\" name=\"test_good\" "
    "file=\"test_demo.py\" line=\"4\" time=\"0.000\" /><testcase classname=\"test_demo\" "
    "name=\"test_skip\" file=\"test_demo.py\" line=\"5\"><skipped type=\"pytest.skip\" "
    "message=\"later\">test_demo.py:6: later</skipped></testcase></testsuite></testsuites>";

static const char cargo_lines[] =
    "{\"reason\":\"build-finished\",\"success\":true}\n\nrunning 3 tests\ntest tests::fine ... ok\n"
    "test tests::later ... ignored\ntest tests::adds ... FAILED\n\nfailures:\n\n---- tests::adds "
    "stdout ----\n\nthread 'tests::adds' (21153) panicked at src/lib.rs:6:33:\nassertion `left == "
    "right` failed\n  left: -1\n right: 3\n\n\nfailures:\n    tests::adds\n\ntest result: FAILED. "
    "1 "
    "passed; 1 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.16s\n";

// G-21: an error with a code, as the compiler's JSON has it.
static const char cargo_error[] =
    "{\"reason\":\"compiler-message\",\"message\":{\"children\":[],\"level\":\"error\",\"message\":"
    "\"cannot find value `missing` in this scope\",\"code\":{\"code\":\"E0425\"},\"spans\":[{"
    "\"file_name\":\"src/lib.rs\",\"is_primary\":true,\"line_start\":1}]}}\n{\"reason\":"
    "\"compiler-message\",\"message\":{\"level\":\"error\",\"message\":\"aborting due to 1 "
    "previous "
    "error\",\"code\":null,\"spans\":[]}}\n";

static const char go_lines[] =
    "{\"Action\":\"run\",\"Package\":\"d\",\"Test\":\"TestSum\"}\n"
    "{\"Action\":\"run\",\"Package\":\"d\",\"Test\":\"TestSum/small\"}\n"
    "{\"Action\":\"output\",\"Package\":\"d\",\"Test\":\"TestSum/small\",\"Output\":\"    "
    "sum_test.go:8: got -1, want 3\\n\"}\n"
    "{\"Action\":\"fail\",\"Package\":\"d\",\"Test\":\"TestSum/small\",\"Elapsed\":0}\n"
    "{\"Action\":\"fail\",\"Package\":\"d\",\"Test\":\"TestSum\",\"Elapsed\":0}\n"
    "{\"Action\":\"pass\",\"Package\":\"d\",\"Test\":\"TestOther\",\"Elapsed\":0}\n"
    "{\"Action\":\"fail\",\"Package\":\"d\",\"Elapsed\":0.002}\n";

// G-20: ruff gives a syntax error no code.
static const char ruff_line[] =
    "{\"cell\":null,\"code\":null,\"filename\":\"/workspace/a.py\",\"location\":{\"column\":5,"
    "\"row\":3},\"message\":\"SyntaxError: Expected a parameter\"}\n";

static const char compiler_lines[] =
    "bad.c: In function 'main':\nbad.c:1:25: error: 'missing' undeclared\n    1 | int "
    "main\nbad.c:1:25: "
    "note: each undeclared\nlib/x.c:7:2: warning: unused\nsrc/a.ts(3,14): error TS2322: Type\n"
    "see http://example.org:80/ and 12:30:01 now\nvet: ./sum.go:3:39: undefined: missing\n";

static void parse(const struct parser *p, const char *text, size_t piece, struct report *out)
{
    struct span rest = span_from_string(text);
    report_init(out);
    void *state = p->make(out);
    while (rest.size > 0) {
        p->feed(state, span_slice(rest, 0, piece));
        rest = span_slice(rest, piece, rest.size);
    }
    p->finish(state);
}

static void real_output_is_counted_however_it_is_cut(void **state)
{
    static const struct {
        const struct parser *parser;
        const char *text;
        int64_t failed, passed, skipped, errors, warnings;
        const char *name, *file;
        int64_t line;
    } rows[] = {
        {&parser_junit, pytest_xml, 1, 1, 1, 0, 0, "test_bad", "test_demo.py", 4},
        {&parser_cargo, cargo_lines, 1, 1, 1, 0, 0, "tests::adds", "src/lib.rs", 6},
        {&parser_cargo, cargo_error, 0, 0, 0, 1, 0, "E0425", "src/lib.rs", 1},
        {&parser_gotest, go_lines, 1, 1, 0, 0, 0, "TestSum/small", "sum_test.go", 8},
        {&parser_lint_json, ruff_line, 0, 0, 0, 1, 0, "", "/workspace/a.py", 3},
        {&parser_diagnostics, compiler_lines, 0, 0, 0, 3, 1, "", "bad.c", 1},
        {&parser_summary, "ok 1 - a\nnot ok 2 - b\nok 3 # SKIP\n", 1, 1, 1, 0, 0, "2 - b", "", 0},
        {&parser_summary, "Tests:       0 failed, 2 passed, 2 total\n", 0, 2, 0, 0, 0, NULL, NULL,
         0},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_COUNT(rows); i++)
        for (size_t piece = 1; piece < 5000; piece = piece * 3 + 4) {
            struct report r;
            parse(rows[i].parser, rows[i].text, piece, &r);
            assert_int_equal(r.failed, rows[i].failed);
            assert_int_equal(r.passed, rows[i].passed);
            assert_int_equal(r.skipped, rows[i].skipped);
            assert_int_equal(r.errors, rows[i].errors);
            assert_int_equal(r.warnings, rows[i].warnings);
            if (rows[i].name != NULL) {
                assert_string_equal(r.findings[0].name, rows[i].name);
                assert_string_equal(r.findings[0].file, rows[i].file);
                assert_int_equal(r.findings[0].line, rows[i].line);
            }
            report_fini(&r);
        }
}

static void only_what_is_proven_is_green(void **state)
{
    static const struct {
        enum check_kind kind;
        struct report report;
        struct ending ending;
        enum verdict verdict;
    } rows[] = {
        {CHECK_TESTS, {.passed = 3, .counted = true}, {.exit_code = 0}, VERDICT_PASSED},
        {CHECK_TESTS, {.passed = 3, .counted = true}, {.exit_code = 1}, VERDICT_UNPARSED},
        {CHECK_TESTS,
         {.passed = 3, .failed = 1, .counted = true},
         {.exit_code = 0},
         VERDICT_FAILED},
        {CHECK_TESTS, {.counted = true}, {.exit_code = 0}, VERDICT_NO_TESTS},
        {CHECK_TESTS, {.counted = true, .skipped = 2}, {.exit_code = 0}, VERDICT_NO_TESTS},
        {CHECK_TESTS, {.passed = 0}, {.exit_code = 0}, VERDICT_UNPARSED},
        {CHECK_TESTS, {.errors = 1}, {.exit_code = 2}, VERDICT_BUILD_ERROR},
        {CHECK_TESTS, {.passed = 3, .counted = true}, {.exit_code = 139}, VERDICT_CRASH},
        {CHECK_TESTS, {.passed = 3, .counted = true}, {true, 124}, VERDICT_TIMEOUT},
        {CHECK_TESTS, {.passed = 0}, {.exit_code = 127}, VERDICT_NOT_RUN},
        {CHECK_LINT, {.passed = 0}, {.exit_code = 0}, VERDICT_PASSED},
        {CHECK_LINT, {.passed = 0}, {.exit_code = 1}, VERDICT_UNPARSED},
        {CHECK_LINT, {.warnings = 1}, {.exit_code = 0}, VERDICT_FAILED},
        {CHECK_TYPES, {.warnings = 1}, {.exit_code = 0}, VERDICT_PASSED},
        {CHECK_TYPES, {.errors = 1}, {.exit_code = 0}, VERDICT_FAILED},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_COUNT(rows); i++)
        assert_int_equal(report_judge(&rows[i].report, rows[i].kind, &rows[i].ending),
                         rows[i].verdict);
}

// G-23
static void failures_far_into_the_output_are_counted_in_bounded_memory(void **state)
{
    enum { FAILURES = 20000 };
    char line[160];
    struct report r;
    (void)state;
    report_init(&r);
    void *parser = parser_gotest.make(&r);
    for (int i = 0; i < FAILURES; i++) {
        int size = snprintf(line, sizeof line,
                            "{\"Action\":\"fail\",\"Package\":\"d\",\"Test\":\"Test%d\"}\n", i);
        parser_gotest.feed(parser, span_of(line, (size_t)size));
    }
    parser_gotest.finish(parser);
    assert_int_equal(r.failed, FAILURES);
    assert_int_equal(r.count, REPORT_FAILURES_MAX);
    report_fini(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(real_output_is_counted_however_it_is_cut),
        cmocka_unit_test(only_what_is_proven_is_green),
        cmocka_unit_test(failures_far_into_the_output_are_counted_in_bounded_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
