// SPDX-License-Identifier: Apache-2.0
#include "gateway/lib/json/utf8.h"

// What may follow a lead byte: how many bytes, and the range of the first of them.
struct lead {
    unsigned char more, low, high;
};

static struct lead lead_of(unsigned char c)
{
    if (c >= 0xc2 && c <= 0xdf)
        return (struct lead){1, 0x80, 0xbf};
    if (c >= 0xe0 && c <= 0xef)
        return (struct lead){2, c == 0xe0 ? 0xa0 : 0x80, c == 0xed ? 0x9f : 0xbf};
    if (c >= 0xf0 && c <= 0xf4)
        return (struct lead){3, c == 0xf0 ? 0x90 : 0x80, c == 0xf4 ? 0x8f : 0xbf};
    return (struct lead){0, 0, 0};
}

struct utf8_step utf8_step(const char *at, const char *end)
{
    if (at >= end)
        return (struct utf8_step){0, false, true};
    unsigned char c = (unsigned char)*at;
    if (c < 0x80)
        return (struct utf8_step){1, true, true};
    struct lead lead = lead_of(c);
    if (lead.more == 0)
        return (struct utf8_step){1, false, true};
    size_t size = 1;
    for (; size <= lead.more; size++) {
        if (at + size == end)
            return (struct utf8_step){size, false, false};
        unsigned char next = (unsigned char)at[size];
        unsigned char low = size == 1 ? lead.low : 0x80, high = size == 1 ? lead.high : 0xbf;
        if (next < low || next > high)
            return (struct utf8_step){size, false, true};
    }
    return (struct utf8_step){size, true, true};
}

bool utf8_is_valid(struct span text)
{
    const char *end = text.data + text.size;
    for (const char *at = text.data; at < end;) {
        struct utf8_step step = utf8_step(at, end);
        if (!step.valid)
            return false;
        at += step.size;
    }
    return true;
}

size_t utf8_encode(uint32_t code, char out[4])
{
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    if (code < 0x800) {
        out[0] = (char)(0xc0 | code >> 6);
        out[1] = (char)(0x80 | (code & 0x3f));
        return 2;
    }
    if (code < 0x10000) {
        out[0] = (char)(0xe0 | code >> 12);
        out[1] = (char)(0x80 | (code >> 6 & 0x3f));
        out[2] = (char)(0x80 | (code & 0x3f));
        return 3;
    }
    out[0] = (char)(0xf0 | code >> 18);
    out[1] = (char)(0x80 | (code >> 12 & 0x3f));
    out[2] = (char)(0x80 | (code >> 6 & 0x3f));
    out[3] = (char)(0x80 | (code & 0x3f));
    return 4;
}
