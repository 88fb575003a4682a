// SPDX-License-Identifier: Apache-2.0
#include "gateway/proxy/route.h"

#include <stdio.h>

// One segment of each; true while they agree.
static bool take_segment(struct span *pattern, struct span *path, struct route_match *m)
{
    struct span want = span_split(pattern, '/');
    struct span have = span_split(path, '/');
    if (want.size == 0 || want.data[0] != '{')
        return span_equals(want, have);
    if (have.size == 0 || m->parameter_count == ROUTE_PARAMETERS)
        return false;
    m->parameters[m->parameter_count++] = have;
    return true;
}

static bool matches(const struct route *route, struct span path, struct route_match *m)
{
    *m = (struct route_match){.route = route};
    struct span pattern = span_from_string(route->pattern);
    while (!span_is_absent(pattern) && !span_is_absent(path)) {
        if (!take_segment(&pattern, &path, m))
            return false;
    }
    return span_is_absent(pattern) && span_is_absent(path);
}

struct route_match route_find(const struct route *routes, size_t count, struct span path)
{
    struct route_match m;
    if (path.size > 1 && path.data[path.size - 1] == '/')
        path.size--;
    for (size_t i = 0; i < count; i++) {
        if (matches(&routes[i], path, &m))
            return m;
    }
    return (struct route_match){0};
}

void route_allow(const struct route *route, char *out, size_t out_size)
{
    size_t at = 0;
    for (size_t i = 0; i < ROUTE_METHODS && route->methods[i].method != NULL; i++)
        at += (size_t)snprintf(out + at, out_size - at, "%s, ", route->methods[i].method);
    snprintf(out + at, out_size - at, "OPTIONS");
}
