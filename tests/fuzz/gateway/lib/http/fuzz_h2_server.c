// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/gateway/lib/http/peer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_serve(data, size, SPAN_LITERAL("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"));
    return 0;
}
