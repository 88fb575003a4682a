// SPDX-License-Identifier: Apache-2.0
// Test runners behind a project's own script, known by what they print last: node's totals ("# pass
// 3"), TAP lines, jest, vitest, mocha, and Python's unittest. Totals are taken as they stand;
// failures get the names that were printed.
#include <ctype.h>
#include <stdlib.h>

#include "gateway/lib/base/memory.h"
#include "workers/checks/parse.h"

enum { TEXT_BYTES = 4096 };

struct summary {
    struct report *out; // borrowed
    struct lines lines;
    int64_t passed, failed, skipped, ran; // of totals
    int64_t tap_passed, tap_failed, tap_skipped;
    int64_t named; // failures that were reported with a name
    bool has_totals, has_tap, in_failure;
    struct buffer name, text;
};

static void *make(struct report *out)
{
    struct summary *s = memory_new(sizeof *s);
    s->out = out;
    lines_init(&s->lines);
    buffer_init(&s->name, REPORT_NAME_BYTES);
    buffer_init(&s->text, TEXT_BYTES);
    return s;
}

static void failure_end(struct summary *s)
{
    if (!s->in_failure)
        return;
    const struct finding_text found = {
        .kind = FINDING_TEST, .name = buffer_span(&s->name), .message = buffer_span(&s->text)};
    report_add(s->out, &found);
    s->named++;
    s->in_failure = false;
}

static void failure_start(struct summary *s, struct span name)
{
    failure_end(s);
    buffer_clear(&s->name);
    buffer_clear(&s->text);
    (void)buffer_append(&s->name, span_slice(span_trim(name), 0, REPORT_NAME_BYTES));
    s->in_failure = true;
}

static bool cut_start(struct span *text, const char *start)
{
    if (!span_starts_with(*text, span_from_string(start)))
        return false;
    *text = span_slice(*text, strlen(start), text->size);
    return true;
}

// The number that stands before the word, as in "2 failed, 3 passed"; -1 without.
static int64_t number_before(struct span text, const char *word)
{
    const char *at = memmem(text.data, text.size, word, strlen(word));
    if (at == NULL || at - text.data < 2 || at[-1] != ' ')
        return -1;
    size_t end = (size_t)(at - text.data) - 1, from = end;
    uint64_t number;
    while (from > 0 && isdigit((unsigned char)text.data[from - 1]))
        from--;
    return span_to_u64(span_slice(text, from, end), &number) && number < INT32_MAX ? (int64_t)number
                                                                                   : -1;
}

static void take(struct summary *s, int64_t *total, int64_t number)
{
    if (number < 0)
        return;
    *total += number;
    s->has_totals = true;
}

static bool is_node_total(struct summary *s, struct span text)
{
    static const char *const marks[] = {"# ", "\xe2\x84\xb9 "}; // of TAP and of the spec reporter
    uint64_t number;
    for (size_t i = 0; i < ARRAY_COUNT(marks); i++) {
        struct span rest = text;
        if (!cut_start(&rest, marks[i]))
            continue;
        int64_t *total = cut_start(&rest, "pass ")        ? &s->passed
                         : cut_start(&rest, "fail ")      ? &s->failed
                         : cut_start(&rest, "cancelled ") ? &s->failed
                         : cut_start(&rest, "skipped ")   ? &s->skipped
                         : cut_start(&rest, "todo ")      ? &s->skipped
                                                          : NULL;
        if (total == NULL || !span_to_u64(span_trim(rest), &number) || number > INT32_MAX)
            continue;
        take(s, total, (int64_t)number);
        return true;
    }
    return false;
}

static bool is_script_total(struct summary *s, struct span text)
{
    struct span rest = span_trim(text);
    uint64_t number;
    if (cut_start(&rest, "Tests:") || cut_start(&rest, "Tests ")) { // jest, vitest
        take(s, &s->failed, number_before(rest, "failed"));
        take(s, &s->passed, number_before(rest, "passed"));
        take(s, &s->skipped, number_before(rest, "skipped"));
        return true;
    }
    if (cut_start(&rest, "Ran ")) { // unittest
        struct span count = span_split(&rest, ' ');
        if (span_starts_with(rest, SPAN_LITERAL("test")) && span_to_u64(count, &number) &&
            number <= INT32_MAX)
            take(s, &s->ran, (int64_t)number);
        return s->has_totals;
    }
    size_t digits = 0; // mocha: "3 passing (5ms)"
    while (digits < rest.size && isdigit((unsigned char)rest.data[digits]))
        digits++;
    struct span word = span_slice(rest, digits, rest.size);
    if (digits == 0 || digits > 9 || !span_to_u64(span_slice(rest, 0, digits), &number))
        return false;
    int64_t *total = span_starts_with(word, SPAN_LITERAL(" passing"))   ? &s->passed
                     : span_starts_with(word, SPAN_LITERAL(" failing")) ? &s->failed
                     : span_starts_with(word, SPAN_LITERAL(" pending")) ? &s->skipped
                                                                        : NULL;
    if (total != NULL)
        take(s, total, (int64_t)number);
    return total != NULL;
}

