// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/gateway/lib/http/peer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_serve(data, size, SPAN_NONE);
    return 0;
}
