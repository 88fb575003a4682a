// SPDX-License-Identifier: Apache-2.0
#include "gateway/lib/http/response.h"

#include "gateway/lib/base/memory.h"

static const struct {
    int status;
    struct span text;
} reasons[] = {
    {200, SPAN_LITERAL("OK")},
    {202, SPAN_LITERAL("Accepted")},
    {400, SPAN_LITERAL("Bad Request")},
    {401, SPAN_LITERAL("Unauthorized")},
    {404, SPAN_LITERAL("Not Found")},
    {201, SPAN_LITERAL("Created")},
    {204, SPAN_LITERAL("No Content")},
    {301, SPAN_LITERAL("Moved Permanently")},
    {302, SPAN_LITERAL("Found")},
    {304, SPAN_LITERAL("Not Modified")},
    {307, SPAN_LITERAL("Temporary Redirect")},
    {308, SPAN_LITERAL("Permanent Redirect")},
    {403, SPAN_LITERAL("Forbidden")},
    {405, SPAN_LITERAL("Method Not Allowed")},
    {406, SPAN_LITERAL("Not Acceptable")},
    {408, SPAN_LITERAL("Request Timeout")},
    {409, SPAN_LITERAL("Conflict")},
    {410, SPAN_LITERAL("Gone")},
    {411, SPAN_LITERAL("Length Required")},
    {413, SPAN_LITERAL("Content Too Large")},
    {414, SPAN_LITERAL("URI Too Long")},
    {415, SPAN_LITERAL("Unsupported Media Type")},
    {417, SPAN_LITERAL("Expectation Failed")},
    {421, SPAN_LITERAL("Misdirected Request")},
    {429, SPAN_LITERAL("Too Many Requests")},
    {431, SPAN_LITERAL("Request Header Fields Too Large")},
    {500, SPAN_LITERAL("Internal Server Error")},
    {501, SPAN_LITERAL("Not Implemented")},
    {502, SPAN_LITERAL("Bad Gateway")},
    {503, SPAN_LITERAL("Service Unavailable")},
    {504, SPAN_LITERAL("Gateway Timeout")},
    {505, SPAN_LITERAL("HTTP Version Not Supported")},
};

struct span response_reason(int status)
{
    for (size_t i = 0; i < ARRAY_COUNT(reasons); i++)
        if (reasons[i].status == status)
            return reasons[i].text;
    return SPAN_LITERAL("Status");
}

bool response_may_have_body(int status)
{
    return status >= 200 && status != 204 && status != 304;
}

// Not 0 where one of the eight bytes is the one that `repeated` has eight times.
static uint64_t has_byte(uint64_t word, uint64_t repeated)
{
    uint64_t zero = word ^ repeated;
    return (zero - 0x0101010101010101U) & ~zero & 0x8080808080808080U;
}

// Eight bytes at a time: every header of every request and answer comes by here.
bool response_value_is_safe(struct span value)
{
    uint64_t found = 0, word;
    size_t at = 0;
    for (; value.size - at >= sizeof word; at += sizeof word) {
        memcpy(&word, value.data + at, sizeof word);
        found |= has_byte(word, 0) | has_byte(word, 0x0d0d0d0d0d0d0d0dU) |
                 has_byte(word, 0x0a0a0a0a0a0a0a0aU);
    }
    for (; at < value.size; at++)
        found |= value.data[at] == '\r' || value.data[at] == '\n' || value.data[at] == '\0';
    return found == 0;
}

bool response_header_goes_out(const struct http_header *header)
{
    static const struct span kept_back[] = {
        SPAN_LITERAL("connection"),        SPAN_LITERAL("keep-alive"),
        SPAN_LITERAL("proxy-connection"),  SPAN_LITERAL("te"),
        SPAN_LITERAL("transfer-encoding"), SPAN_LITERAL("upgrade"),
        SPAN_LITERAL("content-length"),    SPAN_LITERAL("date"),
        SPAN_LITERAL("trailer"),
    };
    for (size_t i = 0; i < ARRAY_COUNT(kept_back); i++)
        if (span_equals(header->name, kept_back[i]))
            return false;
    return header->name.size > 0 && response_value_is_safe(header->name) &&
           response_value_is_safe(header->value);
}
