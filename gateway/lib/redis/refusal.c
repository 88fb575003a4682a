// SPDX-License-Identifier: Apache-2.0
#include "gateway/lib/redis/refusal.h"

#include "gateway/lib/base/memory.h"

static const struct {
    const char *code;
    enum refusal_kind kind;
} codes[] = {
    {"NOSCRIPT", REFUSAL_NO_SCRIPT},
    {"MOVED", REFUSAL_MOVED},
    {"ASK", REFUSAL_ASK},
    {"READONLY", REFUSAL_NOT_MASTER},
    {"LOADING", REFUSAL_NOT_MASTER},
    {"MASTERDOWN", REFUSAL_NOT_MASTER},
    {"UNBLOCKED", REFUSAL_NOT_MASTER},
    {"TRYAGAIN", REFUSAL_LATER},
    {"CLUSTERDOWN", REFUSAL_LATER},
    {"OOM", REFUSAL_UNAVAILABLE},
    {"MISCONF", REFUSAL_UNAVAILABLE},
    {"NOREPLICAS", REFUSAL_UNAVAILABLE},
    {"BUSY", REFUSAL_UNAVAILABLE},
    {"NOAUTH", REFUSAL_UNAVAILABLE},
    {"NOPERM", REFUSAL_UNAVAILABLE},
};

// Before Redis 7 a script's failing call stands in the middle: "ERR Error running script …: -OOM
// …".
static struct span code_of(struct span text)
{
    struct span rest = text;
    struct span code = span_split(&rest, ' ');
    if (!span_is(code, "ERR") || !span_starts_with(rest, SPAN_LITERAL("Error running script")))
        return code;
    for (struct span word; !span_is_absent(rest);) {
        word = span_split(&rest, ' ');
        if (word.size > 1 && word.data[0] == '-')
            return span_slice(word, 1, word.size);
    }
    return code;
}

void refusal_read(const struct redis_reply *reply, const struct redis_place *from,
                  struct refusal *out)
{
    *out = (struct refusal){.kind = REFUSAL_NONE};
    if (reply->kind != REPLY_ERROR)
        return;
    struct span code = code_of(reply->text);
    for (size_t i = 0; i < ARRAY_COUNT(codes); i++)
        if (span_is(code, codes[i].code))
            out->kind = codes[i].kind;
    if (out->kind != REFUSAL_MOVED && out->kind != REFUSAL_ASK)
        return;
    struct span rest = reply->text; // "MOVED 3999 127.0.0.1:6381"
    span_split(&rest, ' ');
    span_split(&rest, ' ');
    bool no_host = rest.size > 1 && (rest.data[0] == ':' || rest.data[0] == '?');
    uint64_t port;
    if (no_host) {
        out->place = *from;
        while (rest.size > 0 && rest.data[0] != ':')
            rest = span_slice(rest, 1, rest.size);
        if (span_to_u64(span_slice(rest, 1, rest.size), &port) && port > 0 && port <= UINT16_MAX)
            out->place.port = (uint16_t)port;
        else
            out->kind = REFUSAL_NONE;
    } else if (redis_place_parse(rest, 0, &out->place, NULL) != 0 || out->place.port == 0) {
        out->kind = REFUSAL_NONE;
    }
}
