// SPDX-License-Identifier: Apache-2.0
#ifndef WRIST_SCHEMAS_PATTERN_H
#define WRIST_SCHEMAS_PATTERN_H

#include "schemas/provider.h"

// Does the regular expression stay within what the provider's engine knows?
bool pattern_fits(struct span pattern, enum pattern_style style);

#endif
