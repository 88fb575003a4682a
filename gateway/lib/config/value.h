// SPDX-License-Identifier: Apache-2.0
//
// One value: from its text into a field of the program's struct, and back.
#ifndef WRIST_GATEWAY_LIB_CONFIG_VALUE_H
#define WRIST_GATEWAY_LIB_CONFIG_VALUE_H

#include "gateway/lib/config/keys.h"

// `field` is where the value goes (for STRINGS: one char *, which the value then owns). On failure
// *why reads "expected …, got …".
int value_parse(const struct key *k, struct span text, bool quoted, void *field,
                struct failure *why);
// As one would write it in the file.
int value_format(const struct key *k, const void *field, struct buffer *out);
int value_write_string(struct span text, struct buffer *out); // quoted where it must be
// "a size like 16MiB from 1KiB to 1GiB", "one of a, b"
int value_write_expectation(const struct key *k, struct buffer *out);
// The same as text in `out`, cut where it does not fit.
void value_expectation(const struct key *k, char *out, size_t out_size);
void value_range(const struct key *k, int64_t *least, int64_t *most);
bool name_is_valid(const char *text);

#endif
