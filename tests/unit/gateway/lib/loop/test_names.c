// SPDX-License-Identifier: Apache-2.0
#include "gateway/lib/loop/names.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "gateway/lib/base/clock.h"
#include "gateway/lib/loop/loop.h"

struct heard {
    int answers, fault;
    struct sockaddr_storage first;
};

static void hear(void *owner, const struct sockaddr_storage *addresses, size_t count,
                 const struct failure *why)
{
    struct heard *h = owner;
    h->answers++;
    h->fault = why != NULL ? why->fault : 0;
    if (count > 0)
        h->first = addresses[0];
}

static void settle(struct loop *loop, const struct heard *h)
{
    for (int i = 0; h->answers == 0 && i < 10000; i++) {
        loop_turn(loop, false);
        usleep(500);
    }
}

static void localhost_is_found_and_not_from_inside_the_question(void **state)
{
    struct loop *loop = loop_new(clock_system());
    struct heard h = {0};
    (void)state;
    names_find(loop, "localhost", "/dev/null", hear, &h);
    assert_int_equal(h.answers, 0);
    settle(loop, &h);
    assert_int_equal(h.answers, 1);
    assert_int_equal(h.fault, 0);
    assert_true(h.first.ss_family == AF_INET || h.first.ss_family == AF_INET6);
    loop_free(loop);
}

// A name server that answers each question for an IPv4 address with 10.1.2.3.
static void answer(int fd)
{
    unsigned char packet[512];
    struct sockaddr_in from;
    socklen_t size = sizeof from;
    ssize_t n =
        recvfrom(fd, packet, sizeof packet - 16, MSG_DONTWAIT, (struct sockaddr *)&from, &size);
    if (n < 12)
        return;
    static const unsigned char address[] = {0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 10, 1, 2, 3};
    size_t end = 12;
    while (packet[end] != 0)
        end += packet[end] + 1u;
    end += 5;
    bool is_v4 = packet[end - 3] == 1;
    packet[2] = 0x81;
    packet[3] = 0x80;
    packet[7] = is_v4;
    packet[11] = 0;
    if (is_v4) {
        memcpy(packet + end, address, sizeof address);
        end += sizeof address;
    }
    sendto(fd, packet, end, 0, (struct sockaddr *)&from, size);
}

static int name_server(char *resolv_conf)
{
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof in;
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&in, sizeof in), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&in, &size), 0);
    int file = mkstemp(resolv_conf);
    assert_true(file >= 0);
    dprintf(file, "nameserver 127.0.0.1:%d\n", ntohs(in.sin_port));
    close(file);
    return fd;
}

static void a_name_server_is_asked_without_waiting_for_it(void **state)
{
    struct loop *loop = loop_new(clock_system());
    struct heard h = {0};
    char file[] = "/tmp/wrist-resolv-XXXXXX", text[INET_ADDRSTRLEN];
    int fd = name_server(file);
    (void)state;
    names_find(loop, "redis.example", file, hear, &h);
    for (int i = 0; h.answers == 0 && i < 10000; i++) {
        loop_turn(loop, false);
        answer(fd);
        usleep(500);
    }
    assert_int_equal(h.answers, 1);
    assert_int_equal(h.fault, 0);
    inet_ntop(AF_INET, &((struct sockaddr_in *)&h.first)->sin_addr, text, sizeof text);
    assert_string_equal(text, "10.1.2.3");
    unlink(file);
    close(fd);
    loop_free(loop);
}

static void a_question_that_is_cancelled_is_not_answered(void **state)
{
    struct loop *loop = loop_new(clock_system());
    struct heard h = {0};
    char file[] = "/tmp/wrist-resolv-XXXXXX";
    int fd = name_server(file);
    (void)state;
    struct names_query *q = names_find(loop, "redis.example", file, hear, &h);
    loop_turn(loop, false);
    names_cancel(q);
    names_cancel(NULL);
    for (int i = 0; i < 10; i++)
        loop_turn(loop, false);
    assert_int_equal(h.answers, 0);
    unlink(file);
    close(fd);
    loop_free(loop);
}

static void a_name_that_nobody_knows_is_unavailable(void **state)
{
    struct loop *loop = loop_new(clock_system());
    struct heard h = {0};
    (void)state;
    names_find(loop, "no-such-name.invalid", "/dev/null", hear, &h);
    settle(loop, &h);
    assert_int_equal(h.fault, FAULT_UNAVAILABLE);
    loop_free(loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(localhost_is_found_and_not_from_inside_the_question),
        cmocka_unit_test(a_name_server_is_asked_without_waiting_for_it),
        cmocka_unit_test(a_question_that_is_cancelled_is_not_answered),
        cmocka_unit_test(a_name_that_nobody_knows_is_unavailable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
