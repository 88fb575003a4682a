// SPDX-License-Identifier: Apache-2.0
// No text that a client makes up opens, and a real one opens only where nothing of it was changed.
// Input: which byte to change and how, then a text.
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "gateway/auth/principal_new.h"
#include "gateway/lib/crypto/keyring.h"
#include "gateway/proxy/sealed.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct keyring *ring;
static struct principal *principal;
static struct buffer session, handle;

static void prepare(void)
{
    char folder[] = "/tmp/wrist-fuzz-XXXXXX", file[64];
    struct session_name name = {.id = "00112233445566778899aabbccddeeff",
                                .issued_ms = 1,
                                .revision = MCP_REVISION_2025_11_25,
                                .provider = "anthropic"};
    struct handle_name sandbox = {"00112233445566778899aabbccddeeff", "trial"};
    assert(mkdtemp(folder) != NULL);
    snprintf(file, sizeof file, "%s/ring", folder);
    assert(keyring_open(file, 1, &ring, NULL) == 0);
    unlink(file);
    rmdir(folder);
    principal = principal_new(
        &(struct principal_values){.issuer = "i", .subject = "s", .tenant = "t", .provider = ""});
    buffer_init(&session, SEALED_TEXT_SIZE);
    buffer_init(&handle, SEALED_TEXT_SIZE);
    assert(session_name_seal(ring, principal, SPAN_LITERAL("trial"), &name, &session) == 0);
    assert(handle_name_seal(ring, "", &sandbox, &handle) == 0);
}

static bool opens(struct span text)
{
    struct session_name name;
    struct handle_name sandbox;
    return session_name_open(ring, principal, SPAN_LITERAL("trial"), text, &name) == 0 ||
           handle_name_open(ring, "", text, &sandbox) == 0;
}

static void change_one(const struct buffer *sealed, uint8_t at, uint8_t by)
{
    char text[SEALED_TEXT_SIZE];
    struct span s = buffer_span(sealed);
    memcpy(text, s.data, s.size);
    text[at % s.size] = (char)(text[at % s.size] ^ by);
    assert(opens(span_of(text, s.size)) == (by == 0));
    assert(!opens(span_of(text, s.size - 1 - at % (s.size - 1))));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (ring == NULL)
        prepare();
    if (size < 2)
        return 0;
    change_one(&session, data[0], data[1]);
    change_one(&handle, data[0], data[1]);
    assert(!opens(span_of(data + 2, size - 2)));
    return 0;
}
