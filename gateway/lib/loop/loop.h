// SPDX-License-Identifier: Apache-2.0
//
// The event loop of a process. Everything here is called on its one thread. Callbacks come from
// loop_turn only, never from inside the call that asks for them.
#ifndef WRIST_GATEWAY_LIB_LOOP_LOOP_H
#define WRIST_GATEWAY_LIB_LOOP_LOOP_H

#include <stdbool.h>

#include "gateway/lib/base/clock.h"
#include "gateway/lib/base/failure.h"
#include "gateway/lib/base/list.h"

struct loop;

struct loop *loop_new(const struct clock *clock); // the clock is borrowed
void loop_free(struct loop *loop);
const struct clock *loop_clock(const struct loop *loop);
int64_t loop_now_ms(const struct loop *loop); // monotonic, read once a turn
int64_t loop_now_us(const struct loop *loop);

void loop_run(struct loop *loop);  // turns until loop_stop
void loop_stop(struct loop *loop); // after the present turn
// One turn. With wait false, or a fake clock, it does not block.
void loop_turn(struct loop *loop, bool wait);

// A task runs once after it was deferred; deferring it again before that changes nothing. It is
// embedded in its owner, who cancels it before dying.
struct task {
    struct list node;
    void (*run)(struct task *task);
};
void task_init(struct task *task, void (*run)(struct task *task));
void loop_defer(struct loop *loop, struct task *task); // this turn, after the events
void loop_flush(struct loop *loop, struct task *task); // this turn, after all deferred tasks
void task_cancel(struct task *task);
bool task_is_pending(const struct task *task);

// Frees an object after the turn, when no frame on the stack can still use it.
void loop_bury(struct loop *loop, void *object, void (*free_object)(void *object));

// Readiness of an fd, level-triggered.
enum watch_events { WATCH_READ = 1, WATCH_WRITE = 2 };
struct watch;
struct watch *watch_new(struct loop *loop, int fd, void (*ready)(void *owner, int events),
                        void *owner);        // watches nothing yet; the fd stays the caller's
void watch_set(struct watch *w, int events); // what to wait for from now on; 0: nothing
void watch_free(struct watch *w);            // no callback comes after this; before close(fd)

// One handler per signal, called from the loop. The handler stays until the loop is freed.
int loop_on_signal(struct loop *loop, int signal_number, void (*handler)(void *owner, int signal),
                   void *owner, struct failure *why);

#endif
