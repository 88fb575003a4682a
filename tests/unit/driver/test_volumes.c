// SPDX-License-Identifier: Apache-2.0
// Who may have a volume and for how long it is kept, with an engine that only remembers what it was
// told to remove.
#include "driver/volumes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>
#include <unistd.h>

#include "gateway/lib/loop/loop.h"

#define FLEET "ffffffffffffffffffffffffffffffff"
#define ID32  "00112233445566778899aabbccddeeff"

enum { KEEP_MS = 60 * 1000, GRACE_MS = 600 * 1000 };

struct fixture {
    struct clock_fake clock;
    struct loop *loop;
    char folder[64], removed[80];
    struct driver_profile profiles[1];
    struct driver_config config;
    struct engine engine;
    struct jobs *jobs;
    struct volumes *volumes;
    int expired;
};

// In a job's process: what it does is seen in a file.
static int fake_remove(void *self, const char *volume, struct failure *why)
{
    const struct fixture *f = self;
    (void)why;
    return file_write(f->removed, span_from_string(volume), 0600, why);
}

static void note_expired(void *owner, const struct driver_volume *volume)
{
    struct fixture *f = owner;
    f->expired++;
    assert_int_equal(volume->bytes, 32 << 20);
}

static void open_volumes(struct fixture *f)
{
    struct failure why;
    const struct volumes_options options = {.loop = f->loop,
                                            .config = &f->config,
                                            .engine = &f->engine,
                                            .jobs = f->jobs,
                                            .expired = note_expired,
                                            .owner = f};
    assert_int_equal(volumes_open(&options, &f->volumes, &why), 0);
}

static int setup(void **state)
{
    static const struct engine_ops ops = {.volume_remove = fake_remove};
    struct fixture *f = memory_new(sizeof *f);
    clock_fake_init(&f->clock);
    f->loop = loop_new(&f->clock.clock);
    snprintf(f->folder, sizeof f->folder, "/tmp/wrist-volumes-XXXXXX");
    assert_non_null(mkdtemp(f->folder));
    snprintf(f->removed, sizeof f->removed, "%s/removed", f->folder);
    f->profiles[0] = (struct driver_profile){.name = "main", .volume_bytes = 32 << 20};
    f->config = (struct driver_config){
        .profiles = f->profiles, .profile_count = 1, .volume_grace_ms = GRACE_MS};
    snprintf(f->config.state_dir, sizeof f->config.state_dir, "%s", f->folder);
    f->engine = (struct engine){&ops, f};
    f->jobs = jobs_new(f->loop, 2, 2);
    open_volumes(f);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    volumes_free(f->volumes);
    jobs_free(f->jobs);
    loop_free(f->loop);
    tree_remove(f->folder, NULL);
    free(f);
    return 0;
}

static void restart(struct fixture *f)
{
    volumes_free(f->volumes);
    loop_turn(f->loop, false); // its time is that of the turn
    open_volumes(f);
}

// `letter` makes its id, and `sandbox` that of the sandbox.
static struct driver_create order(char letter, char sandbox)
{
    struct driver_create c = {.fleet = FLEET,
                              .profile = "main",
                              .generation = 1,
                              .volume_label = "label",
                              .volume_keep_ms = KEEP_MS,
                              .volumes_most = 2};
    memset(c.id, sandbox, sizeof c.id - 1);
    memset(c.volume, letter, sizeof c.volume - 1);
    memset(c.volume_owner, 'a', sizeof c.volume_owner - 1);
    return c;
}

static void count_one(void *owner, const struct driver_volume *v)
{
    (void)v;
    ++*(int *)owner;
}

static int count(const struct fixture *f)
{
    int n = 0;
    volumes_each(f->volumes, count_one, &n);
    return n;
}

// As long as the time that passes, in the steps of the sweep; jobs run on real time.
static void pass(struct fixture *f, int64_t ms)
{
    for (int64_t at = 0; at < ms; at += 30 * 1000) {
        clock_fake_advance_ms(&f->clock, 30 * 1000);
        loop_turn(f->loop, false);
        while (jobs_running(f->jobs) + jobs_waiting(f->jobs) > 0)
            loop_turn(f->loop, true);
    }
}

static void one_sandbox_has_it_until_it_is_released(void **state)
{
    struct fixture *f = *state;
    struct failure why;
    struct driver_create first = order('1', '1'), second = order('1', '2');
    assert_int_equal(volumes_take(f->volumes, &first, &why), 0);
    assert_int_equal(volumes_take(f->volumes, &second, &why), FAULT_CONFLICT);
    assert_non_null(strstr(why.text, first.id));
    volumes_release(f->volumes, second.volume, second.id); // it does not have it
    assert_int_equal(volumes_take(f->volumes, &second, &why), FAULT_CONFLICT);
    volumes_release(f->volumes, first.volume, first.id);
    assert_int_equal(volumes_take(f->volumes, &second, &why), 0);
}

static void an_owner_has_so_many_and_no_other_gets_them(void **state)
{
    struct fixture *f = *state;
    struct failure why;
    struct driver_create c = order('1', '1');
    assert_int_equal(volumes_take(f->volumes, &c, &why), 0);
    volumes_release(f->volumes, c.volume, c.id);
    memset(c.volume_owner, 'b', sizeof c.volume_owner - 1);
    assert_int_equal(volumes_take(f->volumes, &c, &why), FAULT_DENIED);
    c = order('2', '2');
    assert_int_equal(volumes_take(f->volumes, &c, &why), 0);
    c = order('3', '3');
    assert_int_equal(volumes_take(f->volumes, &c, &why), FAULT_QUOTA);
    memset(c.volume_owner, 'b', sizeof c.volume_owner - 1);
    assert_int_equal(volumes_take(f->volumes, &c, &why), 0);
    assert_int_equal(count(f), 3);
}

