// SPDX-License-Identifier: Apache-2.0
//
// A compiled pattern under limits: PCRE2 with JIT, UTF-8 where the text is, any bytes otherwise.
// What can be told from the pattern's text makes searching fast: a string that every match
// contains, and whether a match can ever reach across a line end.
#ifndef WRIST_WORKERS_TOOLS_REGEX_H
#define WRIST_WORKERS_TOOLS_REGEX_H

#include "gateway/lib/base/failure.h"
#include "gateway/lib/base/span.h"

struct regex;

struct regex_options {
    bool case_insensitive;
    bool multiline;
};

int regex_compile(struct span pattern, const struct regex_options *options, struct regex **out,
                  struct failure *why);
void regex_free(struct regex *re);

enum regex_found { REGEX_NO, REGEX_YES, REGEX_TOO_COSTLY };

// The first match in `text` at or behind `from`: text[*start, *end).
enum regex_found regex_find(struct regex *re, struct span text, size_t from, size_t *start,
                            size_t *end);

// Facts about the pattern; see regex_facts_of.
struct regex_facts {
    char literal[256]; // in every match; literal_size 0: none is known
    size_t literal_size;
    bool is_literal; // the pattern is that string and nothing else
    bool in_line;    // looks at nothing beyond the line it matches in, and matches no line end
};
const struct regex_facts *regex_facts(const struct regex *re);
bool regex_is_fast(const struct regex *re); // compiled to machine code

// Conservative: says nothing of what it does not know.
void regex_facts_of(struct span pattern, struct regex_facts *out);

#endif
