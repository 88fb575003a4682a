// SPDX-License-Identifier: Apache-2.0
// Any bytes as a sealed text: nothing opens but what was sealed, and only unchanged.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "gateway/lib/base/memory.h"
#include "gateway/lib/crypto/seal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct keyring *ring(void)
{
    static struct keyring *r;
    char folder[] = "/tmp/wrist-fuzz-XXXXXX", file[64];
    struct failure why;
    if (r != NULL)
        return r;
    if (mkdtemp(folder) == NULL)
        abort();
    snprintf(file, sizeof file, "%s/keys", folder);
    if (keyring_open(file, 1, &r, &why) != 0)
        abort();
    unlink(file);
    rmdir(folder);
    return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buffer text, plain;
    struct span input = span_of(data, size);
    buffer_init(&text, 65536);
    buffer_init(&plain, 65536);
    if (seal_open(ring(), "session", SPAN_NONE, input, &plain) == 0)
        abort(); // the ring is fresh: nothing was sealed under it yet that an input could hold
    if (seal(ring(), "session", SPAN_NONE, input, &text) == 0) {
        if (seal_open(ring(), "session", SPAN_NONE, buffer_span(&text), &plain) != 0 ||
            !span_equals(buffer_span(&plain), input))
            abort();
        // One character changed, chosen by the input.
        size_t at = size > 0 ? (data[0] * 256u + data[size - 1]) % buffer_size(&text) : 0;
        text.data[text.start + at] ^= 4;
        if (seal_open(ring(), "session", SPAN_NONE, buffer_span(&text), &plain) == 0)
            abort();
    }
    buffer_fini(&text);
    buffer_fini(&plain);
    return 0;
}
