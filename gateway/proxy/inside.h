// SPDX-License-Identifier: Apache-2.0
// What the files of this folder share; nobody else includes it.
#ifndef WRIST_GATEWAY_PROXY_INSIDE_H
#define WRIST_GATEWAY_PROXY_INSIDE_H

#include "gateway/lib/base/list.h"
#include "gateway/lib/telemetry/log.h"
#include "gateway/proxy/meters.h"
#include "gateway/proxy/notice.h"
#include "gateway/proxy/opened.h"
#include "gateway/proxy/proxy.h"
#include "gateway/proxy/sessions.h"
#include "gateway/proxy/tool_lists.h"
#include "gateway/proxy/visit.h"

enum { ROUTE_TABLES = 4 };

struct proxy {
    struct loop *loop; // borrowed, as the next four
    const struct config *config;
    const struct keyring *keyring;
    struct binder *binder;
    struct authenticator auth;
    struct meters *meters;       // owned
    struct opened *opened;       // owned
    struct sessions *sessions;   // owned
    struct tool_lists *tools;    // owned
    struct list posts;           // that have not ended, also those whose clients left
    struct notices *notices;     // owned
    bool is_ending;              // streams are no longer held
    struct log_budget strangers; // audit lines of requests without a principal
    struct list listeners;       // owned
    struct {
        const struct route *rows; // borrowed
        size_t count;
    } routes[ROUTE_TABLES];
    size_t route_tables;
};

struct proxy_listener {
    struct list node;
    struct proxy *proxy;
    bool loopback;
};

#endif
