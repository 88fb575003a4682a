// SPDX-License-Identifier: Apache-2.0
//
// The HTTP face of the driver (gateway/lib/control/README.md): a unix socket on which only the
// allowed users' processes are heard, told by the kernel.
#ifndef WRIST_DRIVER_API_H
#define WRIST_DRIVER_API_H

#include "driver/config.h"
#include "driver/engine.h"
#include "gateway/lib/control/driver_api.h"

struct api;
struct loop;
struct sandboxes;
struct volumes;

// Resolves the allowed users. Sandboxes and volumes are set before the first turn.
int api_new(struct loop *loop, const struct driver_config *config, const struct engine *engine,
            struct api **out, struct failure *why);
void api_set_sandboxes(struct api *api, struct sandboxes *sandboxes, struct volumes *volumes);
int api_listen(struct api *api, struct failure *why);
void api_drain(struct api *api); // no new connections, no new requests
void api_free(struct api *api);
// Pass the news on to GET /v1/events; `api` as void for struct sandboxes_options.
void api_profiles_changed(struct api *api);
void api_volume_expired(void *api, const struct driver_volume *volume);
void api_exited(void *api, const struct driver_record *record, const char *reason);

#endif
