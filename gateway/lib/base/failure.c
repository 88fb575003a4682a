// SPDX-License-Identifier: Apache-2.0
#include "gateway/lib/base/failure.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct fault_row {
    int fault;
    int http_status;
    bool retryable;
    const char *name;
    const char *text;
};

static const struct fault_row fault_rows[] = {
#define X(name, value, http, retry, text) {value, http, retry, #name, text},
    FAULT_TABLE(X)
#undef X
};

static const struct fault_row *fault_row(int fault)
{
    for (size_t i = 0; i < sizeof fault_rows / sizeof fault_rows[0]; i++)
        if (fault_rows[i].fault == fault)
            return &fault_rows[i];
    return NULL;
}

const char *fault_name(int fault)
{
    const struct fault_row *row = fault_row(fault);
    return row != NULL ? row->name : "NONE";
}

const char *fault_text(int fault)
{
    const struct fault_row *row = fault_row(fault);
    return row != NULL ? row->text : "no failure";
}

int fault_http_status(int fault)
{
    const struct fault_row *row = fault_row(fault);
    return row != NULL ? row->http_status : 200;
}

bool fault_is_retryable(int fault)
{
    const struct fault_row *row = fault_row(fault);
    return row != NULL && row->retryable;
}

int failure_set(struct failure *why, enum fault fault, const char *format, ...)
{
    if (why != NULL) {
        va_list args;
        va_start(args, format);
        why->fault = fault;
        vsnprintf(why->text, sizeof why->text, format, args);
        va_end(args);
    }
    return fault;
}

static enum fault fault_from_errno(int error)
{
    switch (error) {
    case ENOENT:
    case ENOTDIR:
        return FAULT_NOT_FOUND;
    case EACCES:
    case EPERM:
    case EROFS:
    case ELOOP:
    case EXDEV:
        return FAULT_DENIED;
    case EEXIST:
        return FAULT_CONFLICT;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
        return FAULT_TOO_LARGE;
    case ETIMEDOUT:
        return FAULT_TIMEOUT;
    case ECONNRESET:
    case EPIPE:
        return FAULT_CLOSED;
    case ECONNREFUSED:
        return FAULT_UNAVAILABLE;
    default:
        return FAULT_IO;
    }
}

int failure_errno(struct failure *why, const char *format, ...)
{
    int error = errno;
    enum fault fault = fault_from_errno(error);
    if (why != NULL) {
        char said[320];
        va_list args;
        va_start(args, format);
        vsnprintf(said, sizeof said, format, args);
        va_end(args);
        failure_set(why, fault, "%s: %s", said, strerror(error));
    }
    return fault;
}

int failure_prefix(struct failure *why, const char *format, ...)
{
    if (why == NULL)
        return FAULT_INTERNAL;
    char said[sizeof why->text];
    char was[sizeof why->text];
    va_list args;
    va_start(args, format);
    vsnprintf(said, sizeof said, format, args);
    va_end(args);
    memcpy(was, why->text, sizeof was);
    size_t used = strnlen(said, sizeof said - 1);
    size_t room = sizeof why->text - 1;
    if (used > room / 2)
        used = room / 2; // the cause matters more than the place
    snprintf(why->text, sizeof why->text, "%.*s: %.*s", (int)used, said, (int)(room - used - 2),
             was);
    return why->fault;
}
