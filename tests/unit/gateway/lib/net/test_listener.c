// SPDX-License-Identifier: Apache-2.0
#include "gateway/lib/net/listener.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "gateway/lib/base/random.h"
#include "gateway/lib/loop/loop.h"

struct door {
    struct clock_fake clock;
    struct loop *loop;
    struct listener *listener;
    int accepted, starved;
    int fds[128];
};

static void on_accepted(void *owner, int fd, const struct address *peer)
{
    struct door *d = owner;
    assert_true(address_is_loopback(peer));
    assert_true((fcntl(fd, F_GETFL) & O_NONBLOCK) != 0);
    assert_true((fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
    d->fds[d->accepted++] = fd;
}

static void on_starved(void *owner, int error)
{
    struct door *d = owner;
    assert_int_equal(error, EMFILE);
    d->starved++;
}

static void open_door(struct door *d, const char *address, int budget)
{
    struct failure why;
    struct listener_options options = {
        .accept_budget = budget, .unix_mode = 0640, .starved = on_starved};
    *d = (struct door){0};
    clock_fake_init(&d->clock);
    d->loop = loop_new(&d->clock.clock);
    assert_int_equal(address_parse(span_from_string(address), &options.address, &why), 0);
    d->listener = listener_open(d->loop, &options, on_accepted, d, &why);
    if (d->listener == NULL)
        fail_msg("%s", why.text);
}

static void close_door(struct door *d)
{
    for (int i = 0; i < d->accepted; i++)
        close(d->fds[i]);
    listener_close(d->listener);
    loop_turn(d->loop, false);
    loop_free(d->loop);
}

static int knock(const struct door *d)
{
    const struct address *a = listener_address(d->listener);
    int fd = socket(a->storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    int rc = connect(fd, (const struct sockaddr *)&a->storage, a->size);
    assert_true(rc == 0 || errno == EINPROGRESS);
    return fd;
}

static void a_turn_accepts_no_more_than_its_budget(void **state)
{
    (void)state;
    struct door d;
    int knocks[10];
    open_door(&d, "127.0.0.1:0", 4);
    for (int i = 0; i < 10; i++)
        knocks[i] = knock(&d);
    loop_turn(d.loop, false);
    assert_int_equal(d.accepted, 4);
    listener_pause(d.listener);
    loop_turn(d.loop, false);
    assert_int_equal(d.accepted, 4);
    listener_resume(d.listener);
    loop_turn(d.loop, false);
    loop_turn(d.loop, false);
    assert_int_equal(d.accepted, 10);
    for (int i = 0; i < 10; i++)
        close(knocks[i]);
    close_door(&d);
}

// A minute without descriptors: what the loop is asked to do stays a try now and then.
static void without_descriptors_it_waits_until_one_is_closed(void **state)
{
    (void)state;
    struct door d;
    struct rlimit old, few;
    int knocks[3];
    open_door(&d, "127.0.0.1:0", 0);
    for (int i = 0; i < 3; i++)
        knocks[i] = knock(&d);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    few = old;
    few.rlim_cur = (rlim_t)knocks[2] + 1;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    loop_turn(d.loop, false);
    for (int ms = 0; ms < 60000; ms += 50) {
        clock_fake_advance_ms(&d.clock, 50);
        loop_turn(d.loop, false);
    }
    assert_int_equal(d.accepted, 0);
    assert_int_equal(d.starved, 1); // told once, not at every try
    close(knocks[0]);               // what it leaves is one connection's worth
    clock_fake_advance_ms(&d.clock, 150);
    for (int i = 0; i < 5; i++)
        loop_turn(d.loop, false);
    assert_int_equal(d.accepted, 1);
    assert_int_equal(d.starved, 2); // the next one found none again
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
    loop_turn(d.loop, false);
    assert_int_equal(d.accepted, 1); // paused: no spinning on accept
    clock_fake_advance_ms(&d.clock, 150);
    loop_turn(d.loop, false);
    loop_turn(d.loop, false);
    assert_int_equal(d.accepted, 3);
    close(knocks[1]);
    close(knocks[2]);
    close_door(&d);
}

static struct listener *open_shared(struct door *d, const struct address *address, bool reuse)
{
    struct failure why;
    struct listener_options options = {.address = *address, .reuse_port = reuse};
    return listener_open(d->loop, &options, on_accepted, d, &why);
}

static void processes_share_a_port_where_all_of_them_say_so(void **state)
{
    (void)state;
    struct door d = {0};
    struct address any;
    struct failure why;
    int knocks[40];
    clock_fake_init(&d.clock);
    d.loop = loop_new(&d.clock.clock);
    assert_int_equal(address_parse(SPAN_LITERAL("127.0.0.1:0"), &any, &why), 0);
    d.listener = open_shared(&d, &any, true);
    assert_non_null(d.listener);
    assert_null(open_shared(&d, listener_address(d.listener), false));
    struct listener *second = open_shared(&d, listener_address(d.listener), true);
    assert_non_null(second);
    listener_pause(second);
    for (int i = 0; i < 40; i++)
        knocks[i] = knock(&d);
    loop_turn(d.loop, false);
    assert_in_range(d.accepted, 1, 39); // the kernel spreads them
    listener_resume(second);
    loop_turn(d.loop, false);
    assert_int_equal(d.accepted, 40);
    for (int i = 0; i < 40; i++)
        close(knocks[i]);
    listener_close(second);
    close_door(&d);
}

// A supervisor keeps the socket: what knocks between two of us waits for the next.
static void an_inherited_listener_outlives_us(void **state)
{
    (void)state;
    struct door d;
    char text[32];
    struct sockaddr_in local = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&local, sizeof local), 0);
    assert_int_equal(listen(fd, 16), 0);
    snprintf(text, sizeof text, "fd:%d", fd);
    open_door(&d, text, 0);
    assert_true(address_is_loopback(listener_address(d.listener)));
    int first = knock(&d);
    loop_turn(d.loop, false);
    assert_int_equal(d.accepted, 1);
    struct address kept = *listener_address(d.listener);
    close_door(&d);
    int meanwhile = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(meanwhile, (struct sockaddr *)&kept.storage, kept.size), 0);
    open_door(&d, text, 0);
    loop_turn(d.loop, false);
    assert_int_equal(d.accepted, 1);
    close(first);
    close(meanwhile);
    close_door(&d);
    close(fd);
}

