// SPDX-License-Identifier: Apache-2.0
// The file of keys that replicas share.
#include "gateway/lib/crypto/keyring.h"

#include <stdio.h>

#include "ctl/command.h"
#include "gateway/lib/base/clock.h"

int keyring_new_command(int argc, char **argv)
{
    struct keyring *ring;
    struct failure why;
    if (argc != 1) {
        fputs("wristctl: expected one FILE\n", stderr);
        return 2;
    }
    if (keyring_open(argv[0], clock_wall_ms(clock_system()), &ring, &why) != 0) {
        fprintf(stderr, "wristctl: %s\n", why.text);
        return 1;
    }
    printf("%s has %zu key%s\n", argv[0], keyring_count(ring), keyring_count(ring) == 1 ? "" : "s");
    keyring_free(ring);
    return 0;
}
