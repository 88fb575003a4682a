// SPDX-License-Identifier: Apache-2.0
// JUnit XML as pytest, ctest, meson and node write it: testcase elements, of which a failure, error
// or skipped child tells the outcome. Read as a stream: only the present tag and the text of the
// present failure are kept.
#include <stdlib.h>

#include "gateway/lib/base/memory.h"
#include "workers/checks/parse.h"

enum { TAG_BYTES = 64 << 10, TEXT_BYTES = 16 << 10, NAME_BYTES = 1024 };

enum place { IN_TEXT, IN_TAG, IN_CDATA };
enum outcome { OUTCOME_PASSED, OUTCOME_FAILED, OUTCOME_SKIPPED };

struct junit {
    struct report *out; // borrowed
    enum place place;
    char quote;        // inside an attribute's value of a tag; '\0' outside
    size_t brackets;   // "]" seen at the end of CDATA
    struct buffer tag; // without its < and >
    bool in_case, in_failure;
    enum outcome outcome;
    struct buffer name, suite, file, message, text;
    int64_t line;
};

static void *make(struct report *out)
{
    struct junit *j = memory_new(sizeof *j);
    j->out = out;
    buffer_init(&j->tag, TAG_BYTES);
    buffer_init(&j->name, NAME_BYTES);
    buffer_init(&j->suite, NAME_BYTES);
    buffer_init(&j->file, NAME_BYTES);
    buffer_init(&j->message, TEXT_BYTES);
    buffer_init(&j->text, TEXT_BYTES);
    return j;
}

static void append_code(struct buffer *out, uint32_t code)
{
    if (code < 0x80) {
        (void)buffer_append_char(out, code != 0 ? (char)code : ' ');
    } else if (code < 0x800) {
        (void)buffer_append_char(out, (char)(0xc0 | code >> 6));
        (void)buffer_append_char(out, (char)(0x80 | (code & 0x3f)));
    } else if (code < 0x10000) {
        (void)buffer_append_char(out, (char)(0xe0 | code >> 12));
        (void)buffer_append_char(out, (char)(0x80 | (code >> 6 & 0x3f)));
        (void)buffer_append_char(out, (char)(0x80 | (code & 0x3f)));
    } else {
        (void)buffer_append_char(out, '?');
    }
}

static bool append_entity(struct buffer *out, struct span name)
{
    static const struct {
        const char *name;
        char c;
    } known[] = {{"lt", '<'}, {"gt", '>'}, {"amp", '&'}, {"quot", '"'}, {"apos", '\''}};
    for (size_t i = 0; i < ARRAY_COUNT(known); i++)
        if (span_is(name, known[i].name))
            return buffer_append_char(out, known[i].c) == 0;
    if (name.size < 2 || name.size > 8 || name.data[0] != '#')
        return false;
    char digits[8], *end;
    bool hex = name.data[1] == 'x';
    struct span number = span_slice(name, hex ? 2 : 1, name.size);
    if (!span_copy_string(number, digits, sizeof digits))
        return false;
    unsigned long code = strtoul(digits, &end, hex ? 16 : 10);
    if (*end != '\0' || end == digits)
        return false;
    append_code(out, (uint32_t)code);
    return true;
}

// The text with its entities resolved; what does not fit is cut.
static void append_decoded(struct buffer *out, struct span text)
{
    for (size_t i = 0; i < text.size; i++) {
        const char *semicolon = NULL;
        if (text.data[i] == '&')
            semicolon = memchr(text.data + i, ';', text.size - i < 12 ? text.size - i : 12);
        size_t end = semicolon != NULL ? (size_t)(semicolon - text.data) : i;
        if (end > i && append_entity(out, span_slice(text, i + 1, end)))
            i = end;
        else
            (void)buffer_append_char(out, text.data[i]);
    }
}

static void set_decoded(struct buffer *out, struct span text)
{
    buffer_clear(out);
    append_decoded(out, text);
}

// The raw value of an attribute; absent where there is none.
static struct span attribute(struct span tag, const char *name)
{
    size_t size = strlen(name), at = 0;
    while (at < tag.size && strchr(" \t\r\n", tag.data[at]) == NULL)
        at++;
    while (at < tag.size) {
        while (at < tag.size && strchr(" \t\r\n", tag.data[at]) != NULL)
            at++;
        const char *equals = memchr(tag.data + at, '=', tag.size - at);
        if (equals == NULL)
            return SPAN_NONE;
        struct span key = span_trim(span_slice(tag, at, (size_t)(equals - tag.data)));
        size_t from = (size_t)(equals - tag.data) + 1;
        if (from >= tag.size || (tag.data[from] != '"' && tag.data[from] != '\''))
            return SPAN_NONE;
        const char *end = memchr(tag.data + from + 1, tag.data[from], tag.size - from - 1);
        if (end == NULL)
            return SPAN_NONE;
        if (key.size == size && memcmp(key.data, name, size) == 0)
            return span_slice(tag, from + 1, (size_t)(end - tag.data));
        at = (size_t)(end - tag.data) + 1;
    }
    return SPAN_NONE;
}

