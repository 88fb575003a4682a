// SPDX-License-Identifier: Apache-2.0
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "driver/api.h"
#include "driver/files.h"
#include "driver/oci/oci.h"
#include "driver/reload.h"
#include "driver/sandboxes.h"
#include "driver/volumes.h"
#include "gateway/lib/config/command_line.h"
#include "gateway/lib/loop/loop.h"
#include "gateway/lib/loop/timer.h"
#include "gateway/lib/telemetry/log.h"

enum { DRAIN_LOOK_MS = 20 };

struct driver {
    struct driver_config config;
    const char *config_file;
    struct loop *loop;
    struct journal *journal;
    struct engine engine;
    struct jobs *jobs;
    struct volumes *volumes;
    struct sandboxes *sandboxes;
    struct api *api;
    struct timer drain;
    int64_t drain_until_ms;
};

static int fail(const struct failure *why)
{
    LOG(LOG_ERROR, "start", LOG_FAILURE(why));
    return EXIT_FAILURE;
}

// Creations under way may end; containers run on, the next driver adopts them.
static void on_drain(struct timer *timer)
{
    struct driver *d = CONTAINER_OF(timer, struct driver, drain);
    bool busy = jobs_running(d->jobs) + jobs_waiting(d->jobs) > 0;
    if (busy && loop_now_ms(d->loop) < d->drain_until_ms)
        timer_start(timer, DRAIN_LOOK_MS);
    else
        loop_stop(d->loop);
}

static void on_signal(void *owner, int signal_number)
{
    struct driver *d = owner;
    if (d->drain_until_ms != 0)
        return;
    LOG(LOG_INFO, "stopping", LOG_I64("signal", signal_number));
    d->drain_until_ms = loop_now_ms(d->loop) + d->config.grace_ms;
    api_drain(d->api);
    timer_start(&d->drain, 0);
}

static void on_hangup(void *owner, int signal_number)
{
    struct driver *d = owner;
    (void)signal_number;
    if (profiles_reload(&d->config, d->config_file, &d->engine) > 0)
        api_profiles_changed(d->api);
}

static int make_run_dir(const struct driver *d, struct failure *why)
{
    return directory_make_all(d->config.run_dir, 0711, why);
}

static int open_parts(struct driver *d, struct failure *why)
{
    int fault = make_run_dir(d, why);
    if (fault == 0)
        fault = journal_open(d->config.state_dir, &d->journal, why);
    if (fault == 0)
        fault = oci_open(&d->config, journal_installation(d->journal), &d->engine, why);
    if (fault == 0)
        fault = api_new(d->loop, &d->config, &d->engine, &d->api, why);
    if (fault != 0)
        return fault;
    d->jobs = jobs_new(d->loop, (size_t)d->config.parallel_jobs, (size_t)d->config.waiting_jobs);
    fault = volumes_open(&(struct volumes_options){.loop = d->loop,
                                                   .config = &d->config,
                                                   .engine = &d->engine,
                                                   .jobs = d->jobs,
                                                   .expired = api_volume_expired,
                                                   .owner = d->api},
                         &d->volumes, why);
    if (fault != 0)
        return fault;
    d->sandboxes = sandboxes_new(&(struct sandboxes_options){
        .loop = d->loop,
        .config = &d->config,
        .engine = &d->engine,
        .journal = d->journal,
        .jobs = d->jobs,
        .volumes = d->volumes,
        .exited = api_exited,
        .owner = d->api,
    });
    api_set_sandboxes(d->api, d->sandboxes, d->volumes);
    return sandboxes_recover(d->sandboxes, why);
}

static int run(struct driver *d)
{
    struct failure why = {0};
    d->loop = loop_new(clock_system());
    timer_init(&d->drain, d->loop, on_drain);
    // Containers' first processes come to us when their runtime is done, so that their end is told
    // with its status.
    if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0)
        return EXIT_FAILURE;
    if (open_parts(d, &why) != 0 || api_listen(d->api, &why) != 0 ||
        loop_on_signal(d->loop, SIGHUP, on_hangup, d, &why) != 0 ||
        loop_on_signal(d->loop, SIGTERM, on_signal, d, &why) != 0 ||
        loop_on_signal(d->loop, SIGINT, on_signal, d, &why) != 0)
        return fail(&why);
    LOG(LOG_INFO, "ready", LOG_STRING("listen", d->config.listen),
        LOG_I64("sandboxes", (int64_t)sandboxes_count(d->sandboxes)));
    loop_run(d->loop);
    jobs_free(d->jobs);
    sandboxes_free(d->sandboxes);
    volumes_free(d->volumes);
    api_free(d->api);
    d->engine.ops->free(d->engine.self);
    journal_close(d->journal);
    loop_free(d->loop);
    return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    struct driver d = {0};
    const struct sigaction ignore = {.sa_handler = SIG_IGN};
    sigaction(SIGPIPE, &ignore, NULL);
    const struct command_line line = {
        .table = &driver_config_table,
        .version = WRIST_VERSION,
        .signals = "SIGHUP reads the profiles again; SIGTERM stops it once creations under way are "
                   "done; sandboxes run on.",
    };
    struct failure why;
    const char *file;
    int result;
    if (command_line_take(&line, argc, argv, &file, &result))
        return result;
    log_open("wrist-driver", LOG_INFO, STDERR_FILENO);
    if (driver_config_load(file, &d.config, NULL, &why) != 0) {
        LOG(LOG_ERROR, "start", LOG_FAILURE(&why));
        return EXIT_FAILURE;
    }
    log_open("wrist-driver", log_level_find(d.config.log_level), STDERR_FILENO);
    d.config_file = file;
    result = run(&d);
    driver_config_fini(&d.config);
    return result;
}
