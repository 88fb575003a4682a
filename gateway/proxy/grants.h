// SPDX-License-Identifier: Apache-2.0
//
// A sandbox's owner lets another principal of the same issuer use it: POST {subject, tenant} gives
// that principal a handle of its own, which nobody else can open; DELETE takes it back.
#ifndef WRIST_GATEWAY_PROXY_GRANTS_H
#define WRIST_GATEWAY_PROXY_GRANTS_H

struct visit;

void grants_make(struct visit *v);
void grants_take_back(struct visit *v);

#endif