// unittest: "FAILED (failures=1, errors=2, skipped=1)", "OK (skipped=1)".
static void unittest_outcome(struct summary *s, struct span text)
{
    static const struct {
        const char *key;
        bool is_skip;
    } keys[] = {{"failures=", false}, {"errors=", false}, {"skipped=", true}};
    for (size_t i = 0; i < ARRAY_COUNT(keys); i++) {
        const char *at = memmem(text.data, text.size, keys[i].key, strlen(keys[i].key));
        if (at == NULL)
            continue;
        struct span rest =
            span_slice(text, (size_t)(at - text.data) + strlen(keys[i].key), text.size);
        size_t digits = 0;
        uint64_t number;
        while (digits < rest.size && digits < 9 && isdigit((unsigned char)rest.data[digits]))
            digits++;
        if (span_to_u64(span_slice(rest, 0, digits), &number))
            *(keys[i].is_skip ? &s->skipped : &s->failed) += (int64_t)number;
    }
}

// A test that was left out, or whose failure is expected.
static bool has_directive(struct span text)
{
    static const char skip[] = "# SKIP", to_do[] = "# TO"
                                                   "DO";
    return memmem(text.data, text.size, skip, sizeof skip - 1) != NULL ||
           memmem(text.data, text.size, to_do, sizeof to_do - 1) != NULL;
}

static bool is_tap(struct summary *s, struct span text)
{
    struct span rest = text;
    bool fails = cut_start(&rest, "not ok "); // only at the margin: subtests are indented
    if (!fails && !cut_start(&rest, "ok "))
        return false;
    if (rest.size == 0 || !isdigit((unsigned char)rest.data[0]))
        return false;
    failure_end(s);
    s->has_tap = true;
    if (has_directive(rest)) {
        s->tap_skipped++;
        return true;
    }
    s->tap_passed += !fails;
    s->tap_failed += fails;
    if (fails)
        failure_start(s, rest);
    return true;
}

static void on_line(void *owner, struct span text)
{
    struct summary *s = owner;
    struct span rest = text;
    if (is_tap(s, text))
        return;
    if (is_node_total(s, text) || is_script_total(s, text)) {
        failure_end(s);
    } else if (s->ran > 0 && (span_starts_with(text, SPAN_LITERAL("FAILED (")) ||
                              span_starts_with(text, SPAN_LITERAL("OK (")))) {
        unittest_outcome(s, text);
    } else if (cut_start(&rest, "FAIL: ") || cut_start(&rest, "ERROR: ") ||
               cut_start(&rest, "  \xe2\x97\x8f ")) { // unittest, jest
        failure_start(s, rest);
    } else if (s->in_failure) {
        (void)buffer_append(&s->text, span_slice(text, 0, TEXT_BYTES / 4));
        (void)buffer_append_char(&s->text, '\n');
    }
}

static void feed(void *parser, struct span bytes)
{
    struct summary *s = parser;
    lines_feed(&s->lines, bytes, on_line, s);
}

static void settle(struct summary *s)
{
    int64_t passed = s->has_totals ? s->passed : s->tap_passed;
    int64_t failed = s->has_totals ? s->failed : s->tap_failed;
    int64_t skipped = s->has_totals ? s->skipped : s->tap_skipped;
    if (!s->has_totals && !s->has_tap)
        return;
    if (s->ran > 0 && passed == 0)
        passed = s->ran - failed - skipped > 0 ? s->ran - failed - skipped : 0;
    s->out->counted = true;
    s->out->passed += passed;
    s->out->skipped += skipped;
    if (failed > s->named) // those without a name are counted all the same
        s->out->failed += failed - s->named;
}

static void finish(void *parser)
{
    struct summary *s = parser;
    lines_end(&s->lines, on_line, s);
    failure_end(s);
    settle(s);
    lines_fini(&s->lines);
    buffer_fini(&s->name);
    buffer_fini(&s->text);
    free(s);
}

const struct parser parser_summary = {"summary", make, feed, finish};
