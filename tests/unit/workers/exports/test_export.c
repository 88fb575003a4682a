// SPDX-License-Identifier: Apache-2.0
// What leaves: judged before it goes, scrubbed on its way, and never pointing out of itself.
#include "workers/exports/export.h"

#include "gateway/lib/base/buffer.h"
#include "tests/unit/workers/workspace/box.h"
#include "workers/exports/content.h"
#include "workers/workspace/unpack.h"

static struct failure why;

static int go_on(void *ctx, struct failure *reason)
{
    (void)ctx;
    (void)reason;
    return 0;
}

static int collect(void *owner, struct span bytes)
{
    return buffer_append(owner, bytes);
}

static const struct export_limits unlimited = {1 << 20, 1000, ""};

static int open_with(struct box *b, const char *path, const struct export_limits *limits,
                     struct export *e)
{
    return export_open(b->ws, span_from_string(path), limits, go_on, NULL, e, &why);
}

static void send_all(struct box *b, struct export *e, struct buffer *out, size_t *redacted)
{
    buffer_init(out, 8 << 20);
    assert_int_equal(export_send(e, b->ws, collect, out, redacted, &why), 0);
}

static void assert_refused(struct box *b, const char *path, const struct export_limits *limits,
                           int fault, const char *part)
{
    struct export e;
    assert_int_equal(open_with(b, path, limits, &e), fault);
    if (strstr(why.text, part) == NULL)
        fail_msg("\"%s\" does not contain \"%s\"", why.text, part);
}

static void a_file_goes_out_as_it_is(void **state)
{
    struct box *b = *state;
    struct buffer out;
    struct export e;
    size_t redacted;
    const char bytes[] = "\x89PNG\r\n\x1a\n\0\1\2ghp_q7Zk2WxV9bTn4RmLs8YdF3hJc6PaGe1UiXoB";
    box_put_bytes(b, "workspace/a b/plot.png", span_of(bytes, sizeof bytes));
    assert_int_equal(open_with(b, "a b/plot.png", &unlimited, &e), 0);
    assert_string_equal(e.facts.type, "image/png");
    assert_string_equal(e.facts.name, "plot.png");
    assert_string_equal(e.facts.shown, "a b/plot.png");
    assert_int_equal(e.facts.bytes, sizeof bytes);
    send_all(b, &e, &out, &redacted);
    assert_int_equal(redacted, 0);
    assert_true(span_equals(buffer_span(&out), span_of(bytes, sizeof bytes)));
    buffer_fini(&out);
    export_close(&e);
}

static void a_text_loses_its_secrets_and_nothing_else(void **state)
{
    struct box *b = *state;
    struct buffer out;
    struct export e;
    size_t redacted;
    box_put(b, "workspace/notes.md",
            "one\ntoken ghp_q7Zk2WxV9bTn4RmLs8YdF3hJc6PaGe1UiXoB end\ntwo\n");
    assert_int_equal(open_with(b, "/workspace/notes.md", &unlimited, &e), 0);
    assert_string_equal(e.facts.type, "text/markdown");
    send_all(b, &e, &out, &redacted);
    buffer_append_char(&out, '\0');
    assert_int_equal(redacted, 1);
    assert_non_null(strstr(buffer_span(&out).data, "one\ntoken [redacted:"));
    assert_non_null(strstr(buffer_span(&out).data, "] end\ntwo\n"));
    buffer_fini(&out);
    export_close(&e);
}

