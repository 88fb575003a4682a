// SPDX-License-Identifier: Apache-2.0
#include "workers/tools/snapshot.h"

#include "workers/snapshots/snapshots.h"

static int go_on(void *ctx, struct failure *why)
{
    return tool_env_check(ctx, why);
}

static struct snapshots snapshots_of(const struct tool_env *env)
{
    return (struct snapshots){.workspace = env->workspace,
                              .pack_fd = env->snapshots_fd,
                              .clock = env->clock,
                              .go_on = go_on,
                              .ctx = (void *)(uintptr_t)env};
}

int snapshot_create_run(const struct tool_env *env, const struct arguments *args,
                        struct tool_result *out, struct failure *why)
{
    struct snapshots s = snapshots_of(env);
    return snapshots_create(&s, argument_text(args, "name"), argument_text(args, "description"),
                            argument_boolean(args, "replace"), &out->text, why);
}

int snapshot_list_run(const struct tool_env *env, const struct arguments *args,
                      struct tool_result *out, struct failure *why)
{
    struct snapshots s = snapshots_of(env);
    (void)args;
    return snapshots_list(&s, &out->text, why);
}

int snapshot_restore_run(const struct tool_env *env, const struct arguments *args,
                         struct tool_result *out, struct failure *why)
{
    struct snapshots s = snapshots_of(env);
    return snapshots_restore(&s, argument_text(args, "name"),
                             argument_boolean(args, "keep_current"), &out->text, why);
}

int snapshot_diff_run(const struct tool_env *env, const struct arguments *args,
                      struct tool_result *out, struct failure *why)
{
    struct snapshots s = snapshots_of(env);
    return snapshots_diff(&s, argument_text(args, "name"), argument_text(args, "to"),
                          argument_boolean(args, "names_only"), &out->text, why);
}
