// SPDX-License-Identifier: Apache-2.0
// Session ids that are opened again and again.
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "gateway/lib/base/memory.h"

#include "gateway/auth/principal_new.h"
#include "gateway/lib/crypto/keyring.h"
#include "gateway/proxy/opened.h"

enum { SESSIONS = 3000 }; // more than the table has places

static struct keyring *ring;
static struct opened *opened;
static struct principal *ann, *bob;

static int set_up(void **state)
{
    char folder[] = "/tmp/wrist-test-XXXXXX", file[64];
    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(file, sizeof file, "%s/ring", folder);
    assert_int_equal(keyring_open(file, 1, &ring, NULL), 0);
    unlink(file);
    rmdir(folder);
    ann = principal_new(
        &(struct principal_values){.issuer = "i", .subject = "ann", .tenant = "t", .provider = ""});
    bob = principal_new(
        &(struct principal_values){.issuer = "i", .subject = "bob", .tenant = "t", .provider = ""});
    opened = opened_new(ring);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    opened_free(opened);
    principal_drop(ann);
    principal_drop(bob);
    keyring_free(ring);
    return 0;
}

static struct span seal_one(unsigned number, char text[SEALED_TEXT_SIZE])
{
    struct session_name name = {.issued_ms = 1000 + number, .revision = MCP_REVISION_2025_06_18};
    struct buffer sealed;
    snprintf(name.id, sizeof name.id, "%032x", number);
    buffer_init(&sealed, SEALED_TEXT_SIZE);
    assert_int_equal(session_name_seal(ring, ann, SPAN_LITERAL("trial"), &name, &sealed), 0);
    assert_true(span_copy_string(buffer_span(&sealed), text, SEALED_TEXT_SIZE));
    buffer_fini(&sealed);
    return span_from_string(text);
}

static void an_id_says_what_the_client_and_its_url_said_at_the_beginning(void **state)
{
    static const struct {
        const char *provider, *volume;
    } rows[] = {{"", ""}, {"openai", ""}, {"", "work"}, {"gemini-json", "a.b_c-9"}};
    (void)state;
    for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
        struct session_name name = {.issued_ms = 5, .revision = MCP_REVISION_2025_06_18}, got;
        struct buffer sealed;
        snprintf(name.id, sizeof name.id, "%032x", (unsigned)i);
        snprintf(name.provider, sizeof name.provider, "%s", rows[i].provider);
        snprintf(name.volume, sizeof name.volume, "%s", rows[i].volume);
        buffer_init(&sealed, SEALED_TEXT_SIZE);
        assert_int_equal(session_name_seal(ring, ann, SPAN_LITERAL("trial"), &name, &sealed), 0);
        assert_int_equal(
            session_name_open(ring, ann, SPAN_LITERAL("trial"), buffer_span(&sealed), &got), 0);
        assert_string_equal(got.provider, rows[i].provider);
        assert_string_equal(got.volume, rows[i].volume);
        assert_string_equal(got.id, name.id);
        buffer_fini(&sealed);
    }
}

static void an_id_says_the_same_each_time_whatever_was_opened_between(void **state)
{
    static char texts[SESSIONS][SEALED_TEXT_SIZE];
    (void)state;
    for (unsigned round = 0; round < 3; round++) {
        for (unsigned i = 0; i < SESSIONS; i++) {
            struct session_name name;
            char id[ID_SIZE];
            struct span text = round == 0 ? seal_one(i, texts[i]) : span_from_string(texts[i]);
            assert_int_equal(opened_session(opened, ann, SPAN_LITERAL("trial"), text, &name), 0);
            snprintf(id, sizeof id, "%032x", i);
            assert_string_equal(name.id, id);
            assert_int_equal(name.issued_ms, 1000 + i);
            assert_int_equal(strlen(name.mark), SESSION_MARK_SIZE - 1);
        }
    }
}

static void an_id_that_was_opened_opens_for_nobody_else_and_nowhere_else(void **state)
{
    char text[SEALED_TEXT_SIZE];
    struct session_name name;
    (void)state;
    struct span s = seal_one(7, text);
    assert_int_equal(opened_session(opened, ann, SPAN_LITERAL("trial"), s, &name), 0);
    assert_int_equal(opened_session(opened, bob, SPAN_LITERAL("trial"), s, &name), FAULT_NOT_FOUND);
    assert_int_equal(opened_session(opened, ann, SPAN_LITERAL("other"), s, &name), FAULT_NOT_FOUND);
    assert_int_equal(opened_session(opened, ann, SPAN_LITERAL("tria"), s, &name), FAULT_NOT_FOUND);
    assert_int_equal(opened_session(opened, ann, SPAN_LITERAL("trial"), s, &name), 0);
}

static void a_text_with_one_letter_changed_does_not_open_also_after_the_true_one(void **state)
{
    char text[SEALED_TEXT_SIZE];
    struct session_name name;
    (void)state;
    struct span s = seal_one(8, text);
    assert_int_equal(opened_session(opened, ann, SPAN_LITERAL("trial"), s, &name), 0);
    for (size_t i = 0; i < s.size; i++) {
        char was = text[i];
        text[i] = was == 'A' ? 'Q' : 'A'; // a bit that no padding hides
        assert_int_not_equal(opened_session(opened, ann, SPAN_LITERAL("trial"), s, &name), 0);
        text[i] = was;
    }
    for (size_t size = 0; size < s.size; size++)
        assert_int_not_equal(
            opened_session(opened, ann, SPAN_LITERAL("trial"), span_of(text, size), &name), 0);
    assert_int_equal(opened_session(opened, ann, SPAN_LITERAL("trial"), s, &name), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_id_says_what_the_client_and_its_url_said_at_the_beginning),
        cmocka_unit_test(an_id_says_the_same_each_time_whatever_was_opened_between),
        cmocka_unit_test(an_id_that_was_opened_opens_for_nobody_else_and_nowhere_else),
        cmocka_unit_test(a_text_with_one_letter_changed_does_not_open_also_after_the_true_one),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
