// SPDX-License-Identifier: Apache-2.0
// Any bytes as a configuration: it loads whole or is refused, and what loads can be dumped and
// loaded again.
#include <stdint.h>
#include <stdlib.h>

#include "gateway/lib/base/memory.h"
#include "gateway/lib/config/keys.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct item {
    char name[16], address[64];
    int64_t wait_ms, bytes;
    char **words;
    size_t word_count;
    struct item *more;
    size_t more_count;
};

static const char *const modes[] = {"slow", "fast", NULL};

static const struct key keys[] = {
    {"mode", KEY_WORD, KEY_AT(struct item, name), .words = modes, .fallback = "fast", .help = "m"},
    {"address", KEY_ADDRESS, KEY_AT(struct item, address), .secret = true, .help = "a"},
    {"limits.wait", KEY_DURATION, KEY_AT(struct item, wait_ms), .fallback = "1s", .help = "w"},
    {"limits.bytes", KEY_SIZE, KEY_AT(struct item, bytes), .most = 1 << 30, .help = "b"},
    {"words", KEYS_STRINGS(struct item, words, word_count), .help = "s"},
    {"items.<name>", KEYS_MAP(struct item, more, more_count, struct item, name), .help = "i"},
    {"items.<name>.wait", KEY_DURATION, KEY_AT(struct item, wait_ms), .help = "w"},
    {"items.<name>.list[]", KEYS_LIST(struct item, more, more_count, struct item), .help = "l"},
    {"items.<name>.list[].address", KEY_ADDRESS, KEY_AT(struct item, address), .required = true,
     .help = "a"},
    {"items.<name>.list[].words", KEYS_STRINGS(struct item, words, word_count), .help = "w"},
};
static const struct key_table table = {
    .program = "fuzz",
    .title = "A table.",
    .keys = keys,
    .count = ARRAY_COUNT(keys),
    .settings_size = sizeof(struct item),
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct item settings;
    struct key_source *source = NULL;
    struct failure why;
    struct buffer dump;
    if (keys_parse(&table, span_of(data, size), "f", &settings, &source, &why) != 0)
        return 0;
    buffer_init(&dump, 1 << 20);
    bool shown = keys_write_dump(&table, &settings, source, &dump) == 0;
    bool hidden = settings.address[0] != '\0';
    key_source_free(source);
    keys_release(&table, &settings);
    if (shown && !hidden) {
        if (keys_parse(&table, buffer_span(&dump), "dump", &settings, NULL, &why) != 0)
            abort();
        keys_release(&table, &settings);
    }
    buffer_fini(&dump);
    return 0;
}