static void what_is_unused_for_its_time_is_deleted_but_not_within_the_grace(void **state)
{
    struct fixture *f = *state;
    struct failure why;
    struct driver_create idle = order('1', '1'), busy = order('2', '2');
    assert_int_equal(volumes_take(f->volumes, &idle, &why), 0);
    assert_int_equal(volumes_take(f->volumes, &busy, &why), 0);
    volumes_release(f->volumes, idle.volume, idle.id);
    pass(f, GRACE_MS - 60 * 1000);
    assert_int_equal(count(f), 2);
    pass(f, 3 * 60 * 1000);
    assert_int_equal(count(f), 1);
    assert_int_equal(f->expired, 1);
    struct buffer said;
    buffer_init(&said, 32 << 10);
    assert_int_equal(file_read(f->removed, &said, NULL), 0);
    assert_true(span_is(buffer_span(&said), idle.volume));
    buffer_fini(&said);
    restart(f);
    assert_int_equal(count(f), 1);
}

static void a_restart_knows_them_and_begins_its_grace_anew(void **state)
{
    struct fixture *f = *state;
    struct failure why;
    struct driver_create c = order('1', '1');
    assert_int_equal(volumes_take(f->volumes, &c, &why), 0);
    restart(f);
    volumes_hold(f->volumes, c.volume, c.id); // its sandbox still runs
    struct driver_create other = order('1', '2');
    assert_int_equal(volumes_take(f->volumes, &other, &why), FAULT_CONFLICT);
    clock_fake_advance_ms(&f->clock, GRACE_MS);
    restart(f); // nobody has it, and its time is over
    pass(f, GRACE_MS - 60 * 1000);
    assert_int_equal(count(f), 1);
    assert_int_equal(volumes_take(f->volumes, &other, &why), 0);
}

static void a_clock_that_jumps_deletes_nothing(void **state)
{
    struct fixture *f = *state;
    struct failure why;
    struct driver_create c = order('1', '1');
    c.volume_keep_ms = INT64_C(30) * 24 * 3600 * 1000;
    assert_int_equal(volumes_take(f->volumes, &c, &why), 0);
    volumes_release(f->volumes, c.volume, c.id);
    f->clock.wall_offset_ms += INT64_C(365) * 24 * 3600 * 1000;
    pass(f, 2 * GRACE_MS);
    assert_int_equal(count(f), 1);
    f->clock.wall_offset_ms -= INT64_C(10) * 365 * 24 * 3600 * 1000;
    restart(f);
    pass(f, 2 * GRACE_MS);
    assert_int_equal(count(f), 1);
}

static void a_record_that_cannot_be_read_leaves_its_image_alone(void **state)
{
    struct fixture *f = *state;
    char image[128], record[128];
    struct driver_create c = order('1', '1');
    snprintf(image, sizeof image, "%s/volumes/%s.ext4", f->folder, c.volume);
    snprintf(record, sizeof record, "%s/volumes/%s.json", f->folder, c.volume);
    assert_int_equal(file_write(image, SPAN_LITERAL("image"), 0600, NULL), 0);
    assert_int_equal(file_write(record, SPAN_LITERAL("{\"id\":"), 0600, NULL), 0);
    restart(f);
    assert_int_equal(count(f), 0);
    pass(f, 2 * GRACE_MS);
    assert_int_equal(access(image, F_OK), 0);
}

struct removal {
    struct volume_waiter waiter;
    int told;
};

static void removed(struct volume_waiter *w, const struct failure *why)
{
    assert_null(why);
    CONTAINER_OF(w, struct removal, waiter)->told++;
}

static void it_is_deleted_on_request_of_its_fleet_while_nobody_has_it(void **state)
{
    struct fixture *f = *state;
    struct failure why;
    struct driver_create c = order('1', '1');
    struct removal r = {.waiter.done = removed}, again = {.waiter.done = removed};
    assert_int_equal(volumes_take(f->volumes, &c, &why), 0);
    assert_int_equal(volumes_remove(f->volumes, c.volume, FLEET, &r.waiter, &why), FAULT_CONFLICT);
    volumes_release(f->volumes, c.volume, c.id);
    assert_int_equal(volumes_remove(f->volumes, c.volume, ID32, &r.waiter, &why), FAULT_NOT_FOUND);
    assert_int_equal(volumes_remove(f->volumes, c.volume, FLEET, &r.waiter, &why), 0);
    assert_int_equal(volumes_remove(f->volumes, c.volume, FLEET, &again.waiter, &why), 0);
    assert_int_equal(volumes_take(f->volumes, &c, &why), FAULT_CONFLICT); // on its way out
    while (r.told + again.told < 2)
        loop_turn(f->loop, true);
    assert_int_equal(count(f), 0);
    assert_int_equal(f->expired, 0);
    assert_int_equal(volumes_take(f->volumes, &c, &why), 0); // anew
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(one_sandbox_has_it_until_it_is_released),
        TEST(an_owner_has_so_many_and_no_other_gets_them),
        TEST(what_is_unused_for_its_time_is_deleted_but_not_within_the_grace),
        TEST(a_restart_knows_them_and_begins_its_grace_anew),
        TEST(a_clock_that_jumps_deletes_nothing),
        TEST(a_record_that_cannot_be_read_leaves_its_image_alone),
        TEST(it_is_deleted_on_request_of_its_fleet_while_nobody_has_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
