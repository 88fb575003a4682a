// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "driver/files.h"
#include "driver/journal.h"

static char folder[64];

static const char *at(const char *name)
{
    static char path[FILE_PATH_SIZE];
    assert_int_equal(path_format(path, NULL, "%s/%s", folder, name), 0);
    return path;
}

static int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/wrist-files-XXXXXX");
    return mkdtemp(folder) == NULL;
}

static int drop_folder(void **state)
{
    (void)state;
    return tree_remove(folder, NULL);
}

static void a_tree_goes_but_never_what_its_links_point_to(void **state)
{
    (void)state;
    struct failure why = {0};
    assert_int_equal(file_write(at("kept"), SPAN_LITERAL("x"), 0600, &why), 0);
    assert_int_equal(directory_make_all(at("tree/a/b"), 0755, &why), 0);
    assert_int_equal(symlink("../../kept", at("tree/a/link")), 0);
    assert_int_equal(symlink("/tmp", at("tree/outside")), 0);
    assert_int_equal(tree_remove(at("tree"), &why), 0);
    assert_int_equal(access(at("tree"), F_OK), -1);
    assert_int_equal(access(at("kept"), F_OK), 0);
    assert_int_equal(access("/tmp", F_OK), 0);
    assert_int_equal(tree_remove(at("tree"), &why), 0);
}

static void a_file_is_not_written_through_a_link(void **state)
{
    (void)state;
    struct failure why = {0};
    assert_int_equal(symlink("/etc/hostname", at("trap")), 0);
    assert_true(file_write(at("trap"), SPAN_LITERAL("x"), 0600, &why) < 0);
}

static struct journal_entry entry_of(const char *id)
{
    struct journal_entry e = {
        .record = {.generation = 3, .state = DRIVER_STATE_RUNNING, .created_ms = 5},
        .process = {.pid = 77, .started = 88, .boot = "boot"},
    };
    snprintf(e.record.id, sizeof e.record.id, "%s", id);
    snprintf(e.record.fleet, sizeof e.record.fleet, "0123456789abcdef0123456789abcdef");
    snprintf(e.record.profile, sizeof e.record.profile, "c");
    snprintf(e.record.endpoint, sizeof e.record.endpoint, "unix:/x");
    snprintf(e.record.digest, sizeof e.record.digest,
             "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef");
    return e;
}

struct seen {
    size_t good, damaged;
    struct journal_entry last;
};

static void on_entry(void *owner, const char *id, const struct journal_entry *entry)
{
    struct seen *seen = owner;
    assert_int_equal(strlen(id), ID_SIZE - 1);
    if (entry == NULL) {
        seen->damaged++;
        return;
    }
    seen->good++;
    seen->last = *entry;
}

static void a_journal_reads_back_what_it_wrote_and_tells_what_is_damaged(void **state)
{
    (void)state;
    struct failure why = {0};
    struct journal *j = NULL, *second = NULL;
    struct seen seen = {0};
    assert_int_equal(journal_open(at("state"), &j, &why), 0);
    assert_int_equal(journal_open(at("state"), &second, &why), FAULT_CONFLICT);
    struct journal_entry e = entry_of("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
    assert_int_equal(journal_write(j, &e, true, &why), 0);
    assert_int_equal(file_write(at("state/journal/bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb.json"),
                                SPAN_LITERAL("{"), 0600, &why),
                     0);
    assert_int_equal(file_write(at("state/journal/cccccccccccccccccccccccccccccccc.json.new"),
                                SPAN_LITERAL("{"), 0600, &why),
                     0);
    assert_int_equal(journal_each(j, on_entry, &seen, &why), 0);
    assert_int_equal(seen.good, 1);
    assert_int_equal(seen.damaged, 1);
    assert_int_equal(seen.last.process.pid, 77);
    assert_int_equal(seen.last.record.generation, 3);
    assert_int_equal(access(at("state/journal/cccccccccccccccccccccccccccccccc.json.new"), F_OK),
                     -1);
    assert_int_equal(journal_remove(j, e.record.id, &why), 0);
    assert_int_equal(journal_remove(j, e.record.id, &why), 0);
    journal_close(j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tree_goes_but_never_what_its_links_point_to),
        cmocka_unit_test(a_file_is_not_written_through_a_link),
        cmocka_unit_test(a_journal_reads_back_what_it_wrote_and_tells_what_is_damaged),
    };
    return cmocka_run_group_tests(tests, make_folder, drop_folder);
}
