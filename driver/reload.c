// SPDX-License-Identifier: Apache-2.0
#include "driver/reload.h"

#include <string.h>

#include "driver/revision.h"
#include "gateway/lib/telemetry/log.h"

static bool revise(struct driver_profile *old, size_t index, const struct driver_profile *fresh,
                   struct engine *engine)
{
    struct failure why;
    char before[REVISION_SIZE], after[REVISION_SIZE];
    profile_revision(old, engine->ops->digest(engine->self, index), before);
    if (engine->ops->revise(engine->self, index, fresh, &why) != 0) {
        LOG(LOG_ERROR, "profile.kept", LOG_STRING("profile", old->name), LOG_FAILURE(&why));
        return false;
    }
    *old = *fresh;
    profile_revision(old, engine->ops->digest(engine->self, index), after);
    return strcmp(before, after) != 0;
}

size_t profiles_reload(struct driver_config *config, const char *file, struct engine *engine)
{
    struct driver_config fresh;
    struct failure why;
    size_t changed = 0;
    if (driver_config_load(file, &fresh, NULL, &why) != 0) {
        LOG(LOG_ERROR, "profiles.kept", LOG_FAILURE(&why));
        return 0;
    }
    for (size_t i = 0; i < config->profile_count; i++) {
        struct driver_profile *old = &config->profiles[i];
        const struct driver_profile *now = driver_config_profile(&fresh, old->name);
        if (now != NULL)
            changed += revise(old, i, now, engine);
        else
            LOG(LOG_WARN, "profile.kept", LOG_STRING("profile", old->name),
                LOG_STRING("error", "it stands in the file no more; that needs a restart"));
    }
    driver_config_fini(&fresh);
    LOG(LOG_INFO, "profiles.reloaded", LOG_I64("changed", (int64_t)changed));
    return changed;
}
