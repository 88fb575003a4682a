// SPDX-License-Identifier: Apache-2.0
// wrist-worker: PID 1 of a sandbox, and the hands in it. See README.md.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gateway/lib/base/memory.h"
#include "gateway/lib/confine/privileges.h"
#include "gateway/lib/confine/seccomp.h"
#include "gateway/lib/loop/loop.h"
#include "gateway/lib/loop/timer.h"
#include "gateway/lib/telemetry/log.h"
#include "workers/hands/reads.h"
#include "workers/init/life.h"
#include "workers/init/reaper.h"
#include "workers/init/spawn.h"
#include "workers/link/bash.h"
#include "workers/link/call.h"
#include "workers/options.h"
#include "workers/snapshots/pack.h"

enum {
    READS_MAX = 16384,
    HANDS_MAX = 4,
    WAITING_MAX = 64,
    DRAIN_MS = 1000, // for answers that are being written when the sandbox ends
};

struct worker {
    struct worker_options options;
    struct loop *loop;
    struct reaper *reaper;
    struct workspace *workspace;
    int snapshots_fd; // owned; -1: none are kept
    struct seccomp_program *seccomp;
    struct command_identity commands;
    struct life *life;
    struct reads *reads;
    struct hand_pool *hands;
    struct shells *shells;
    struct calls *calls;
    struct service *link;
    struct timer drain;
    bool ending;
};

static void stop(void *owner)
{
    struct worker *w = owner;
    loop_stop(w->loop);
}

static void on_drain_timer(struct timer *timer)
{
    stop(CONTAINER_OF(timer, struct worker, drain));
}

static void end(struct worker *w, const char *reason)
{
    if (w->ending)
        return;
    w->ending = true;
    LOG(LOG_INFO, "worker.ending", LOG_STRING("reason", reason));
    int64_t grace = w->options.start.grace_ms / 2;
    timer_start(&w->drain, grace < DRAIN_MS ? grace : DRAIN_MS);
    link_drain(w->link, stop, w);
}

static void on_terminate(void *owner)
{
    end(owner, "told to terminate");
}

static void on_life_over(void *owner, const char *reason)
{
    end(owner, reason);
}

static void on_link_end(void *owner)
{
    end(owner, "ended over the link");
}

static const struct reaper_ops reaper_ops = {on_terminate};

static int open_folders(struct worker *w, struct failure *why)
{
    const struct worker_start *s = &w->options.start;
    const struct workspace_options options = {
        .main_folder = s->workspace,
        .inputs_folder = s->inputs[0] != '\0' ? s->inputs : NULL,
    };
    return workspace_open(&options, &w->workspace, why);
}

// After everything that needs rights was opened; before the first byte from a peer.
static int give_up_rights(struct worker *w, struct failure *why)
{
    const struct worker_start *s = &w->options.start;
    const uint64_t needed = CONFINE_CAPABILITY(CAP_SETUID) | CONFINE_CAPABILITY(CAP_SETGID) |
                            CONFINE_CAPABILITY(CAP_KILL);
    const struct user user = {(uid_t)s->worker_uid, (gid_t)s->worker_gid};
    bool changes = user.uid != getuid() || user.gid != getgid();
    int fault = privileges_drop(changes ? &user : NULL, s->weak_isolation ? 0 : needed, why);
    return fault != 0 ? failure_prefix(why, "%s",
                                       s->weak_isolation ? "give up rights"
                                                         : "run commands as another user")
                      : 0;
}

static int prepare_commands(struct worker *w, struct failure *why)
{
    const struct worker_start *s = &w->options.start;
    w->commands = (struct command_identity){
        .uid = (uint32_t)s->command_uid,
        .gid = (uint32_t)s->command_gid,
        .same_user = s->weak_isolation,
        .limits = s->limits,
        .workspace_fd = workspace_root_fd(w->workspace, WORKSPACE_MAIN),
    };
    memcpy(w->commands.workspace, s->workspace, sizeof s->workspace);
    if (s->weak_isolation) // counted per user, and the user is not the commands' alone
        w->commands.limits.processes = 0;
    int fault = seccomp_program_new(SECCOMP_PROFILE_COMMAND, &w->seccomp, why);
    w->commands.seccomp = w->seccomp;
    return fault;
}

// As the user whose disk it counts against. Without it everything else works.
static void open_snapshots(struct worker *w)
{
    const struct worker_start *s = &w->options.start;
    struct failure why;
    int end_with_parent = 0;
    w->snapshots_fd = -1;
    if (s->read_only)
        return; // nothing changes that one could go back from
    prctl(PR_GET_PDEATHSIG, &end_with_parent, 0, 0, 0);
    if (!s->weak_isolation) {
        setfsgid((gid_t)s->command_gid);
        setfsuid((uid_t)s->command_uid);
    }
    w->snapshots_fd = pack_make(workspace_root_fd(w->workspace, WORKSPACE_MAIN), &why);
    setfsgid(getgid());
    setfsuid(getuid());
    prctl(PR_SET_PDEATHSIG, end_with_parent, 0, 0, 0); // changing the user took it back
    if (w->snapshots_fd < 0)
        LOG(LOG_WARN, "worker.no_snapshots", LOG_FAILURE(&why));
}

