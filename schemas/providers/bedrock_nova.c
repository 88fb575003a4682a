// SPDX-License-Identifier: Apache-2.0
// Amazon Nova on Bedrock: the root has type, properties and required, so there is no place for
// definitions.
#include "schemas/providers/sets.h"

const struct provider provider_bedrock_nova = {
    .name = "bedrock-nova",
    .keeps = {SET_FULL_BUT_REFS},
    .rejects = {[KW_REF] = 1, [KW_DEFS] = 1},
    .refs = REFS_INLINE,
    .recursion = RECURSION_UNROLL,
    .type_lists = true,
    .map_values = true,
    .boolean_schemas = true,
    .root_is_bare = true,
    .int64_bounds = true,
    .names = NAMES_PLAIN,
};
