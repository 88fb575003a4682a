// SPDX-License-Identifier: Apache-2.0
//
// The gateway's configuration: one snapshot, immutable once loaded. Every key stands in one table
// (config.c), which also gives --help, the documentation page, the dump and the JSON Schema.
#ifndef WRIST_GATEWAY_CONFIG_CONFIG_H
#define WRIST_GATEWAY_CONFIG_CONFIG_H

#include <stdbool.h>

#include "gateway/lib/base/failure.h"
#include "gateway/lib/config/keys.h"
#include "gateway/lib/control/driver_api.h"

#define BIND_MODE_TABLE(X)                                                                         \
    X(SESSION, "session")     /* each legacy session its own sandbox */                            \
    X(PRINCIPAL, "principal") /* one for all sessions of a principal on this profile */
#define ON_LOSS_TABLE(X)                                                                           \
    X(REPLACE, "replace") /* the next call is told, the one after runs in a new sandbox */         \
    X(END, "end")         /* the session is over: 404 */
enum bind_mode {
#define X(name, text) BIND_MODE_##name,
    BIND_MODE_TABLE(X)
#undef X
};
enum on_loss {
#define X(name, text) ON_LOSS_##name,
    ON_LOSS_TABLE(X)
#undef X
};

enum { VOLUME_NAME_SIZE = 49 }; // [a-z0-9][a-z0-9._-]*
bool volume_name_is_valid(struct span name);

// The gateway's half of a profile; what the container is made of is the driver's half.
struct profile {
    char name[PROFILE_NAME_SIZE];
    int64_t warm;         // sandboxes kept ready
    int64_t warm_minimum; // of those, kept whatever the refill rate says
    int64_t refill_rate;  // starts a minute that nobody waits for
    int64_t warm_age_ms;  // an older one is replaced, and never handed out
    int64_t maximum;      // sandboxes of this profile in all
    int64_t parallel_starts;
    int64_t idle_ms, absolute_ms;
    int64_t start_timeout_ms;
    int64_t per_principal;                               // sandboxes of one principal
    int64_t per_tenant;                                  // of one tenant; 0: no limit
    int64_t starts_per_minute, tenant_starts_per_minute; // 0: no limit
    int64_t volumes;         // of one principal; 0: this profile has none
    int64_t volume_keep_ms;  // unused for so long, it is deleted
    int64_t call_timeout_ms; // longest tools/call
    int bind;                // enum bind_mode
    int on_loss;             // enum on_loss
    char provider[32];       // schema dialect, "" for none
    bool rewrite_texts;      // results in texts are made safe for the provider too
};

struct listen {
    char address[ENDPOINT_SIZE]; // as gateway/lib/net/address.h
    bool tls;
    char certificate[256], key[256]; // PEM files
    bool allow_cleartext;            // beyond loopback
};

struct store_settings {
    char url[512];    // "memory", or where Redis is: gateway/lib/redis/redis.h
    char **sentinels; // owned; then the url's host is the name of the master
    size_t sentinel_count;
    bool cluster;
    char user[128], password_file[256];
    char ca[256]; // PEM file, "" for the system's
    int64_t connect_ms, command_ms;
};

struct config {
    struct listen *listen; // owned
    size_t listen_count;
    char admin_address[ENDPOINT_SIZE];
    char driver_socket[ENDPOINT_SIZE]; // an address, "unix:/…"
    char tokens_file[256];
    char state_dir[256];
    char fleet[40];    // the mark of what is ours, where replicas share a store; "" for our own
    char keyring[256]; // a file that replicas share; "" for our own in state_dir
    struct store_settings store;
    char user[64]; // to run as when started as root
    char log_level[8];
    int64_t processes;
    char public_url[256];   // what clients call us, "" to take the request's authority
    char **allowed_origins; // owned
    size_t allowed_origin_count;
    char **allowed_hosts; // owned; loopback names are always allowed on loopback listeners
    size_t allowed_host_count;
    char default_profile[PROFILE_NAME_SIZE]; // what /mcp means
    struct profile *profiles;                // owned
    size_t profile_count;
    int64_t body_bytes; // of an MCP request
    int64_t upload_bytes, download_bytes;
    int64_t least_rate; // bytes a second
    int64_t head_bytes;
    int64_t connections, connections_per_address, streams_per_connection;
    int64_t head_timeout_ms, body_timeout_ms, idle_timeout_ms, write_timeout_ms;
    int64_t drain_ms;     // grace period of SIGTERM
    int64_t keepalive_ms; // between SSE comments
    bool by_client_name;  // a client's own name may tell its provider
    int64_t commit_ms;    // when an answer turns into an SSE stream
};

// On failure *why says file, line, key and what was expected, and nothing is left to free.
int config_load(const char *file, struct config **out, struct failure *why);
// The same from memory; `file` is for messages.
int config_parse(struct span yaml, const char *file, struct config **out, struct failure *why);
void config_free(struct config *c);
bool config_store_is_shared(const struct config *c); // not in this process' memory
const struct profile *config_profile(const struct config *c, const char *name);

// Every key; also the source of --help, CONFIG.md and the JSON Schema.
extern const struct key_table config_table;

#endif
