// SPDX-License-Identifier: Apache-2.0
// Ollama decodes tools into structs and drops the rest without a word, so everything else is told.
#include "schemas/providers/sets.h"

const struct provider provider_ollama = {
    .name = "ollama",
    .keeps = {SET_BASIC},
    .refs = REFS_INLINE,
    .recursion = RECURSION_UNROLL,
    .type_lists = true,
    .lax = true,
    .names = NAMES_PLAIN,
};