// The folder comes back the same through the unpacker, long names and links included.
static void a_folder_comes_back_from_its_tar(void **state)
{
    struct box *b = *state;
    struct buffer out;
    struct export e;
    struct stat st;
    struct unpack_counts counts;
    size_t redacted;
    char name[400], target[256];
    snprintf(name, sizeof name, "workspace/dist/%0120d/%0120d/deep.txt", 1, 2);
    box_put(b, name, "deep\n");
    box_put(b, "workspace/dist/run.sh", "#!/bin/sh\n");
    chmod(box_path(b, "workspace/dist/run.sh"), 0755);
    box_put(b, "workspace/dist/.hidden/ignored.log", "x");
    box_put(b, "workspace/dist/.gitignore", "*.log\n");
    box_put(b, "workspace/dist/secret.txt", "ghp_q7Zk2WxV9bTn4RmLs8YdF3hJc6PaGe1UiXoB\n");
    mkdir(box_path(b, "workspace/dist/empty"), 0700);
    assert_int_equal(symlink("../run.sh", box_path(b, "workspace/dist/.hidden/link")), 0);
    assert_int_equal(open_with(b, "dist", &unlimited, &e), 0);
    assert_string_equal(e.facts.name, "dist.tar");
    assert_int_equal(e.facts.files, 5);
    assert_int_equal(e.facts.left_out, 0);
    send_all(b, &e, &out, &redacted);
    export_close(&e);
    assert_int_equal(redacted, 1);
    assert_int_equal(buffer_size(&out) % 512, 0);

    struct unpack *u = unpack_new(b->ws, WORKSPACE_INPUTS, &unpack_limits_default);
    assert_int_equal(unpack_feed(u, buffer_span(&out), &why), 0);
    assert_int_equal(unpack_finish(u, &counts, &why), 0);
    unpack_free(u);
    buffer_fini(&out);
    snprintf(name, sizeof name, "inputs/%0120d/%0120d/deep.txt", 1, 2);
    box_assert_holds(b, name, "deep\n");
    box_assert_holds(b, "inputs/.hidden/ignored.log", "x");
    assert_int_equal(stat(box_path(b, "inputs/run.sh"), &st), 0);
    assert_int_equal(st.st_mode & 07777, 0755);
    assert_int_equal(stat(box_path(b, "inputs/empty"), &st), 0);
    assert_true(S_ISDIR(st.st_mode));
    assert_int_equal(readlink(box_path(b, "inputs/.hidden/link"), target, sizeof target), 9);
    char *text = box_get(b, "inputs/secret.txt");
    assert_null(strstr(text, "ghp_q7Zk"));
    free(text);
}

static void what_leads_out_is_left_out_and_counted(void **state)
{
    struct box *b = *state;
    struct export e;
    static const char *const out[] = {"/etc/passwd", "../outside", "d/../../outside",
                                      "d/../file"}; // d may be a link itself
    static const char *const in[] = {"file", "./d/file", "d"};
    char name[64];
    box_put(b, "workspace/outside", "o");
    box_put(b, "workspace/t/file", "f");
    box_put(b, "workspace/t/d/file", "f");
    for (size_t i = 0; i < ARRAY_COUNT(out); i++) {
        snprintf(name, sizeof name, "workspace/t/out%zu", i);
        assert_int_equal(symlink(out[i], box_path(b, name)), 0);
    }
    for (size_t i = 0; i < ARRAY_COUNT(in); i++) {
        snprintf(name, sizeof name, "workspace/t/in%zu", i);
        assert_int_equal(symlink(in[i], box_path(b, name)), 0);
    }
    assert_int_equal(symlink("../file", box_path(b, "workspace/t/d/up")), 0);
    assert_int_equal(symlink("../../outside", box_path(b, "workspace/t/d/upup")), 0);
    assert_int_equal(mkfifo(box_path(b, "workspace/t/fifo"), 0644), 0);
    assert_int_equal(open_with(b, "t", &unlimited, &e), 0);
    assert_int_equal(e.facts.left_out, ARRAY_COUNT(out) + 2);
    assert_true(e.facts.example[0] != '\0');
    export_close(&e);
    assert_refused(b, "t/fifo", &unlimited, FAULT_INVALID, "FIFO");
    assert_refused(b, "t/out0", &unlimited, FAULT_DENIED, "");
    assert_refused(b, "../x", &unlimited, FAULT_DENIED, "");
    assert_refused(b, "gone", &unlimited, FAULT_NOT_FOUND, "gone");
}

