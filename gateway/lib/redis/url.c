// SPDX-License-Identifier: Apache-2.0
// Where a Redis is, as text.
#include <stdio.h>

#include "gateway/lib/redis/redis.h"

static int refuse(struct failure *why, const char *expected)
{
    return failure_set(why, FAULT_INVALID, "expected %s", expected);
}

int redis_place_parse(struct span text, uint16_t port, struct redis_place *out, struct failure *why)
{
    static const char expected[] = "host:port, [::1]:port or unix:/path";
    *out = (struct redis_place){.port = port};
    if (span_starts_with(text, SPAN_LITERAL("unix:/")))
        return span_copy_string(text, out->host, sizeof out->host) ? 0 : refuse(why, expected);
    struct span host = text, number = SPAN_NONE;
    size_t colon = text.size;
    while (colon > 0 && text.data[colon - 1] != ':' && text.data[colon - 1] != ']')
        colon--;
    if (colon > 0 && text.data[colon - 1] == ':') {
        host = span_slice(text, 0, colon - 1);
        number = span_slice(text, colon, text.size);
    }
    if (host.size >= 2 && host.data[0] == '[' && host.data[host.size - 1] == ']')
        host = span_slice(host, 1, host.size - 1);
    uint64_t value = port;
    if (!span_is_absent(number) && (!span_to_u64(number, &value) || value == 0))
        return refuse(why, expected);
    if (host.size == 0 || value > UINT16_MAX ||
        !span_copy_string(host, out->host, sizeof out->host))
        return refuse(why, expected);
    out->port = (uint16_t)value;
    return 0;
}

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

// %-escapes undone.
static bool unescape(struct span text, char *out, size_t size)
{
    size_t at = 0;
    for (size_t i = 0; i < text.size; i++) {
        char c = text.data[i];
        if (c == '%') {
            int high = i + 2 < text.size ? hex_value(text.data[i + 1]) : -1;
            int low = i + 2 < text.size ? hex_value(text.data[i + 2]) : -1;
            if (high < 0 || low < 0 || high * 16 + low == 0)
                return false;
            c = (char)(high * 16 + low);
            i += 2;
        }
        if (at + 1 >= size)
            return false;
        out[at++] = c;
    }
    out[at] = '\0';
    return true;
}

static int take_credentials(struct span text, struct redis_url *out, struct failure *why)
{
    struct span rest = text;
    struct span user = span_split(&rest, ':');
    bool fits = unescape(user, out->user, sizeof out->user) &&
                (span_is_absent(rest) || unescape(rest, out->password, sizeof out->password));
    return fits ? 0 : refuse(why, "user:password@ with %-escapes");
}

static int take_database(struct span text, struct redis_url *out, struct failure *why)
{
    uint64_t number = 0;
    if (text.size > 0 && (!span_to_u64(text, &number) || number > 65535))
        return refuse(why, "a database number");
    out->database = (int)number;
    return 0;
}

static int parse_unix(struct span text, struct redis_url *out, struct failure *why)
{
    struct span rest = text;
    struct span path = span_split(&rest, '?');
    char place[REDIS_HOST_SIZE];
    int rc = 0;
    if (span_starts_with(rest, SPAN_LITERAL("db=")))
        rc = take_database(span_slice(rest, 3, rest.size), out, why);
    else if (!span_is_absent(rest))
        rc = refuse(why, "unix:///path?db=0");
    if (path.size == 0 || path.size > sizeof place - 8 || path.data[0] != '/')
        return refuse(why, "unix:///path");
    snprintf(place, sizeof place, "unix:%.*s", SPAN_ARGS(path));
    return rc != 0 ? rc : redis_place_parse(span_from_string(place), 0, &out->place, why);
}

int redis_url_parse(struct span text, struct redis_url *out, struct failure *why)
{
    static const char expected[] = "redis://host:port/db, rediss://host:port/db or unix:///path";
    *out = (struct redis_url){0};
    if (span_starts_with(text, SPAN_LITERAL("unix://")))
        return parse_unix(span_slice(text, 7, text.size), out, why);
    out->tls = span_starts_with(text, SPAN_LITERAL("rediss://"));
    if (!out->tls && !span_starts_with(text, SPAN_LITERAL("redis://")))
        return refuse(why, expected);
    struct span database = span_slice(text, out->tls ? 9 : 8, text.size);
    struct span authority = span_split(&database, '/');
    size_t at = authority.size;
    while (at > 0 && authority.data[at - 1] != '@')
        at--;
    int rc = 0;
    if (at > 0)
        rc = take_credentials(span_slice(authority, 0, at - 1), out, why);
    if (rc == 0 && !span_is_absent(database))
        rc = take_database(database, out, why);
    return rc != 0 ? rc
                   : redis_place_parse(span_slice(authority, at, authority.size), 6379, &out->place,
                                       why);
}