static void make_hands(struct worker *w)
{
    const struct worker_start *s = &w->options.start;
    const struct hand_pool_options hands = {
        .loop = w->loop,
        .reaper = w->reaper,
        .reads = w->reads,
        .task = {.workspace = w->workspace,
                 .snapshots_fd = w->snapshots_fd,
                 .exports = {.bytes = (uint64_t)s->exports.bytes,
                             .members = EXPORT_MEMBERS_MAX,
                             .types = s->exports.types},
                 .uid = (uid_t)s->command_uid,
                 .gid = (gid_t)s->command_gid,
                 .same_user = s->weak_isolation},
        .hands = HANDS_MAX,
        .waiting = WAITING_MAX,
    };
    w->hands = hand_pool_new(&hands);
    const struct shells_options shells = {w->loop, w->life, &w->commands, SHELL_AGE_MS};
    w->shells = shells_new(&shells);
    const struct calls_options calls = {
        .loop = w->loop,
        .hands = w->hands,
        .life = w->life,
        .command = {.loop = w->loop,
                    .who = &w->commands,
                    .output_limit = BASH_OUTPUT_BYTES,
                    .linger_ms = BASH_LINGER_MS},
        .shells = w->shells,
    };
    w->calls = calls_new(&calls);
}

static int open_link(struct worker *w, struct failure *why)
{
    const struct link_options link = {
        .loop = w->loop,
        .life = w->life,
        .calls = w->calls,
        .hands = w->hands,
        .reads = w->reads,
        .start = &w->options.start,
        .authorization = w->options.authorization,
        .address = w->options.address,
        .stand_alone = w->options.stand_alone,
        .end = on_link_end,
        .owner = w,
    };
    w->link = link_new(&link, why);
    return w->link != NULL ? 0 : why->fault;
}

static int start(struct worker *w, struct failure *why)
{
    spawn_guard(w->options.authorization, sizeof w->options.authorization);
    w->loop = loop_new(clock_system());
    timer_init(&w->drain, w->loop, on_drain_timer);
    w->reaper = reaper_new(w->loop, &reaper_ops, w, why);
    int fault = w->reaper != NULL ? open_folders(w, why) : why->fault;
    if (fault == 0)
        fault = give_up_rights(w, why);
    if (fault == 0)
        fault = prepare_commands(w, why);
    if (fault != 0)
        return fault;
    w->life = life_new(w->loop, w->options.start.orphan_ms, on_life_over, w);
    w->reads = reads_new(READS_MAX);
    open_snapshots(w);
    make_hands(w);
    return open_link(w, why);
}

static void announce(const struct worker *w)
{
    char address[ADDRESS_TEXT_SIZE];
    address_format(link_address(w->link), address);
    LOG(LOG_INFO, "worker.ready", LOG_STRING("sandbox", w->options.start.id),
        LOG_STRING("address", address), LOG_BOOL("weak_isolation", w->options.start.weak_isolation),
        LOG_BOOL("openat2", workspace_uses_openat2(w->workspace)));
    if (w->options.start.weak_isolation)
        LOG(LOG_WARN, "worker.weak_isolation",
            LOG_STRING("lost", "commands run as the worker's own user: they can end its helpers "
                               "and reach whatever it can reach"));
}

static void finish(struct worker *w)
{
    calls_free(w->calls);
    shells_free(w->shells);
    link_free(w->link);
    hand_pool_free(w->hands);
    reads_free(w->reads);
    life_free(w->life);
    seccomp_program_free(w->seccomp);
    if (w->snapshots_fd >= 0)
        close(w->snapshots_fd);
    workspace_close(w->workspace);
    reaper_free(w->reaper);
    timer_cancel(&w->drain);
    loop_free(w->loop);
    memory_wipe(w->options.authorization, sizeof w->options.authorization);
}

int main(int count, char **arguments)
{
    static struct worker w;
    struct failure why = {0};
    signals_block();
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    umask(022);
    log_open("wrist-worker", LOG_INFO, STDERR_FILENO);
    int fault = worker_options_read(count, arguments, &w.options, &why);
    if (fault > 0)
        return 0;
    if (fault == 0)
        fault = start(&w, &why);
    if (fault != 0) {
        LOG(LOG_ERROR, "worker.start", LOG_FAILURE(&why));
        return 1;
    }
    announce(&w);
    loop_run(w.loop);
    finish(&w);
    return 0;
}
