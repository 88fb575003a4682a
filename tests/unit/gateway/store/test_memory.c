// SPDX-License-Identifier: Apache-2.0
// What the memory store leaves on disk, and what it makes of it.
#include "gateway/store/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gateway/lib/base/clock.h"
#include "gateway/lib/base/memory.h"
#include "gateway/lib/file/file.h"
#include "gateway/lib/loop/loop.h"
#include "gateway/store/state_file.h"

struct bench {
    char path[64];
    int directory;
    struct clock_fake clock;
    struct loop *loop;
    struct store *store;
};

static int make(void **state)
{
    struct bench *b = memory_new(sizeof *b);
    struct failure why;
    snprintf(b->path, sizeof b->path, "/tmp/wrist-store-XXXXXX");
    assert_non_null(mkdtemp(b->path));
    assert_int_equal(state_directory_open(b->path, &b->directory, &why), 0);
    clock_fake_init(&b->clock);
    b->loop = loop_new(&b->clock.clock);
    assert_int_equal(store_memory_open(b->loop, b->directory, &b->store, &why), 0);
    *state = b;
    return 0;
}

static int clean(void **state)
{
    struct bench *b = *state;
    store_close(b->store);
    loop_free(b->loop);
    unlinkat(b->directory, "journal", 0);
    unlinkat(b->directory, "lock", 0);
    unlinkat(b->directory, "fleet", 0);
    close(b->directory);
    assert_int_equal(rmdir(b->path), 0);
    free(b);
    return 0;
}

static void reopen(struct bench *b)
{
    struct failure why;
    loop_turn(b->loop, false);
    store_close(b->store);
    assert_int_equal(store_memory_open(b->loop, b->directory, &b->store, &why), 0);
}

struct heard {
    int count, fault;
    size_t sandboxes;
    struct sandbox_record sandbox;
    struct binding_record binding;
};

static void hear(void *owner, const struct store_answer *answer, const struct failure *why)
{
    struct heard *h = owner;
    h->count++;
    h->fault = why != NULL ? why->fault : 0;
    h->sandboxes = answer->count;
    h->binding = answer->binding;
    if (answer->count > 0)
        h->sandbox = answer->sandboxes[0];
}

static void put_sandbox(struct bench *b, const char *id)
{
    struct sandbox_record r = {.profile = "default",
                               .principal = "abc",
                               .generation = 7,
                               .created_ms = 1,
                               .claimed_ms = 2,
                               .idle_ms = 3,
                               .absolute_ms = 4};
    span_copy_string(span_from_string(id), r.id, sizeof r.id);
    store_sandbox_put(b->store, &r, NULL, NULL);
}

static struct heard listed(struct bench *b)
{
    struct heard h = {0};
    store_sandbox_list(b->store, hear, &h);
    loop_turn(b->loop, false);
    assert_int_equal(h.count, 1);
    return h;
}

static void append_raw(struct bench *b, const char *text)
{
    int fd = openat(b->directory, "journal", O_WRONLY | O_APPEND);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
}

static void sandboxes_and_tombstones_outlive_the_process(void **state)
{
    struct bench *b = *state;
    struct heard h = {0};
    struct binding_record r = {
        .key = "s:1", .principal = "p", .profile = "default", .state = BINDING_ENDED};
    r.until_ms = store_now_ms(b->store) + 1000;
    assert_true(store_was_empty(b->store));
    put_sandbox(b, "one");
    put_sandbox(b, "two");
    store_sandbox_delete(b->store, "two", NULL, NULL);
    store_binding_put(b->store, &r, NULL, NULL);
    reopen(b);
    assert_false(store_was_empty(b->store));
    h = listed(b);
    assert_int_equal(h.sandboxes, 1);
    assert_string_equal(h.sandbox.id, "one");
    assert_string_equal(h.sandbox.principal, "abc");
    assert_int_equal(h.sandbox.generation, 7);
    assert_int_equal(h.sandbox.absolute_ms, 4);
    h = (struct heard){0};
    store_binding_get(b->store, "s:1", hear, &h);
    loop_turn(b->loop, false);
    assert_int_equal(h.fault, 0);
    assert_int_equal(h.binding.state, BINDING_ENDED);
}

static void a_line_that_a_crash_cut_off_does_no_harm(void **state)
{
    struct bench *b = *state;
    put_sandbox(b, "one");
    append_raw(b, "S two default - 1 2");
    reopen(b);
    assert_int_equal(listed(b).sandboxes, 1);
    put_sandbox(b, "three"); // not glued to the torn line
    reopen(b);
    assert_int_equal(listed(b).sandboxes, 2);
}

static void lines_that_make_no_sense_are_passed_over(void **state)
{
    struct bench *b = *state;
    append_raw(b, "\nX\nS\nS a b c d e f g h\nB k p d nonsense - 1 1 1\n"
                  "S id default - - -1 2 3 4 5\nS id default - - 1 2 3 4 5 6\nD nothing\n");
    put_sandbox(b, "one");
    reopen(b);
    assert_int_equal(listed(b).sandboxes, 1);
}

static void the_journal_does_not_grow_with_every_change(void **state)
{
    struct bench *b = *state;
    for (int i = 0; i < 20000; i++) {
        put_sandbox(b, "one");
        store_sandbox_delete(b->store, "one", NULL, NULL);
        loop_turn(b->loop, false);
    }
    put_sandbox(b, "last");
    struct stat st;
    assert_int_equal(fstatat(b->directory, "journal", &st, 0), 0);
    assert_true(st.st_size < 256 * 1024);
    assert_int_equal(st.st_mode & 07777, 0600);
    reopen(b);
    assert_string_equal(listed(b).sandbox.id, "last");
}

static void a_second_gateway_is_refused_the_directory(void **state)
{
    struct bench *b = *state;
    struct store *second = NULL;
    struct failure why;
    assert_int_equal(store_memory_open(b->loop, b->directory, &second, &why), FAULT_CONFLICT);
    assert_null(second);
}

static void the_fleet_id_is_made_once(void **state)
{
    struct bench *b = *state;
    char first[ID_SIZE], again[ID_SIZE];
    struct failure why;
    assert_int_equal(fleet_id_load(b->directory, first, &why), 0);
    assert_int_equal(fleet_id_load(b->directory, again, &why), 0);
    assert_string_equal(first, again);
    assert_int_equal(file_replace(b->directory, "fleet", SPAN_LITERAL("short"), true, &why), 0);
    assert_int_equal(fleet_id_load(b->directory, again, &why), FAULT_PARSE);
}

#define ON_DISK(test) cmocka_unit_test_setup_teardown(test, make, clean)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_DISK(sandboxes_and_tombstones_outlive_the_process),
        ON_DISK(a_line_that_a_crash_cut_off_does_no_harm),
        ON_DISK(lines_that_make_no_sense_are_passed_over),
        ON_DISK(the_journal_does_not_grow_with_every_change),
        ON_DISK(a_second_gateway_is_refused_the_directory),
        ON_DISK(the_fleet_id_is_made_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
