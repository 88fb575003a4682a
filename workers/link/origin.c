// SPDX-License-Identifier: Apache-2.0
#include "workers/link/origin.h"

#include "gateway/lib/base/memory.h"

bool authority_is_local(struct span authority)
{
    static const char *const names[] = {"localhost", "127.0.0.1", "[::1]"};
    for (size_t i = 0; i < ARRAY_COUNT(names); i++) {
        struct span name = span_from_string(names[i]);
        uint64_t port;
        if (authority.size < name.size ||
            !span_equals_nocase(span_slice(authority, 0, name.size), name))
            continue;
        struct span rest = span_slice(authority, name.size, authority.size);
        if (rest.size == 0 || (rest.data[0] == ':' &&
                               span_to_u64(span_slice(rest, 1, rest.size), &port) && port < 65536))
            return true;
    }
    return false;
}

bool origin_is_local(const struct exchange *ex)
{
    struct span origin = exchange_header(ex, "origin");
    if (exchange_header_repeats(ex, "origin") > 1 || !authority_is_local(exchange_authority(ex)))
        return false;
    if (span_is_absent(origin))
        return true;
    struct span scheme = SPAN_LITERAL("http://");
    if (span_starts_with(origin, SPAN_LITERAL("https://")))
        scheme = SPAN_LITERAL("https://");
    return span_starts_with(origin, scheme) &&
           authority_is_local(span_slice(origin, scheme.size, origin.size));
}
