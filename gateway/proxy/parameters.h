// SPDX-License-Identifier: Apache-2.0
//
// Mcp-Param-*: arguments that a tool's schema marks with x-mcp-header, mirrored in the request's
// head (wire reference §3.5). Which are marked is read once from a list of tools.
#ifndef WRIST_GATEWAY_PROXY_PARAMETERS_H
#define WRIST_GATEWAY_PROXY_PARAMETERS_H

#include "gateway/lib/base/arena.h"
#include "gateway/lib/base/failure.h"
#include "gateway/lib/json/json.h"

struct exchange;
struct parameters;

struct parameters *parameters_new(struct span tools); // a JSON array; what is no annotation is none
void parameters_free(struct parameters *p);
// FAULT_INVALID: a header is missing, stands where it must not, or differs from its argument.
int parameters_check(const struct parameters *p, const struct exchange *ex, const struct json *doc,
                     struct span tool, int arguments, struct arena *arena, struct failure *why);

#endif
