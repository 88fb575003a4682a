// SPDX-License-Identifier: Apache-2.0
#include "driver/revision.h"

#include <inttypes.h>

#include "gateway/lib/base/buffer.h"
#include "gateway/lib/base/memory.h"
#include "gateway/lib/crypto/digest.h"

enum { TEXT_BYTES = 2048 };

void profile_revision(const struct driver_profile *p, const char *digest, char out[REVISION_SIZE])
{
    const int64_t numbers[] = {
        p->memory_bytes, p->cpu_millis,     p->pids,        p->disk_bytes,
        p->disk_inodes,  p->tmp_bytes,      p->command_uid, p->command_gid,
        p->open_files,   p->weak_isolation, p->read_only,   p->export_bytes,
    };
    char hex[SHA256_HEX_SIZE];
    struct buffer text;
    buffer_init(&text, TEXT_BYTES);
    buffer_printf(&text, "%s %s %s %s", digest, p->runtime, p->network, p->export_types);
    for (size_t i = 0; i < ARRAY_COUNT(numbers); i++)
        buffer_printf(&text, " %" PRId64, numbers[i]);
    sha256_hex(buffer_span(&text), hex);
    span_copy_string(span_of(hex, REVISION_SIZE - 1), out, REVISION_SIZE);
    buffer_fini(&text);
}
