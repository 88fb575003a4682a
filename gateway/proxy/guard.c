// SPDX-License-Identifier: Apache-2.0
#include "gateway/proxy/guard.h"

#include "gateway/lib/base/memory.h"

// "[::1]:80" → "[::1]", "host:80" → "host"
static struct span host_without_port(struct span authority)
{
    if (authority.size > 0 && authority.data[0] == '[') {
        for (size_t i = 0; i < authority.size; i++) {
            if (authority.data[i] == ']')
                return span_slice(authority, 0, i + 1);
        }
        return authority;
    }
    return span_split(&authority, ':');
}

static bool is_loopback_name(struct span host)
{
    static const char *const names[] = {"localhost", "127.0.0.1", "[::1]"};
    for (size_t i = 0; i < ARRAY_COUNT(names); i++) {
        if (span_equals_nocase(host, span_from_string(names[i])))
            return true;
    }
    return false;
}

// What follows "https://" or "http://"; absent for anything else.
static struct span origin_authority(struct span origin)
{
    struct span secure = SPAN_LITERAL("https://"), plain = SPAN_LITERAL("http://");
    struct span prefix = span_starts_with(origin, secure) ? secure : plain;
    if (!span_starts_with(origin, prefix))
        return SPAN_NONE;
    struct span rest = span_slice(origin, prefix.size, origin.size);
    return span_split(&rest, '/');
}

static bool is_public_origin(const struct config *config, struct span origin)
{
    struct span url = span_from_string(config->public_url);
    struct span authority = origin_authority(url);
    if (authority.size == 0)
        return false;
    return span_equals_nocase(
        origin, span_of(url.data, (size_t)(authority.data - url.data) + authority.size));
}

static bool is_allowed_origin(const struct config *config, bool loopback, struct span origin)
{
    for (size_t i = 0; i < config->allowed_origin_count; i++) {
        if (span_equals_nocase(origin, span_from_string(config->allowed_origins[i])))
            return true;
    }
    struct span host = host_without_port(origin_authority(origin));
    return is_public_origin(config, origin) || (loopback && is_loopback_name(host));
}

static bool is_allowed_host(const struct config *config, bool loopback, struct span authority)
{
    struct span host = host_without_port(authority);
    if (loopback && is_loopback_name(host))
        return true;
    for (size_t i = 0; i < config->allowed_host_count; i++) {
        struct span allowed = span_from_string(config->allowed_hosts[i]);
        if (span_equals_nocase(host, allowed) || span_equals_nocase(authority, allowed))
            return true;
    }
    struct span ours = host_without_port(origin_authority(span_from_string(config->public_url)));
    if (ours.size > 0 && span_equals_nocase(host, ours))
        return true;
    return !loopback && config->allowed_host_count == 0;
}

int guard_check(const struct config *config, bool loopback_listener, const struct exchange *ex,
                struct failure *why)
{
    if (!is_allowed_host(config, loopback_listener, exchange_authority(ex)))
        return failure_set(why, FAULT_DENIED, "this host name is not served here");
    struct span origin = exchange_header(ex, "origin");
    if (!span_is_absent(origin) && !is_allowed_origin(config, loopback_listener, origin))
        return failure_set(why, FAULT_DENIED, "requests from this origin are not allowed");
    return 0;
}

int guard_check_repeats(const struct exchange *ex, struct failure *why)
{
    static const char *const once[] = {
        "mcp-session-id", "mcp-protocol-version", "mcp-method",       "mcp-name", "authorization",
        "origin",         "content-type",         "x-wrist-provider",
    };
    for (size_t i = 0; i < ARRAY_COUNT(once); i++) {
        if (exchange_header_repeats(ex, once[i]) > 1)
            return failure_set(why, FAULT_REQUEST, "the header %s stands twice", once[i]);
    }
    return 0;
}

struct span guard_requested_headers(const struct exchange *ex)
{
    struct span list = exchange_header(ex, "access-control-request-headers");
    if (list.size > 1024)
        return SPAN_NONE;
    for (size_t i = 0; i < list.size; i++) {
        char c = list.data[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!letter && c != '-' && c != '_' && c != ',' && c != ' ')
            return SPAN_NONE;
    }
    return list;
}
