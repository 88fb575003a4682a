// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <string.h>

#include "gateway/config/config.h"
#include "gateway/config/config_table.h"
#include "gateway/lib/base/encode.h"
#include "gateway/lib/base/random.h"
#include "gateway/lib/net/address.h"
#include "gateway/lib/redis/redis.h"

// The place of a listener's key, for messages.
struct place {
    char path[160];
};

static const char *place_of(struct place *place, size_t index, const char *key)
{
    snprintf(place->path, sizeof place->path, "listen[%zu].%s", index, key);
    return place->path;
}

static int check_listener(const struct listen *l, size_t index, const struct key_source *source,
                          struct failure *why)
{
    struct place place;
    struct address address;
    int rc = address_parse(span_from_string(l->address), &address, why);
    if (rc != 0)
        return key_source_refuse(source, why, place_of(&place, index, "address"),
                                 "expected an address like 127.0.0.1:8443, got %s", l->address);
    if (l->tls && l->certificate[0] == '\0')
        return key_source_refuse(source, why, place_of(&place, index, "certificate"),
                                 "expected a PEM file, since tls is true; got nothing");
    if (l->tls && l->key[0] == '\0')
        return key_source_refuse(source, why, place_of(&place, index, "key"),
                                 "expected a PEM file, since tls is true; got nothing");
    if (!l->tls && !l->allow_cleartext && address.inherited_fd < 0 &&
        !address_is_loopback(&address))
        return key_source_refuse(source, why, place_of(&place, index, "tls"),
                                 "expected true, since %s is not loopback; allow_cleartext: true "
                                 "says that a proxy with TLS stands in front",
                                 l->address);
    return 0;
}

static int check_listeners(const struct config *c, const struct key_source *source,
                           struct failure *why)
{
    for (size_t i = 0; i < c->listen_count; i++) {
        int rc = check_listener(&c->listen[i], i, source, why);
        if (rc != 0)
            return rc;
        for (size_t j = 0; j < i; j++) {
            struct place place;
            if (strcmp(c->listen[i].address, c->listen[j].address) == 0)
                return key_source_refuse(source, why, place_of(&place, i, "address"),
                                         "expected another address, got %s a second time",
                                         c->listen[i].address);
        }
    }
    return 0;
}

static int check_profile(const struct profile *p, const struct key_source *source,
                         struct failure *why)
{
    char path[160];
    if (p->warm > p->maximum) {
        snprintf(path, sizeof path, "profiles.%s.warm", p->name);
        return key_source_refuse(source, why, path, "expected at most maximum (%lld), got %lld",
                                 (long long)p->maximum, (long long)p->warm);
    }
    if (p->warm_minimum > p->warm) {
        snprintf(path, sizeof path, "profiles.%s.warm_minimum", p->name);
        return key_source_refuse(source, why, path, "expected at most warm (%lld), got %lld",
                                 (long long)p->warm, (long long)p->warm_minimum);
    }
    if (p->idle_ms > p->absolute_ms) {
        snprintf(path, sizeof path, "profiles.%s.idle", p->name);
        return key_source_refuse(
            source, why, path, "expected at most the absolute life, %lld s, got %lld s",
            (long long)(p->absolute_ms / 1000), (long long)(p->idle_ms / 1000));
    }
    return 0;
}

static int check_admin(const struct config *c, const struct key_source *source, struct failure *why)
{
    struct address address;
    if (address_parse(span_from_string(c->admin_address), &address, NULL) == 0 &&
        (address.inherited_fd >= 0 || address_is_loopback(&address)))
        return 0;
    return key_source_refuse(source, why, "admin",
                             "expected loopback or a unix socket, since no token is asked for "
                             "there; got %s",
                             c->admin_address);
}

static int check_fleet(const struct config *c, const struct key_source *source, struct failure *why)
{
    char id[ID_SIZE / 2];
    if (c->fleet[0] == '\0')
        return 0;
    return hex_decode(span_from_string(c->fleet), id, sizeof id)
               ? 0
               : key_source_refuse(source, why, "fleet",
                                   "expected 32 hexadecimal digits (openssl rand -hex 16), got %s",
                                   c->fleet);
}

static int check_store(const struct config *c, const struct key_source *source, struct failure *why)
{
    struct redis_url url;
    struct redis_place place;
    struct failure wrong;
    if (!config_store_is_shared(c) && c->processes > 1)
        return key_source_refuse(source, why, "processes",
                                 "expected 1, since what store.url: memory keeps is one process's "
                                 "own; a Redis serves several");
    if (!config_store_is_shared(c))
        return 0;
    if (redis_url_parse(span_from_string(c->store.url), &url, &wrong) != 0)
        return key_source_refuse(source, why, "store.url", "%s, or memory", wrong.text);
    for (size_t i = 0; i < c->store.sentinel_count; i++)
        if (redis_place_parse(span_from_string(c->store.sentinels[i]), 26379, &place, &wrong) != 0)
            return key_source_refuse(source, why, "store.sentinels", "%s, got %s", wrong.text,
                                     c->store.sentinels[i]);
    if (c->store.cluster && (url.database != 0 || c->store.sentinel_count > 0))
        return key_source_refuse(source, why, "store.cluster",
                                 "expected neither a database number nor Sentinels with a Cluster");
    if (c->fleet[0] == '\0')
        return key_source_refuse(source, why, "fleet",
                                 "expected 32 hexadecimal digits that all replicas share "
                                 "(openssl rand -hex 16), since the store is shared; got nothing");
    if (c->keyring[0] == '\0')
        return key_source_refuse(source, why, "keyring",
                                 "expected a file that all replicas share (wristctl keyring new "
                                 "FILE), since the store is shared; got nothing");
    return 0;
}

int config_check(const void *settings, const struct key_source *source, struct failure *why)
{
    const struct config *c = settings;
    int rc = check_listeners(c, source, why);
    if (rc == 0)
        rc = check_admin(c, source, why);
    if (rc == 0)
        rc = check_fleet(c, source, why);
    if (rc == 0)
        rc = check_store(c, source, why);
    for (size_t i = 0; rc == 0 && i < c->profile_count; i++)
        rc = check_profile(&c->profiles[i], source, why);
    if (rc == 0 && config_profile(c, c->default_profile) == NULL)
        rc = key_source_refuse(source, why, "default_profile",
                               "expected one of the profiles, got %s", c->default_profile);
    if (rc == 0 && c->public_url[0] != '\0' && strncmp(c->public_url, "https://", 8) != 0 &&
        strncmp(c->public_url, "http://", 7) != 0)
        rc = key_source_refuse(source, why, "public_url", "expected https://host, got %s",
                               c->public_url);
    return rc;
}
