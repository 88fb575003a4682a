// SPDX-License-Identifier: Apache-2.0
// /v1/volumes: what a principal keeps beyond its sandboxes. Rows of the routes in sandboxes.c.
#ifndef WRIST_GATEWAY_PROXY_VOLUMES_H
#define WRIST_GATEWAY_PROXY_VOLUMES_H

struct visit;

void volumes_list(struct visit *v);
void volumes_delete(struct visit *v);

#endif
