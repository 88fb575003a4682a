// SPDX-License-Identifier: Apache-2.0
#include "gateway/lib/loop/loop.h"

#include <event2/event.h>
#include <stdlib.h>

#include "gateway/lib/base/memory.h"
#include "gateway/lib/loop/timer.h"
#include "gateway/lib/loop/turn.h"

struct grave {
    void *object;
    void (*free_object)(void *object);
};

struct signal_handler {
    struct list node;
    struct event *event; // owned
    void (*handler)(void *owner, int signal);
    void *owner; // borrowed
};

struct loop {
    struct event_base *base; // owned
    struct event *wake;      // owned; ends a wait when the next timer is due
    const struct clock *clock;
    int64_t now_us;
    bool stopped;
    struct timer_heap timers;
    struct list deferred;
    struct list flushes;
    struct list signals;
    struct grave *graves; // owned
    size_t grave_count, grave_capacity;
};

struct watch {
    struct event *event; // owned; NULL while nothing is watched for the first time
    struct loop *loop;
    int fd; // borrowed
    int events;
    void (*ready)(void *owner, int events);
    void *owner;
};

static void on_wake(evutil_socket_t fd, short events, void *arg)
{
    (void)fd;
    (void)events;
    (void)arg;
}

struct loop *loop_new(const struct clock *clock)
{
    struct loop *loop = memory_new(sizeof *loop);
    struct event_config *config = event_config_new();
    event_config_set_flag(config, EVENT_BASE_FLAG_NOLOCK);
    // Many watches change between reading and writing within one turn: one epoll_ctl each.
    event_config_set_flag(config, EVENT_BASE_FLAG_EPOLL_USE_CHANGELIST);
    loop->base = event_base_new_with_config(config);
    event_config_free(config);
    if (loop->base == NULL || (loop->wake = evtimer_new(loop->base, on_wake, NULL)) == NULL)
        abort();
    loop->clock = clock;
    loop->now_us = clock_monotonic_us(clock);
    list_init(&loop->deferred);
    list_init(&loop->flushes);
    list_init(&loop->signals);
    return loop;
}

static void empty_graveyard(struct loop *loop)
{
    for (size_t i = 0; i < loop->grave_count; i++) // freeing may bury more
        loop->graves[i].free_object(loop->graves[i].object);
    loop->grave_count = 0;
}

void loop_free(struct loop *loop)
{
    if (loop == NULL)
        return;
    empty_graveyard(loop);
    for (struct list *node; (node = list_pop(&loop->signals)) != NULL;) {
        struct signal_handler *s = LIST_ENTRY(node, struct signal_handler, node);
        event_free(s->event);
        free(s);
    }
    timer_heap_fini(&loop->timers);
    free(loop->graves);
    event_free(loop->wake);
    event_base_free(loop->base);
    free(loop);
}

const struct clock *loop_clock(const struct loop *loop)
{
    return loop->clock;
}

int64_t loop_now_us(const struct loop *loop)
{
    return loop->now_us;
}

int64_t loop_now_ms(const struct loop *loop)
{
    return loop->now_us / 1000;
}

struct timer_heap *loop_timers(struct loop *loop)
{
    return &loop->timers;
}

struct event_base *loop_base(struct loop *loop)
{
    return loop->base;
}

void task_init(struct task *task, void (*run)(struct task *task))
{
    list_init(&task->node);
    task->run = run;
}

void loop_defer(struct loop *loop, struct task *task)
{
    if (list_is_empty(&task->node))
        list_append(&loop->deferred, &task->node);
}

void loop_flush(struct loop *loop, struct task *task)
{
    if (list_is_empty(&task->node))
        list_append(&loop->flushes, &task->node);
}

void task_cancel(struct task *task)
{
    list_remove(&task->node);
}

bool task_is_pending(const struct task *task)
{
    return !list_is_empty(&task->node);
}

void loop_bury(struct loop *loop, void *object, void (*free_object)(void *object))
{
    if (loop->grave_count == loop->grave_capacity) {
        loop->grave_capacity = loop->grave_capacity > 0 ? loop->grave_capacity * 2 : 32;
        loop->graves = memory_resize(loop->graves, loop->grave_capacity, sizeof *loop->graves);
    }
    loop->graves[loop->grave_count++] = (struct grave){object, free_object};
}

