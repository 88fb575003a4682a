// SPDX-License-Identifier: Apache-2.0
#include "schemas/uri.h"

// Spans are absent where the part is.
struct uri {
    struct span scheme, authority, path, query;
};

struct span uri_without_fragment(struct span uri)
{
    const char *hash = uri.size > 0 ? memchr(uri.data, '#', uri.size) : NULL;
    return hash != NULL ? span_of(uri.data, (size_t)(hash - uri.data)) : uri;
}

static bool is_scheme(struct span s)
{
    for (size_t i = 0; i < s.size; i++) {
        char c = s.data[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        bool other = (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.';
        if (!letter && (i == 0 || !other))
            return false;
    }
    return s.size > 0;
}

static struct uri uri_split(struct span text)
{
    struct uri u = {SPAN_NONE, SPAN_NONE, uri_without_fragment(text), SPAN_NONE};
    const char *query = u.path.size > 0 ? memchr(u.path.data, '?', u.path.size) : NULL;
    if (query != NULL) {
        size_t at = (size_t)(query - u.path.data);
        u.query = span_slice(u.path, at + 1, u.path.size);
        u.path.size = at;
    }
    const char *colon = u.path.size > 0 ? memchr(u.path.data, ':', u.path.size) : NULL;
    if (colon != NULL && is_scheme(span_of(u.path.data, (size_t)(colon - u.path.data)))) {
        size_t at = (size_t)(colon - u.path.data);
        u.scheme = span_of(u.path.data, at);
        u.path = span_slice(u.path, at + 1, u.path.size);
    }
    if (span_starts_with(u.path, SPAN_LITERAL("//"))) {
        struct span rest = span_slice(u.path, 2, u.path.size);
        const char *slash = rest.size > 0 ? memchr(rest.data, '/', rest.size) : NULL;
        size_t at = slash != NULL ? (size_t)(slash - rest.data) : rest.size;
        u.authority = span_of(rest.data, at);
        u.path = span_slice(rest, at, rest.size);
    }
    return u;
}

// §5.2.4 over path[0, size), in place. Returns the new size.
static size_t remove_dots(char *path, size_t size)
{
    size_t in = 0, out = 0;
    while (in < size) {
        size_t end = in + 1;
        while (end < size && path[end] != '/')
            end++;
        struct span segment = span_of(path + in, end - in);
        bool last = end == size;
        if (span_is(segment, "/..") || span_is(segment, "..")) {
            while (out > 0 && path[--out] != '/')
                continue;
            if (last)
                path[out++] = '/';
        } else if (span_is(segment, "/.") || span_is(segment, ".")) {
            if (last)
                path[out++] = '/';
        } else {
            memmove(path + out, segment.data, segment.size);
            out += segment.size;
        }
        in = end;
    }
    return out;
}

static struct span merge_path(struct arena *arena, struct uri base, struct span path)
{
    size_t keep = 0;
    for (size_t i = 0; i < base.path.size; i++)
        if (base.path.data[i] == '/')
            keep = i + 1;
    bool rooted = path.size > 0 && path.data[0] == '/';
    if (rooted)
        keep = 0;
    bool slash = keep == 0 && !rooted && !span_is_absent(base.authority);
    char *out = arena_try_alloc(arena, keep + slash + path.size + 1);
    if (out == NULL)
        return path;
    if (keep > 0)
        memcpy(out, base.path.data, keep);
    if (slash)
        out[0] = '/';
    if (path.size > 0)
        memcpy(out + keep + slash, path.data, path.size);
    return span_of(out, remove_dots(out, keep + slash + path.size));
}

static char *put(char *at, struct span s)
{
    if (s.size > 0)
        memcpy(at, s.data, s.size);
    return at + s.size;
}

static struct span uri_join(struct arena *arena, struct uri u)
{
    size_t size = u.scheme.size + u.authority.size + u.path.size + u.query.size + 4;
    char *out = arena_try_alloc(arena, size), *at = out;
    if (out == NULL)
        return u.path;
    if (!span_is_absent(u.scheme))
        at = put(put(at, u.scheme), SPAN_LITERAL(":"));
    if (!span_is_absent(u.authority))
        at = put(put(at, SPAN_LITERAL("//")), u.authority);
    at = put(at, u.path);
    if (!span_is_absent(u.query))
        at = put(put(at, SPAN_LITERAL("?")), u.query);
    return span_of(out, (size_t)(at - out));
}

struct span uri_resolve(struct arena *arena, struct span base, struct span reference)
{
    struct uri r = uri_split(reference), b = uri_split(base);
    if (!span_is_absent(r.scheme))
        return uri_without_fragment(reference);
    if (span_is_absent(r.authority) && r.path.size == 0 && span_is_absent(r.query))
        return uri_without_fragment(base);
    r.scheme = b.scheme;
    if (!span_is_absent(r.authority))
        return uri_join(arena, r);
    r.authority = b.authority;
    if (r.path.size == 0)
        r.path = b.path;
    else
        r.path = merge_path(arena, b, r.path);
    return uri_join(arena, r);
}

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool uri_fragment(struct arena *arena, struct span reference, struct span *out)
{
    size_t at = uri_without_fragment(reference).size;
    if (at == reference.size) {
        *out = SPAN_NONE;
        return true;
    }
    struct span raw = span_slice(reference, at + 1, reference.size);
    *out = raw;
    if (raw.size == 0 || memchr(raw.data, '%', raw.size) == NULL)
        return true;
    char *text = arena_try_alloc(arena, raw.size + 1);
    size_t size = 0;
    for (size_t i = 0; text != NULL && i < raw.size; i++) {
        char c = raw.data[i];
        if (c == '%') {
            int high = i + 2 < raw.size ? hex_value(raw.data[i + 1]) : -1;
            int low = high >= 0 ? hex_value(raw.data[i + 2]) : -1;
            if (low < 0)
                return false;
            c = (char)(high << 4 | low);
            i += 2;
        }
        text[size++] = c;
    }
    *out = span_of(text, size);
    return text != NULL;
}
