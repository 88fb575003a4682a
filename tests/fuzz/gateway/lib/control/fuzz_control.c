// SPDX-License-Identifier: Apache-2.0
// What a driver or a sandbox answers: whatever it says, what was read can be written and reads
// back.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "gateway/lib/control/driver_api.h"
#include "gateway/lib/control/link.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must_be(bool good)
{
    if (!good)
        abort();
}

static void try_record(struct span json, struct buffer *out)
{
    struct driver_record r, again;
    if (driver_record_parse(json, &r, NULL) != 0)
        return;
    must_be(driver_record_write(&r, out) == 0);
    must_be(driver_record_parse(buffer_span(out), &again, NULL) == 0);
    must_be(memcmp(&r, &again, sizeof r) == 0);
}

static void try_status(struct span json, struct buffer *out)
{
    struct link_status s, again;
    if (link_status_parse(json, &s, NULL) != 0)
        return;
    must_be(link_status_write(&s, out) == 0);
    must_be(link_status_parse(buffer_span(out), &again, NULL) == 0);
    must_be(memcmp(&s, &again, sizeof s) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct span json = span_of(data, size);
    struct driver_create create;
    struct link_bind bind;
    struct failure why;
    struct buffer out;
    buffer_init(&out, 1 << 20);
    try_record(json, &out);
    buffer_clear(&out);
    try_status(json, &out);
    driver_create_parse(json, &create, &why);
    link_bind_parse(json, &bind, &why);
    must_be(failure_parse(json, &why) < 0);
    buffer_fini(&out);
    return 0;
}
