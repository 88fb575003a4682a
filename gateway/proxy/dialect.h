// SPDX-License-Identifier: Apache-2.0
//
// Which provider's dialect of tool schemas a client gets.
#ifndef WRIST_GATEWAY_PROXY_DIALECT_H
#define WRIST_GATEWAY_PROXY_DIALECT_H

#include "gateway/lib/json/json.h"
#include "schemas/provider.h"

// What may name a provider, the strongest first. Each may be absent or empty; "none" says that the
// tools stay as they are.
struct dialect_sources {
    struct span query; // the request's, in which provider= is looked for
    struct span header, token, profile, client;
};

// *out is NULL where the tools stay as they are. FAULT_INVALID for a provider that is not known;
// the text lists those that are.
int dialect_choose(const struct dialect_sources *sources, const struct provider **out,
                   struct failure *why);

// By the name that a client gives itself in its clientInfo; NULL where the table has none.
const struct provider *dialect_of_client(const struct json *doc, int client_info);

#endif