static void a_descriptor_that_does_not_listen_is_refused(void **state)
{
    (void)state;
    struct failure why;
    struct listener_options options = {0};
    char text[32];
    struct loop *loop = loop_new(clock_system());
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int fds[] = {fd, 9999};
    for (size_t i = 0; i < 2; i++) {
        snprintf(text, sizeof text, "fd:%d", fds[i]);
        assert_int_equal(address_parse(span_from_string(text), &options.address, &why), 0);
        assert_null(listener_open(loop, &options, on_accepted, NULL, &why));
        assert_non_null(strstr(why.text, "is not a listening socket"));
    }
    close(fd);
    loop_free(loop);
}

static void a_unix_socket_has_its_mode_and_tells_who_is_there(void **state)
{
    (void)state;
    struct door d;
    struct stat st;
    struct peer_credentials who;
    char id[ID_SIZE], address[128];
    id_new(id);
    snprintf(address, sizeof address, "unix:/tmp/wrist-%.16s.sock", id);
    open_door(&d, address, 0);
    assert_int_equal(lstat(address + 5, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0640);
    int fd = knock(&d);
    loop_turn(d.loop, false);
    assert_int_equal(d.accepted, 1);
    assert_int_equal(peer_credentials_read(d.fds[0], &who, NULL), 0);
    assert_int_equal(who.pid, getpid());
    assert_int_equal(who.uid, getuid());
    close(fd);
    close_door(&d);
    // What a crash left is no obstacle, a file of another kind is.
    open_door(&d, address, 0);
    close_door(&d);
    unlink(address + 5);
    assert_int_equal(close(open(address + 5, O_CREAT | O_WRONLY | O_CLOEXEC, 0600)), 0);
    struct failure why;
    struct listener_options options = {0};
    struct loop *loop = loop_new(clock_system());
    assert_int_equal(address_parse(span_from_string(address), &options.address, &why), 0);
    assert_null(listener_open(loop, &options, on_accepted, NULL, &why));
    loop_free(loop);
    unlink(address + 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_turn_accepts_no_more_than_its_budget),
        cmocka_unit_test(without_descriptors_it_waits_until_one_is_closed),
        cmocka_unit_test(processes_share_a_port_where_all_of_them_say_so),
        cmocka_unit_test(an_inherited_listener_outlives_us),
        cmocka_unit_test(a_descriptor_that_does_not_listen_is_refused),
        cmocka_unit_test(a_unix_socket_has_its_mode_and_tells_who_is_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
