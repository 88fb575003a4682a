// SPDX-License-Identifier: Apache-2.0
#include "gateway/config/config.h"

#include <stdlib.h>
#include <string.h>

#include "gateway/config/config_table.h"
#include "gateway/lib/base/memory.h"

static const char *const bind_words[] = {
#define X(name, text) text,
    BIND_MODE_TABLE(X)
#undef X
        NULL};
static const char *const on_loss_words[] = {
#define X(name, text) text,
    ON_LOSS_TABLE(X)
#undef X
        NULL};
static const char *const level_words[] = {"debug", "info", "warn", "error", NULL};

enum { MINUTE = 60 * 1000, HOUR = 60 * MINUTE, DAY = 24 * HOUR };
#define MIB ((int64_t)1024 * 1024)

static const struct key keys[] = {
    {"listen[]", KEYS_LIST(struct config, listen, listen_count, struct listen), .least = 1,
     .most = 16, .required = true, .help = "Where clients connect. HTTP/2 and HTTP/1.1 on each."},
    {"listen[].address", KEY_ADDRESS, KEY_AT(struct listen, address), .required = true,
     .help = "Address and port, or a unix socket."},
    {"listen[].tls", KEY_BOOL, KEY_AT(struct listen, tls), .fallback = "true",
     .help = "TLS 1.2 and later, with ALPN."},
    {"listen[].certificate", KEY_PATH, KEY_AT(struct listen, certificate),
     .help = "PEM file: the certificate chain, the leaf first. SIGHUP reads it again."},
    {"listen[].key", KEY_PATH, KEY_AT(struct listen, key), .help = "PEM file: its private key."},
    {"listen[].allow_cleartext", KEY_BOOL, KEY_AT(struct listen, allow_cleartext),
     .fallback = "false",
     .help = "With tls: false, listen beyond loopback all the same: behind a proxy that has TLS."},
    {"admin", KEY_ADDRESS, KEY_AT(struct config, admin_address), .fallback = "127.0.0.1:9443",
     .help = "The admin listener: /healthz, /readyz, /metrics, /pools. No token is asked for, so "
             "it may be "
             "loopback or a unix socket only."},
    {"driver", KEY_ADDRESS, KEY_AT(struct config, driver_socket),
     .fallback = "unix:/run/wrist/driver.sock", .help = "The socket of wrist-driver."},
    {"tokens", KEY_PATH, KEY_AT(struct config, tokens_file), .required = true,
     .help = "The tokens file; see wristctl token. SIGHUP reads it again."},
    {"state", KEY_PATH, KEY_AT(struct config, state_dir), .fallback = "/var/lib/wrist/gateway",
     .help = "Folder for the key ring and the list of sandboxes; the gateway's own, mode 0700."},
    {"fleet", KEY_STRING, KEY_AT(struct config, fleet),
     .help = "32 hexadecimal digits that mark sandboxes and keys as of one installation; the same "
             "in all replicas. Needed with a shared store, else made at the first start. To make "
             "some: openssl rand -hex 16"},
    {"keyring", KEY_PATH, KEY_AT(struct config, keyring),
     .help = "The file of keys that seal session ids and open links to sandboxes; the same in all "
             "replicas. Needed with a shared store, else made in the state folder. To make one: "
             "wristctl keyring new FILE"},
    {"store.url", KEY_STRING, KEY_AT(struct config, store.url), .fallback = "memory",
     .help = "memory, for one gateway process; or the Redis that replicas share, as "
             "redis://host:6379/0, rediss://host:6380/0 (TLS) or unix:///path?db=0."},
    {"store.sentinels", KEYS_STRINGS(struct config, store.sentinels, store.sentinel_count),
     .most = 16,
     .help = "host:port of each Sentinel; the url's host is then the name of the master."},
    {"store.cluster", KEY_BOOL, KEY_AT(struct config, store.cluster), .fallback = "false",
     .help = "The url names a node of a Cluster: MOVED and ASK are followed."},
    {"store.user", KEY_STRING, KEY_AT(struct config, store.user),
     .help = "The ACL user, where the url does not say it."},
    {"store.password_file", KEY_PATH, KEY_AT(struct config, store.password_file),
     .help = "The password, in the first line of a file that is read at each connecting."},
    {"store.ca", KEY_PATH, KEY_AT(struct config, store.ca),
     .help = "PEM file of the authorities that may vouch for the server; without it the system's."},
    {"store.connect_timeout", KEY_DURATION, KEY_AT(struct config, store.connect_ms), .least = 10,
     .most = MINUTE, .fallback = "1s", .help = "From looking for the address to the greeting."},
    {"store.command_timeout", KEY_DURATION, KEY_AT(struct config, store.command_ms), .least = 10,
     .most = MINUTE, .fallback = "300ms",
     .help = "A connection on which an answer takes longer is thrown away."},
    {"user", KEY_STRING, KEY_AT(struct config, user), .fallback = "nobody",
     .help = "Who the gateway becomes when it is started as root."},
    {"processes", KEY_INTEGER, KEY_AT(struct config, processes), .least = 1, .most = 256,
     .fallback = "1",
     .help = "Processes that share the ports, for more than one core; needs a shared store. Limits "
             "of connections are each one's own, and so is the admin listener: its port, or path, "
             "and 1, 2, ... for the further ones."},
    {"log_level", KEY_WORD, KEY_AT(struct config, log_level), .words = level_words,
     .fallback = "info", .help = "The least that is logged."},
    {"public_url", KEY_STRING, KEY_AT(struct config, public_url),
     .help = "What clients call the gateway, as https://host; without it, what each request "
             "called it."},
    {"allowed_origins", KEYS_STRINGS(struct config, allowed_origins, allowed_origin_count),
     .help = "Web origins that may call, as https://app.example. Requests without an Origin are "
             "not from a browser and need none."},
    {"allowed_hosts", KEYS_STRINGS(struct config, allowed_hosts, allowed_host_count),
     .help = "Host names that requests may name. On loopback listeners localhost, 127.0.0.1 and "
             "[::1] always may; on others an empty list means any."},
    {"default_profile", KEY_NAME, KEY_AT(struct config, default_profile), .required = true,
     .help = "The profile that /mcp means."},
    {"profiles.<name>", KEYS_MAP(struct config, profiles, profile_count, struct profile, name),
     .least = 1, .most = 64, .required = true,
     .help = "Kinds of sandboxes. What their containers are made of stands in the driver's "
             "configuration under the same name."},
    {"profiles.<name>.warm", KEY_INTEGER, KEY_AT(struct profile, warm), .most = 10000,
     .fallback = "1", .help = "Sandboxes kept ready."},
    {"profiles.<name>.warm_minimum", KEY_INTEGER, KEY_AT(struct profile, warm_minimum),
     .most = 10000, .fallback = "0",
     .help = "Of those, how many are started again without regard to refill_rate."},
    {"profiles.<name>.refill_rate", KEY_INTEGER, KEY_AT(struct profile, refill_rate), .least = 1,
     .most = 100000, .fallback = "1200",
     .help = "Warm sandboxes started a minute. What a request waits for is started at once."},
    {"profiles.<name>.warm_age", KEY_DURATION, KEY_AT(struct profile, warm_age_ms), .least = 1000,
     .most = (int64_t)30 * DAY, .fallback = "1h",
     .help = "A warm sandbox older than this is replaced, and never handed out."},
    {"profiles.<name>.maximum", KEY_INTEGER, KEY_AT(struct profile, maximum), .least = 1,
     .most = 100000, .fallback = "64", .help = "Sandboxes of this profile in all."},
    {"profiles.<name>.parallel_starts", KEY_INTEGER, KEY_AT(struct profile, parallel_starts),
     .least = 1, .most = 256, .fallback = "4", .help = "Sandboxes that may be starting at once."},
    {"profiles.<name>.idle", KEY_DURATION, KEY_AT(struct profile, idle_ms), .least = 1000,
     .most = (int64_t)30 * DAY, .fallback = "30min",
     .help = "A sandbox nobody used for so long is ended. Calls are use; held streams, pings and "
             "lists are not."},
    {"profiles.<name>.absolute", KEY_DURATION, KEY_AT(struct profile, absolute_ms), .least = 1000,
     .most = (int64_t)30 * DAY, .fallback = "8h",
     .help = "The longest life of a sandbox, used or not."},
    {"profiles.<name>.start_timeout", KEY_DURATION, KEY_AT(struct profile, start_timeout_ms),
     .least = 100, .most = HOUR, .fallback = "30s",
     .help = "How long a sandbox may take to start."},
    {"profiles.<name>.per_principal", KEY_INTEGER, KEY_AT(struct profile, per_principal),
     .least = 1, .most = 100000, .fallback = "16",
     .help = "Sandboxes of one principal; past it an idle one of its own is ended, else 429."},
    {"profiles.<name>.per_tenant", KEY_INTEGER, KEY_AT(struct profile, per_tenant), .most = 100000,
     .fallback = "0", .help = "Sandboxes of all principals of a tenant; 0: no limit."},
    {"profiles.<name>.starts_per_minute", KEY_INTEGER, KEY_AT(struct profile, starts_per_minute),
     .most = 100000, .fallback = "0",
     .help = "Sandboxes that a principal may begin to use a minute, and at once; past it 429 with "
             "the time to wait. 0: no limit."},
    {"profiles.<name>.tenant_starts_per_minute", KEY_INTEGER,
     KEY_AT(struct profile, tenant_starts_per_minute), .most = 100000, .fallback = "0",
     .help = "The same for all principals of a tenant."},
    {"profiles.<name>.volumes.per_principal", KEY_INTEGER, KEY_AT(struct profile, volumes),
     .most = 1000, .fallback = "0",
     .help = "Volumes, workspaces with a name that outlive their sandboxes, of one principal; past "
             "it 429. 0: none. The driver's profile must have volumes.size."},
    {"profiles.<name>.volumes.expiry", KEY_DURATION, KEY_AT(struct profile, volume_keep_ms),
     .least = 1000, .most = (int64_t)3650 * DAY, .fallback = "30d",
     .help = "A volume that no sandbox had for so long is deleted."},
    {"profiles.<name>.call_timeout", KEY_DURATION, KEY_AT(struct profile, call_timeout_ms),
     .least = 1000, .most = DAY, .fallback = "30min", .help = "The longest that one call may run."},
    {"profiles.<name>.bind", KEY_ENUM, KEY_AT(struct profile, bind), .words = bind_words,
     .fallback = "session",
     .help = "session: each session has its own sandbox. principal: all sessions of a principal "
             "share one, for hosts that open a session per turn."},
    {"profiles.<name>.on_loss", KEY_ENUM, KEY_AT(struct profile, on_loss), .words = on_loss_words,
     .fallback = "replace",
     .help = "When a sandbox is lost: replace tells the next call and gives the one after it a new "
             "sandbox; end ends the session."},
    {"profiles.<name>.provider", KEY_STRING, KEY_AT(struct profile, provider),
     .help = "The dialect of tool schemas for clients that name none."},
    {"profiles.<name>.rewrite_texts", KEY_BOOL, KEY_AT(struct profile, rewrite_texts),
     .fallback = "true",
     .help = "For providers that refuse the key $ref in results: rename it also in a text that is "
             "one JSON object or array."},
    {"schemas.by_client_name", KEY_BOOL, KEY_AT(struct config, by_client_name), .fallback = "true",
     .help = "Where nothing else names a provider, the name that a client gives itself does, if it "
             "is one of a few well-known ones."},
    {"limits.body", KEY_SIZE, KEY_AT(struct config, body_bytes), .least = 1024, .most = 1024 * MIB,
     .fallback = "4MiB", .help = "The largest MCP request."},
    {"limits.upload", KEY_SIZE, KEY_AT(struct config, upload_bytes), .least = 1024,
     .most = 1024 * 1024 * MIB, .fallback = "512MiB", .help = "The largest upload."},
    {"limits.download", KEY_SIZE, KEY_AT(struct config, download_bytes), .least = 1024,
     .most = 1024 * 1024 * MIB, .fallback = "1GiB", .help = "The longest download of an export."},
    {"limits.least_rate", KEY_INTEGER, KEY_AT(struct config, least_rate), .least = 0, .most = MIB,
     .fallback = "200",
     .help =
         "Bytes a second, over timeouts.body and timeouts.write, that a client must send or take "
         "while it has to; slower ones are ended. 0: a byte in that time is enough."},
    {"limits.head", KEY_SIZE, KEY_AT(struct config, head_bytes), .least = 8192, .most = MIB,
     .fallback = "64KiB", .help = "The largest request head."},
    {"limits.connections", KEY_INTEGER, KEY_AT(struct config, connections), .least = 1,
     .most = 1000000, .fallback = "16384", .help = "Connections in all."},
    {"limits.connections_per_address", KEY_INTEGER, KEY_AT(struct config, connections_per_address),
     .least = 1, .most = 1000000, .fallback = "4096", .help = "Connections of one client address."},
    {"limits.streams", KEY_INTEGER, KEY_AT(struct config, streams_per_connection), .least = 1,
     .most = 100000, .fallback = "256", .help = "Requests at once on one HTTP/2 connection."},
    {"timeouts.head", KEY_DURATION, KEY_AT(struct config, head_timeout_ms), .least = 100,
     .most = HOUR, .fallback = "10s", .help = "From the first byte of a request head to its last."},
    {"timeouts.body", KEY_DURATION, KEY_AT(struct config, body_timeout_ms), .least = 100,
     .most = HOUR, .fallback = "30s", .help = "For limits.least_rate of a body to come."},
    {"timeouts.idle", KEY_DURATION, KEY_AT(struct config, idle_timeout_ms), .least = 100,
     .most = DAY, .fallback = "75s", .help = "A connection between two requests."},
    {"timeouts.write", KEY_DURATION, KEY_AT(struct config, write_timeout_ms), .least = 100,
     .most = DAY, .fallback = "60s",
     .help = "For the client to take limits.least_rate of an answer that waits."},
    {"timeouts.drain", KEY_DURATION, KEY_AT(struct config, drain_ms), .least = 0, .most = DAY,
     .fallback = "30s", .help = "After SIGTERM, how long calls in flight may take to finish."},
    {"streams.keepalive", KEY_DURATION, KEY_AT(struct config, keepalive_ms), .least = 100,
     .most = 15000, .fallback = "15s", .help = "Between comments on an open event stream."},
    {"streams.commit", KEY_DURATION, KEY_AT(struct config, commit_ms), .least = 10, .most = 15000,
     .fallback = "2s", .help = "An answer that takes longer becomes an event stream."},
};

