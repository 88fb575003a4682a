// SPDX-License-Identifier: Apache-2.0
// What goes through the admin listener of a running gateway.
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ctl/command.h"
#include "ctl/options.h"
#include "gateway/lib/file/file.h"
#include "gateway/lib/net/address.h"

enum { ANSWER_BYTES = 64 * 1024 * 1024, WAIT_SECONDS = 60 };

static int exchange(const char *where, const char *request, struct buffer *answer,
                    struct failure *why)
{
    struct address address;
    const struct timeval wait = {.tv_sec = WAIT_SECONDS};
    int rc = address_parse(span_from_string(where), &address, why);
    if (rc != 0)
        return failure_prefix(why, "--admin");
    int fd = socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait) != 0 ||
        connect(fd, (const struct sockaddr *)&address.storage, address.size) != 0 ||
        file_write_all(fd, span_from_string(request)) != 0)
        rc = failure_errno(why, "gateway at %s", where);
    else
        rc = file_read_all(fd, where, answer, why);
    if (fd >= 0)
        close(fd);
    return rc;
}

// Prints what the gateway answers; 1 where that is no 200.
static int ask_gateway(const char *admin, const char *request)
{
    struct failure why;
    struct buffer answer;
    if (admin == NULL)
        admin = "127.0.0.1:9443";
    buffer_init(&answer, ANSWER_BYTES);
    int rc = exchange(admin, request, &answer, &why);
    struct span text = buffer_span(&answer);
    const char *body = text.size > 0 ? memmem(text.data, text.size, "\r\n\r\n", 4) : NULL;
    bool is_well = rc == 0 && span_starts_with(text, SPAN_LITERAL("HTTP/1.1 200 "));
    if (rc != 0)
        fprintf(stderr, "wristctl: %s\n", why.text);
    else if (body == NULL)
        fprintf(stderr, "wristctl: gateway at %s: no answer\n", admin);
    else
        fprintf(is_well ? stdout : stderr, "%.*s",
                SPAN_ARGS(span_slice(text, (size_t)(body + 4 - text.data), text.size)));
    buffer_fini(&answer);
    return is_well && body != NULL ? 0 : 1;
}

static int called_wrongly(const struct failure *why)
{
    fprintf(stderr, "wristctl: %s; see wristctl --help\n", why->text);
    return 2;
}

int store_check_command(int argc, char **argv)
{
    const char *admin = NULL;
    const struct option_row rows[] = {{"--admin", &admin, false}, {NULL, NULL, false}};
    struct failure why;
    if (options_parse(argc, argv, rows, NULL, 0, &why) != 0)
        return called_wrongly(&why);
    return ask_gateway(admin, "POST /v1/store/check HTTP/1.1\r\nhost: localhost\r\n"
                              "content-length: 0\r\nconnection: close\r\n\r\n");
}

int volume_list_command(int argc, char **argv)
{
    const char *admin = NULL;
    const struct option_row rows[] = {{"--admin", &admin, false}, {NULL, NULL, false}};
    struct failure why;
    if (options_parse(argc, argv, rows, NULL, 0, &why) != 0)
        return called_wrongly(&why);
    return ask_gateway(admin, "GET /v1/volumes HTTP/1.1\r\nhost: localhost\r\n"
                              "connection: close\r\n\r\n");
}

int volume_delete_command(int argc, char **argv)
{
    enum { DIGITS = 64 };
    const char *admin = NULL, *id = NULL;
    const struct option_row rows[] = {{"--admin", &admin, false}, {NULL, NULL, false}};
    struct failure why;
    char request[256];
    int rc = options_parse(argc, argv, rows, &id, 1, &why);
    if (rc == 0 && id == NULL)
        rc = failure_set(&why, FAULT_INVALID, "the id of a volume is missing");
    if (rc == 0 && (strlen(id) != DIGITS || strspn(id, "0123456789abcdef") != DIGITS))
        rc = failure_set(&why, FAULT_INVALID, "%s: expected the id of a volume, 64 hex digits", id);
    if (rc != 0)
        return called_wrongly(&why);
    snprintf(request, sizeof request,
             "DELETE /v1/volumes/%s HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n", id);
    return ask_gateway(admin, request);
}
