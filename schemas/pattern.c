// SPDX-License-Identifier: Apache-2.0
#include "schemas/pattern.h"

// What a pattern uses, found in one pass.
struct features {
    bool look, group, escape; // look-around; another (?…); a back-reference, \b, \p, …
};

static bool is_simple_escape(char c)
{
    return strchr("dDwWsStnrfv", c) != NULL ||
           !((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'));
}

static struct features features_of(struct span p)
{
    struct features f = {false, false, false};
    bool in_class = false;
    for (size_t i = 0; i < p.size; i++) {
        char c = p.data[i], next = i + 1 < p.size ? p.data[i + 1] : '\0';
        char after = i + 2 < p.size ? p.data[i + 2] : '\0';
        char third = i + 3 < p.size ? p.data[i + 3] : '\0';
        if (c == '\\') {
            f.escape = f.escape || next == '\0' || !is_simple_escape(next);
            i++;
        } else if (in_class) {
            in_class = c != ']';
        } else if (c == '[') {
            in_class = true;
        } else if (c == '(' && next == '?') {
            bool look =
                after == '=' || after == '!' || (after == '<' && (third == '=' || third == '!'));
            f.look = f.look || look;
            f.group = f.group || after != ':';
        }
    }
    return f;
}

static bool has_escape_or_question_group(struct span p)
{
    for (size_t i = 0; i + 1 < p.size; i++)
        if (p.data[i] == '\\' || (p.data[i] == '(' && p.data[i + 1] == '?'))
            return true;
    return false;
}

// A count in braces that a grammar would have to spell out.
static bool has_large_count(struct span p)
{
    unsigned long n = 0;
    bool in = false;
    for (size_t i = 0; i < p.size; i++) {
        char c = p.data[i];
        if (c == '{') {
            in = true;
            n = 0;
        } else if (in && c >= '0' && c <= '9') {
            n = n * 10 + (unsigned long)(c - '0');
            if (n > 2000)
                return true;
        } else {
            in = in && c == ',';
            n = 0;
        }
    }
    return false;
}

bool pattern_fits(struct span pattern, enum pattern_style style)
{
    struct features f = features_of(pattern);
    switch (style) {
    case PATTERN_ANY:
        return true;
    case PATTERN_NO_LOOK:
        return !f.look;
    case PATTERN_SIMPLE:
        return !f.look && !f.group && !f.escape;
    case PATTERN_ANCHORED:
        return pattern.size >= 2 && pattern.data[0] == '^' &&
               pattern.data[pattern.size - 1] == '$' && !has_escape_or_question_group(pattern) &&
               !has_large_count(pattern);
    }
    return false;
}