static void run_tasks(struct loop *loop)
{
    struct list *node;
    do {
        while ((node = list_pop(&loop->deferred)) != NULL) {
            struct task *task = LIST_ENTRY(node, struct task, node);
            task->run(task);
        }
        node = list_pop(&loop->flushes);
        if (node != NULL) {
            struct task *task = LIST_ENTRY(node, struct task, node);
            task->run(task);
        }
    } while (node != NULL || !list_is_empty(&loop->deferred));
}

static void wait_for_events(struct loop *loop, bool wait)
{
    int64_t next_us = timer_heap_next_us(&loop->timers);
    int64_t delay_us = next_us - clock_monotonic_us(loop->clock);
    bool tasks = !list_is_empty(&loop->deferred) || !list_is_empty(&loop->flushes);
    if (loop->clock != clock_system() || tasks || (next_us >= 0 && delay_us <= 0))
        wait = false;
    if (wait && next_us >= 0) {
        struct timeval limit = {.tv_sec = delay_us / 1000000, .tv_usec = delay_us % 1000000};
        evtimer_add(loop->wake, &limit);
    }
    event_base_loop(loop->base, wait ? EVLOOP_ONCE | EVLOOP_NO_EXIT_ON_EMPTY
                                     : EVLOOP_ONCE | EVLOOP_NONBLOCK | EVLOOP_NO_EXIT_ON_EMPTY);
}

void loop_turn(struct loop *loop, bool wait)
{
    wait_for_events(loop, wait);
    loop->now_us = clock_monotonic_us(loop->clock);
    timer_heap_fire(&loop->timers, loop->now_us);
    run_tasks(loop);
    empty_graveyard(loop);
}

void loop_run(struct loop *loop)
{
    loop->stopped = false;
    while (!loop->stopped)
        loop_turn(loop, true);
}

void loop_stop(struct loop *loop)
{
    loop->stopped = true;
}

static void on_watch_event(evutil_socket_t fd, short events, void *arg)
{
    struct watch *w = arg;
    (void)fd;
    w->loop->now_us = clock_monotonic_us(w->loop->clock);
    w->ready(w->owner, ((events & EV_READ) != 0 ? WATCH_READ : 0) |
                           ((events & EV_WRITE) != 0 ? WATCH_WRITE : 0));
}

struct watch *watch_new(struct loop *loop, int fd, void (*ready)(void *owner, int events),
                        void *owner)
{
    struct watch *w = memory_new(sizeof *w);
    *w = (struct watch){.loop = loop, .fd = fd, .ready = ready, .owner = owner};
    return w;
}

void watch_set(struct watch *w, int events)
{
    if (w->events == events)
        return;
    if (w->event != NULL && w->events != 0)
        event_del(w->event);
    w->events = events;
    if (events == 0)
        return;
    short wanted = (short)(EV_PERSIST | ((events & WATCH_READ) != 0 ? EV_READ : 0) |
                           ((events & WATCH_WRITE) != 0 ? EV_WRITE : 0));
    if (w->event == NULL)
        w->event = event_new(w->loop->base, w->fd, wanted, on_watch_event, w);
    else
        event_assign(w->event, w->loop->base, w->fd, wanted, on_watch_event, w);
    if (w->event == NULL || event_add(w->event, NULL) != 0)
        abort();
}

void watch_free(struct watch *w)
{
    if (w == NULL)
        return;
    if (w->event != NULL)
        event_free(w->event);
    free(w);
}

static void on_signal_event(evutil_socket_t signal_number, short events, void *arg)
{
    struct signal_handler *s = arg;
    (void)events;
    s->handler(s->owner, (int)signal_number);
}

int loop_on_signal(struct loop *loop, int signal_number, void (*handler)(void *owner, int signal),
                   void *owner, struct failure *why)
{
    struct signal_handler *s = memory_new(sizeof *s);
    *s = (struct signal_handler){.handler = handler, .owner = owner};
    s->event = evsignal_new(loop->base, signal_number, on_signal_event, s);
    if (s->event == NULL || event_add(s->event, NULL) != 0) {
        if (s->event != NULL)
            event_free(s->event);
        free(s);
        return failure_set(why, FAULT_INTERNAL, "signal %d cannot be handled", signal_number);
    }
    list_append(&loop->signals, &s->node);
    return 0;
}
