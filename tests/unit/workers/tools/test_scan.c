// SPDX-License-Identifier: Apache-2.0
#include "workers/tools/scan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "gateway/lib/base/buffer.h"
#include "gateway/lib/base/memory.h"

static int go_on(void *ctx, struct failure *why)
{
    (void)ctx;
    (void)why;
    return 0;
}

static const char *const patterns[] = {
    "abc",       "a",          "ab?c",     "ab*",     "a.c",      "a[^x]c",    "^abc",
    "abc$",      "^$",         "$",        "^",       "a|b",      "(abc)+",    "(a|b)c",
    "x?",        "\\bab\\b",   "\\w+c",    "\\s",     "\\S+",     "a\\s*b",    "[[:space:]]",
    "a{2}",      "a{2,}b",     "ab{0}c",   "a{,3}",   "\\.c",     "a\\.",      "(?i)ABC",
    "(?=abc)a",  "(?<!x)abc",  "c(?!\\n)", "\\Aabc",  "abc\\z",   "\\Qa.c\\E", "\\x61bc",
    "\\101",     "[\\x00-z]+", "a++b",     "(?>a+)b", "b+?c",     "[]a]bc",    "[a-c]{3}",
    "\xc3\xa4?", "\303\244b",  "\\p{Lu}",  "(a)\\1",  "[\\w.]+c", "[^\\n]*c",  "a(?:b|)c",
    "[a\\]b]+c", "a\\tb",      "\\d",      "\\D",     "\\W",      "\\h+",      "a\\Rb",
    "\\N+",      "a+b+c+",     "()",       "c\\K.",   "x\\K$",    "(?m)c$",    "(?s)a.b",
};

static const char *const texts[] = {
    "",
    "\n",
    "abc",
    "abc\n",
    "x\nabc\n\nab c\naab\n",
    "a\nb\nc\n",
    "ab\ncb\nbc",
    "abc\r\nab\r\n\r\nc\r\n",
    "xabc abc\n aXc a.c aabbcc\n\xc3\xa4 b \303\244b\n",
    "\377abc\xfe\nABC aa a\tb\n12 aaa]bc\n",
    "a\n\n\n\nc",
    "q\nq\nq\nq",
};

// The next matching line as line-by-line matching finds it.
static bool next_slowly(struct regex *re, struct span text, size_t from, struct scan_hit *hit)
{
    while (from < text.size) {
        size_t end = scan_line_end(text, from), to = end, match, match_end;
        if (to > from && text.data[to - 1] == '\r')
            to--;
        if (regex_find(re, span_slice(text, from, to), 0, &match, &match_end) == REGEX_YES) {
            *hit = (struct scan_hit){from, end, from + match};
            return true;
        }
        from = end + 1;
    }
    return false;
}

static void compare(struct regex *re, const char *pattern, const char *string)
{
    struct span text = span_from_string(string);
    struct scan s = {.re = re, .go_on = go_on};
    struct scan_hit fast, slow;
    size_t from = 0;
    scan_begin(&s, text);
    for (;;) {
        bool found = scan_next(&s, from, &fast, NULL) == 1;
        bool should = next_slowly(re, text, from, &slow);
        if (found != should || (found && (fast.from != slow.from || fast.to != slow.to)))
            fail_msg("pattern \"%s\", text \"%s\", from %zu", pattern, string, from);
        if (!found)
            return;
        from = fast.to + 1;
    }
}

static void every_way_finds_the_same_lines(void **state)
{
    (void)state;
    for (size_t p = 0; p < ARRAY_COUNT(patterns); p++) {
        for (int any_case = 0; any_case < 2; any_case++) {
            const struct regex_options options = {.case_insensitive = any_case != 0};
            struct regex *re;
            struct failure why = {0};
            if (regex_compile(span_from_string(patterns[p]), &options, &re, &why) != 0)
                fail_msg("%s: %s", patterns[p], why.text);
            for (size_t t = 0; t < ARRAY_COUNT(texts); t++)
                compare(re, patterns[p], texts[t]);
            regex_free(re);
        }
    }
}

static void a_window_does_not_end_the_search(void **state)
{
    (void)state;
    enum { LINES = 200000 };
    struct buffer text;
    struct regex *re;
    const struct regex_options options = {0};
    struct scan s = {.go_on = go_on};
    struct scan_hit hit;
    size_t hits = 0;
    buffer_init(&text, 4 << 20);
    for (int i = 0; i < LINES; i++)
        buffer_append_string(&text, i % 1000 == 999 ? "7a\n" : i % 3 == 0 ? "\n" : "some line\n");
    assert_int_equal(regex_compile(SPAN_LITERAL("^\\d[ab]$"), &options, &re, NULL), 0);
    assert_true(regex_facts(re)->in_line);
    s.re = re;
    scan_begin(&s, buffer_span(&text));
    for (size_t from = 0; scan_next(&s, from, &hit, NULL) == 1; from = hit.to + 1)
        hits++;
    assert_int_equal(hits, LINES / 1000);
    regex_free(re);
    assert_int_equal(regex_compile(SPAN_LITERAL("^$"), &options, &re, NULL), 0);
    s.re = re;
    hits = 0;
    for (size_t from = 0; scan_next(&s, from, &hit, NULL) == 1; from = hit.to + 1)
        hits++;
    size_t empty = 0;
    for (int i = 0; i < LINES; i++)
        empty += i % 1000 != 999 && i % 3 == 0;
    assert_int_equal(hits, empty);
    regex_free(re);
    buffer_fini(&text);
}

static void facts_are_what_every_match_has(void **state)
{
    (void)state;
    static const struct {
        const char *pattern, *literal;
        bool is_literal, in_line;
    } rows[] = {
        {"main", "main", true, true},
        {"ma\\.in", "ma.in", true, true},
        {"foo.*barbaz", "barbaz", false, true},
        {"(foo)bar", "bar", false, true},
        {"ab?", "a", false, true},
        {"foo|bar", "", false, true},
        {"fo{2}x", "f", false, true},
        {"a\\d{2}bc", "bc", false, true},
        {"a\\x{41}b", "", false, false},
        {"a[^b]cd", "cd", false, false},
        {"(?i)foo", "", false, false},
        {"foo\\s+bar", "foo", false, false},
        {"\xc3\xa4?"
         "b",
         "b", false, true},
    };
    for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
        struct regex_facts facts;
        regex_facts_of(span_from_string(rows[i].pattern), &facts);
        if (!span_is(span_of(facts.literal, facts.literal_size), rows[i].literal) ||
            facts.is_literal != rows[i].is_literal || facts.in_line != rows[i].in_line)
            fail_msg("%s: \"%.*s\" %d %d", rows[i].pattern, (int)facts.literal_size, facts.literal,
                     facts.is_literal, facts.in_line);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_way_finds_the_same_lines),
        cmocka_unit_test(a_window_does_not_end_the_search),
        cmocka_unit_test(facts_are_what_every_match_has),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
