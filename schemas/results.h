// SPDX-License-Identifier: Apache-2.0
//
// Makes a tool's result safe for Gemini, which takes an object key "$ref" anywhere in a function
// response for a pointer to an attachment. The key is renamed; value, order and siblings stay.
#ifndef WRIST_SCHEMAS_RESULTS_H
#define WRIST_SCHEMAS_RESULTS_H

#include "gateway/lib/base/buffer.h"

// A JSON value: what is not an object is wrapped as {"result": …}; "$ref" gets underscores in front
// until the key is free in its object; lone surrogates and NUL become U+FFFD; a number that is not
// finite becomes a string. FAULT_PARSE or FAULT_TOO_LARGE with the place.
int results_rewrite(struct span json, struct buffer *out, struct failure *why);

// The same without the wrap: a value that results are compared with.
int results_rewrite_value(struct span json, struct buffer *out);

// A `tools/call` result: its structuredContent as above, and, with `texts`, each text block whose
// whole text is one JSON object or array. Everything else keeps its bytes.
int results_rewrite_call(struct span result, bool texts, struct buffer *out, struct failure *why);

#endif
