// SPDX-License-Identifier: Apache-2.0
//
// The streaming redactor: every byte goes in once and comes out, but for secrets, in whose place a
// mark stands ("[redacted:github-token]"). What comes out depends on the bytes alone, not on how
// they were cut into pieces. At most 64 KiB are held back.
#ifndef WRIST_GATEWAY_LIB_SCRUB_SCRUB_H
#define WRIST_GATEWAY_LIB_SCRUB_SCRUB_H

#include "gateway/lib/base/buffer.h"
#include "gateway/lib/base/span.h"

struct scrub;

// `emit` gets the scrubbed bytes in order; what it returns, if not 0, ends the pass.
// NULL: secrets are only counted.
struct scrub *scrub_new(int (*emit)(void *owner, struct span bytes), void *owner);
void scrub_free(struct scrub *s);
int scrub_push(struct scrub *s, struct span bytes);
int scrub_finish(struct scrub *s);         // nothing more will be pushed
size_t scrub_found(const struct scrub *s); // secrets so far

// A text that is all there. *found may be NULL. FAULT_TOO_LARGE from the buffer.
int scrub_text(struct span text, struct buffer *out, size_t *found);

// Whether the text has a mark of ours in it.
bool scrub_has_mark(struct span text);

// A value that must not leave this process, nor its base64 or its URL-encoded form. Known for good,
// by all passes and by children forked later: call it before the first pass. Values of less than 8
// or more than 1024 bytes are not taken.
void scrub_know(const char *label, struct span value);

#endif