const struct key_table config_table = {
    .program = "wrist-gateway",
    .title = "The gateway: listeners, tokens, profiles, limits.",
    .keys = keys,
    .count = ARRAY_COUNT(keys),
    .settings_size = sizeof(struct config),
    .check = config_check,
};

int config_load(const char *file, struct config **out, struct failure *why)
{
    struct config *c = memory_new(sizeof *c);
    int rc = keys_load(&config_table, file, c, NULL, why);
    if (rc != 0) {
        free(c);
        return rc;
    }
    *out = c;
    return 0;
}

int config_parse(struct span yaml, const char *file, struct config **out, struct failure *why)
{
    struct config *c = memory_new(sizeof *c);
    int rc = keys_parse(&config_table, yaml, file, c, NULL, why);
    if (rc != 0) {
        free(c);
        return rc;
    }
    *out = c;
    return 0;
}

void config_free(struct config *c)
{
    if (c == NULL)
        return;
    keys_release(&config_table, c);
    free(c);
}

bool config_store_is_shared(const struct config *c)
{
    return strcmp(c->store.url, "memory") != 0;
}

const struct profile *config_profile(const struct config *c, const char *name)
{
    for (size_t i = 0; i < c->profile_count; i++)
        if (strcmp(c->profiles[i].name, name) == 0)
            return &c->profiles[i];
    return NULL;
}

bool volume_name_is_valid(struct span name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789._-";
    if (name.size == 0 || name.size >= VOLUME_NAME_SIZE || strchr("._-", name.data[0]) != NULL)
        return false;
    for (size_t i = 0; i < name.size; i++)
        if (memchr(letters, name.data[i], sizeof letters - 1) == NULL)
            return false;
    return true;
}