static void case_end(struct junit *j)
{
    if (!j->in_case)
        return;
    j->in_case = j->in_failure = false;
    j->out->passed += j->outcome == OUTCOME_PASSED;
    j->out->skipped += j->outcome == OUTCOME_SKIPPED;
    if (j->outcome != OUTCOME_FAILED)
        return;
    struct span message = buffer_span(&j->message), text = buffer_span(&j->text), file, place;
    int64_t line = 0;
    struct buffer both;
    buffer_init(&both, 2 * TEXT_BYTES + 1);
    (void)buffer_append(&both, message);
    if (text.size > 0) {
        (void)buffer_append_char(&both, '\n');
        (void)buffer_append(&both, text);
    }
    file = buffer_span(&j->file);
    if (place_find(text, &place, &line) && (file.size == 0 || span_equals(file, place)))
        file = place;
    else
        line = j->line;
    const struct finding_text found = {
        .kind = FINDING_TEST,
        .name = buffer_span(&j->name),
        .suite = buffer_span(&j->suite),
        .file = file,
        .line = line,
        .message = buffer_span(&both),
    };
    report_add(j->out, &found);
    buffer_fini(&both);
}

static void case_start(struct junit *j, struct span tag)
{
    uint64_t line;
    struct span status = attribute(tag, "status");
    case_end(j);
    j->in_case = true;
    j->outcome =
        span_is(status, "notrun") || span_is(status, "disabled") ? OUTCOME_SKIPPED : OUTCOME_PASSED;
    set_decoded(&j->name, attribute(tag, "name"));
    set_decoded(&j->suite, attribute(tag, "classname"));
    set_decoded(&j->file, attribute(tag, "file"));
    buffer_clear(&j->message);
    buffer_clear(&j->text);
    j->line = span_to_u64(attribute(tag, "line"), &line) ? (int64_t)(line & INT32_MAX) + 1 : 0;
}

static bool tag_is(struct span tag, const char *name)
{
    size_t size = strlen(name);
    return tag.size >= size && memcmp(tag.data, name, size) == 0 &&
           (tag.size == size || strchr(" \t\r\n/", tag.data[size]) != NULL);
}

static void on_tag(struct junit *j, struct span tag)
{
    bool closed = tag.size > 0 && tag.data[tag.size - 1] == '/';
    if (tag_is(tag, "testsuite") || tag_is(tag, "testsuites"))
        j->out->counted = true;
    else if (tag_is(tag, "testcase")) {
        case_start(j, tag);
        if (closed)
            case_end(j);
    } else if (tag_is(tag, "/testcase")) {
        case_end(j);
    } else if (j->in_case && (tag_is(tag, "failure") || tag_is(tag, "error"))) {
        j->outcome = OUTCOME_FAILED;
        j->in_failure = !closed;
        if (buffer_size(&j->message) == 0)
            set_decoded(&j->message, attribute(tag, "message"));
    } else if (j->in_case && tag_is(tag, "skipped")) {
        if (j->outcome == OUTCOME_PASSED)
            j->outcome = OUTCOME_SKIPPED;
    } else if (tag_is(tag, "/failure") || tag_is(tag, "/error")) {
        j->in_failure = false;
    } else if (j->in_case && tag_is(tag, "system-out") && !closed) {
        j->in_failure = j->outcome == OUTCOME_FAILED; // ctest's failures have nothing else
    } else if (tag_is(tag, "/system-out")) {
        j->in_failure = false;
    }
}

static void in_text(struct junit *j, char c)
{
    if (c == '<') {
        j->place = IN_TAG;
        j->quote = '\0';
        buffer_clear(&j->tag);
    } else if (j->in_failure) {
        (void)buffer_append_char(&j->text, c);
    }
}

static void in_tag(struct junit *j, char c)
{
    if (j->quote == '\0' && c == '>') {
        j->place = IN_TEXT;
        on_tag(j, buffer_span(&j->tag));
        return;
    }
    if (c == j->quote)
        j->quote = '\0';
    else if (j->quote == '\0' && (c == '"' || c == '\''))
        j->quote = c;
    (void)buffer_append_char(&j->tag, c);
    if (c == '[' && span_is(buffer_span(&j->tag), "![CDATA[")) {
        j->place = IN_CDATA;
        j->brackets = 0;
    }
}

static void in_cdata(struct junit *j, char c)
{
    if (c == '>' && j->brackets >= 2) {
        j->place = IN_TEXT;
        return;
    }
    j->brackets = c == ']' ? j->brackets + 1 : 0;
    if (j->in_failure)
        (void)buffer_append_char(&j->text, c);
}

static void feed(void *parser, struct span bytes)
{
    struct junit *j = parser;
    for (size_t i = 0; i < bytes.size; i++) {
        if (j->place == IN_TEXT)
            in_text(j, bytes.data[i]);
        else if (j->place == IN_TAG)
            in_tag(j, bytes.data[i]);
        else
            in_cdata(j, bytes.data[i]);
    }
}

static void finish(void *parser)
{
    struct junit *j = parser;
    case_end(j); // a program that died in the middle
    buffer_fini(&j->tag);
    buffer_fini(&j->name);
    buffer_fini(&j->suite);
    buffer_fini(&j->file);
    buffer_fini(&j->message);
    buffer_fini(&j->text);
    free(j);
}

const struct parser parser_junit = {"junit", make, feed, finish};
