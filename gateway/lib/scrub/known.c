// SPDX-License-Identifier: Apache-2.0
// Values that this process holds itself: as they are, in base64 and URL-encoded.
#include "gateway/lib/base/memory.h"
#include "gateway/lib/scrub/inside.h"
#include "gateway/lib/scrub/scrub.h"

enum { KNOWN_MAX = 64, KNOWN_LEAST = 8, KNOWN_MOST = 1024 };

struct known {
    const char *label; // borrowed, for good
    char *bytes;       // owned, for the life of the process
    size_t size;
};

static struct known known[KNOWN_MAX];
static size_t known_count;

static void keep(const char *label, const char *bytes, size_t size)
{
    if (known_count < KNOWN_MAX && size >= KNOWN_LEAST)
        known[known_count++] = (struct known){label, memory_copy_span(span_of(bytes, size)), size};
}

// The characters that depend on the value alone, when `shift` bytes stand before it in its group
// of three.
static void keep_base64(const char *label, struct span v, size_t shift, const char *last)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    char out[KNOWN_MOST * 2];
    size_t size = 0, bits = 8 * (v.size + shift);
    for (size_t bit = 0; bit + 6 <= bits; bit += 6) {
        unsigned value = 0;
        if (bit < 8 * shift)
            continue; // has bits of what stands before
        for (size_t i = bit; i < bit + 6; i++) {
            unsigned char byte = (unsigned char)v.data[i / 8 - shift];
            value = value << 1 | (byte >> (7 - i % 8) & 1u);
        }
        out[size++] = value < 62 ? letters[value] : last[value - 62];
    }
    keep(label, out, size);
}

static void keep_url(const char *label, struct span v, const char *digits)
{
    char out[KNOWN_MOST * 3];
    size_t size = 0;
    for (size_t i = 0; i < v.size; i++) {
        unsigned char c = (unsigned char)v.data[i];
        if (scrub_is_word(v.data[i]) || c == '.' || c == '~') {
            out[size++] = v.data[i];
        } else {
            out[size++] = '%';
            out[size++] = digits[c >> 4];
            out[size++] = digits[c & 15];
        }
    }
    if (size != v.size)
        keep(label, out, size);
}

void scrub_know(const char *label, struct span value)
{
    if (value.size < KNOWN_LEAST || value.size > KNOWN_MOST)
        return;
    keep(label, value.data, value.size);
    for (size_t shift = 0; shift < 3; shift++) {
        keep_base64(label, value, shift, "+/");
        keep_base64(label, value, shift, "-_");
    }
    keep_url(label, value, "0123456789ABCDEF");
    keep_url(label, value, "0123456789abcdef");
    filter_rebuild();
}

static bool check_known(const void *row, struct span window, size_t at, struct scrub_match *out)
{
    const struct known *k = row;
    *out = (struct scrub_match){at, at + k->size, k->label, false};
    return window.size - at >= k->size && memcmp(window.data + at, k->bytes, k->size) == 0;
}

void known_add(struct anchor_list *list)
{
    for (size_t i = 0; i < known_count; i++)
        anchor_add(list, known[i].bytes, false, &known[i], check_known);
}