static void limits_are_judged_before_a_byte_goes(void **state)
{
    struct box *b = *state;
    const struct export_limits small = {10, 2, ""};
    box_put(b, "workspace/big/a", "123456");
    box_put(b, "workspace/big/b", "123456");
    box_put(b, "workspace/many/1", "");
    box_put(b, "workspace/many/2", "");
    box_put(b, "workspace/many/3", "");
    box_put(b, "workspace/one", "12345678901");
    assert_refused(b, "big", &small, FAULT_TOO_LARGE, "may have 10");
    assert_refused(b, "one", &small, FAULT_TOO_LARGE, "may have 10");
    assert_refused(b, "many", &small, FAULT_TOO_LARGE, "more than 2 files");
}

static void types_are_told_by_content_and_judged(void **state)
{
    struct box *b = *state;
    struct export e;
    const struct export_limits texts = {1 << 20, 1000, "text/*,image/png"};
    box_put(b, "workspace/fake.png", "not a picture");
    box_put(b, "workspace/d/a.txt", "text");
    box_put_bytes(b, "workspace/d/prog",
                  span_of("\x7f"
                          "ELF\2\1\1\0",
                          8));
    assert_refused(b, "fake.png", &unlimited, FAULT_DENIED, "does not hold image/png");
    assert_refused(b, "d", &texts, FAULT_DENIED, "d/prog is application/x-elf");
    assert_refused(b, "d/prog", &texts, FAULT_DENIED, "text/*,image/png");
    assert_int_equal(open_with(b, "d/a.txt", &texts, &e), 0);
    export_close(&e);

    static const struct {
        const char *head, *name, *type;
        bool is_whole;
    } rows[] = {
        {"", "empty", "text/plain", true},
        {"{}", "a.JSON", "application/json", true},
        {"{}", "a.png", "text/plain", true},
        {"<svg/>", "a.svg", "image/svg+xml", true},
        {"%PDF-1.7", "a.txt", "application/pdf", true},
        {"caf\xc3", "a.txt", "text/plain", false},              // cut in a character
        {"caf\xc3", "a.txt", "application/octet-stream", true}, // ended in one
        {"a\xff", "a.txt", "application/octet-stream", false},
    };
    for (size_t i = 0; i < ARRAY_COUNT(rows); i++)
        assert_string_equal(
            content_type(span_from_string(rows[i].head), rows[i].is_whole, rows[i].name),
            rows[i].type);
    assert_true(content_is_listed("*", "a/b"));
    assert_false(content_is_listed("text/*", "texture/a"));
    assert_false(content_is_listed("image/png", "image/pngx"));
}

// A file that is written to meanwhile never makes a broken archive look whole.
static int grow(void *owner, struct span bytes)
{
    struct box *b = owner;
    (void)bytes;
    box_put(b, "workspace/g/b.txt", "");
    return 0;
}

static void a_file_that_shrinks_meanwhile_ends_the_export(void **state)
{
    struct box *b = *state;
    struct export e;
    size_t redacted;
    static char much[256 << 10];
    memset(much, 'x', sizeof much);
    box_put_bytes(b, "workspace/g/b.txt", span_of(much, sizeof much));
    assert_int_equal(open_with(b, "g/b.txt", &unlimited, &e), 0);
    assert_int_equal(export_send(&e, b->ws, grow, b, &redacted, &why), FAULT_CONFLICT);
    assert_non_null(strstr(why.text, "shorter"));
    export_close(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOX_TEST(a_file_goes_out_as_it_is),
        BOX_TEST(a_text_loses_its_secrets_and_nothing_else),
        BOX_TEST(a_folder_comes_back_from_its_tar),
        BOX_TEST(what_leads_out_is_left_out_and_counted),
        BOX_TEST(limits_are_judged_before_a_byte_goes),
        BOX_TEST(types_are_told_by_content_and_judged),
        BOX_TEST(a_file_that_shrinks_meanwhile_ends_the_export),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
