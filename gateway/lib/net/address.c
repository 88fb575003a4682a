// SPDX-License-Identifier: Apache-2.0
#include "gateway/lib/net/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/un.h>
#include <unistd.h>

static int parse_unix(struct span path, struct address *out, struct failure *why)
{
    struct sockaddr_un *un = (struct sockaddr_un *)&out->storage;
    if (path.size == 0 || path.size >= sizeof un->sun_path)
        return failure_set(why, FAULT_INVALID, "a unix socket's path takes 1 to %zu bytes",
                           sizeof un->sun_path - 1);
    if (!span_copy_string(path, un->sun_path, sizeof un->sun_path))
        return failure_set(why, FAULT_INVALID, "a unix socket's path may not hold a NUL");
    un->sun_family = AF_UNIX;
    out->size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + path.size + 1);
    return 0;
}

static int parse_inherited(struct span number, struct address *out, struct failure *why)
{
    uint64_t fd;
    if (!span_to_u64(number, &fd) || fd > 65535)
        return failure_set(why, FAULT_INVALID, "fd:%.*s does not name a descriptor",
                           SPAN_ARGS(number));
    out->inherited_fd = (int)fd;
    out->storage.ss_family = AF_UNSPEC;
    out->size = 0;
    return 0;
}

static bool fill_ip(const char *host, bool v6, uint16_t port, struct address *out)
{
    if (v6) {
        struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&out->storage;
        in6->sin6_family = AF_INET6;
        in6->sin6_port = htons(port);
        out->size = sizeof *in6;
        return inet_pton(AF_INET6, host, &in6->sin6_addr) == 1;
    }
    struct sockaddr_in *in = (struct sockaddr_in *)&out->storage;
    in->sin_family = AF_INET;
    in->sin_port = htons(port);
    out->size = sizeof *in;
    return inet_pton(AF_INET, host, &in->sin_addr) == 1;
}

static int parse_ip(struct span text, struct address *out, struct failure *why)
{
    char host[INET6_ADDRSTRLEN];
    bool v6 = text.size > 0 && text.data[0] == '[';
    size_t colon = text.size;
    while (colon > 0 && text.data[colon - 1] != ':')
        colon--;
    struct span name = span_slice(text, 0, colon > 0 ? colon - 1 : 0);
    if (v6 && name.size >= 2 && name.data[name.size - 1] == ']')
        name = span_slice(name, 1, name.size - 1);
    else if (v6)
        name = SPAN_NONE;
    uint64_t port;
    if (colon == 0 || !span_to_u64(span_slice(text, colon, text.size), &port) || port > 65535 ||
        name.size == 0 || !span_copy_string(name, host, sizeof host) ||
        !fill_ip(host, v6, (uint16_t)port, out))
        return failure_set(why, FAULT_INVALID,
                           "\"%.*s\" is not 1.2.3.4:port, [::1]:port, unix:/path or fd:N",
                           SPAN_ARGS(text));
    return 0;
}

int address_parse(struct span text, struct address *out, struct failure *why)
{
    *out = (struct address){.inherited_fd = -1};
    if (span_starts_with(text, SPAN_LITERAL("unix:")))
        return parse_unix(span_slice(text, 5, text.size), out, why);
    if (span_starts_with(text, SPAN_LITERAL("fd:")))
        return parse_inherited(span_slice(text, 3, text.size), out, why);
    return parse_ip(text, out, why);
}

static const char *ip_text(const struct address *a, char out[INET6_ADDRSTRLEN], unsigned *port)
{
    const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)&a->storage;
    const struct sockaddr_in *in = (const struct sockaddr_in *)&a->storage;
    bool v6 = a->storage.ss_family == AF_INET6;
    *port = ntohs(v6 ? in6->sin6_port : in->sin_port);
    return inet_ntop(a->storage.ss_family, v6 ? (const void *)&in6->sin6_addr : &in->sin_addr, out,
                     INET6_ADDRSTRLEN);
}

void address_format(const struct address *a, char out[ADDRESS_TEXT_SIZE])
{
    char ip[INET6_ADDRSTRLEN];
    unsigned port;
    const struct sockaddr_un *un = (const struct sockaddr_un *)&a->storage;
    if (a->inherited_fd >= 0)
        snprintf(out, ADDRESS_TEXT_SIZE, "fd:%d", a->inherited_fd);
    else if (a->storage.ss_family == AF_UNIX)
        snprintf(out, ADDRESS_TEXT_SIZE, "unix:%.*s", (int)sizeof un->sun_path, un->sun_path);
    else if (ip_text(a, ip, &port) == NULL)
        snprintf(out, ADDRESS_TEXT_SIZE, "unknown");
    else if (a->storage.ss_family == AF_INET6)
        snprintf(out, ADDRESS_TEXT_SIZE, "[%s]:%u", ip, port);
    else
        snprintf(out, ADDRESS_TEXT_SIZE, "%s:%u", ip, port);
}

void address_format_host(const struct address *a, char out[ADDRESS_TEXT_SIZE])
{
    char ip[INET6_ADDRSTRLEN];
    unsigned port;
    if (address_is_unix(a))
        snprintf(out, ADDRESS_TEXT_SIZE, "unix");
    else
        snprintf(out, ADDRESS_TEXT_SIZE, "%s", ip_text(a, ip, &port) != NULL ? ip : "unknown");
}

bool address_is_unix(const struct address *a)
{
    return a->storage.ss_family == AF_UNIX;
}

bool address_is_loopback(const struct address *a)
{
    const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)&a->storage;
    const struct sockaddr_in *in = (const struct sockaddr_in *)&a->storage;
    if (address_is_unix(a))
        return true;
    if (a->storage.ss_family == AF_INET6)
        return IN6_IS_ADDR_LOOPBACK(&in6->sin6_addr) ||
               (IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr) && in6->sin6_addr.s6_addr[12] == 127);
    return a->storage.ss_family == AF_INET && ntohl(in->sin_addr.s_addr) >> 24 == 127;
}

bool address_is_deserted(const struct address *a)
{
    if (!address_is_unix(a))
        return false;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return false;
    bool refused =
        connect(fd, (const struct sockaddr *)&a->storage, a->size) != 0 && errno == ECONNREFUSED;
    close(fd);
    return refused;
}

static int shift_port(struct address *a, unsigned by, struct failure *why)
{
    in_port_t *at = a->storage.ss_family == AF_INET6
                        ? &((struct sockaddr_in6 *)&a->storage)->sin6_port
                        : &((struct sockaddr_in *)&a->storage)->sin_port;
    unsigned port = ntohs(*at);
    if (port == 0)
        return 0; // the kernel chooses
    if (port + by > 65535)
        return failure_set(why, FAULT_INVALID, "port %u and %u more is past the last", port, by);
    *at = htons((uint16_t)(port + by));
    return 0;
}

int address_shift(struct address *a, unsigned by, struct failure *why)
{
    struct sockaddr_un *un = (struct sockaddr_un *)&a->storage;
    if (by == 0 || a->inherited_fd >= 0)
        return 0;
    if (!address_is_unix(a))
        return shift_port(a, by, why);
    size_t size = strlen(un->sun_path), room = sizeof un->sun_path - size;
    int more = snprintf(un->sun_path + size, room, ".%u", by);
    if (more < 0 || (size_t)more >= room)
        return failure_set(why, FAULT_INVALID, "%.100s.%u is too long for a socket", un->sun_path,
                           by);
    a->size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + size + (size_t)more + 1);
    return 0;
}
