// SPDX-License-Identifier: Apache-2.0
// What a pattern's text tells about its matches. One pass, no tree: whatever it does not know ends
// the current literal run, or gives up on the fact for good.
#include "workers/tools/regex.h"

struct facts_pass {
    struct span pattern;
    size_t at;
    int depth;     // of groups; only what stands outside of all is in every match
    bool literals; // still trusted
    bool plain;    // so far nothing but literal characters
    char run[sizeof((struct regex_facts *)0)->literal];
    size_t run_size;
    struct regex_facts *out;
};

static void end_run(struct facts_pass *p)
{
    if (p->depth == 0 && p->run_size > p->out->literal_size) {
        memcpy(p->out->literal, p->run, p->run_size);
        p->out->literal_size = p->run_size;
    }
    p->run_size = 0;
}

static void add_literal(struct facts_pass *p, char c)
{
    if (p->run_size == sizeof p->run)
        p->plain = false; // the run goes on in a second one: no longer all of the pattern
    if (p->run_size == sizeof p->run)
        end_run(p);
    p->run[p->run_size++] = c;
}

// A quantifier that allows zero times: the last character is not in every match.
static void drop_last(struct facts_pass *p)
{
    while (p->run_size > 0 && ((unsigned char)p->run[p->run_size - 1] & 0xc0) == 0x80)
        p->run_size--;
    if (p->run_size > 0)
        p->run_size--;
    end_run(p);
}

static void take_escape(struct facts_pass *p)
{
    char c = p->at < p->pattern.size ? p->pattern.data[p->at] : '\0';
    p->at++;
    bool is_word = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (!is_word && (unsigned char)c < 0x80 && c != '\0') {
        add_literal(p, c);
        return;
    }
    end_run(p);
    p->plain = false;
    if (c == '\0' || strchr("bBdwtSh", c) == NULL)
        p->out->in_line = false;
    // These take what follows as their own: digits, braces, names.
    if (c == '\0' || strchr("bBdDwWsSthHvVnrRfaeAzZGK", c) == NULL)
        p->literals = false;
}

static void take_class(struct facts_pass *p)
{
    struct span s = p->pattern;
    end_run(p);
    p->plain = false;
    if (p->at < s.size && s.data[p->at] == '^') {
        p->out->in_line = false;
        p->at++;
    }
    for (bool first = true; p->at < s.size && (first || s.data[p->at] != ']'); first = false) {
        char c = s.data[p->at++];
        if (c == '[' && p->at < s.size && strchr(":.=", s.data[p->at]) != NULL) {
            p->out->in_line = false; // may be [:space:]; and its ] does not end the class
            p->literals = false;
        } else if (c == '\\' && p->at < s.size) {
            char escaped = s.data[p->at++];
            bool is_punctuation = strchr("-]\\[^.$*+?(){}|/'\"", escaped) != NULL;
            if (escaped == '\0' || (!is_punctuation && strchr("dw", escaped) == NULL)) {
                p->out->in_line = false;
                p->literals = p->literals && strchr("sSDWtnrhHvV", escaped) != NULL;
            }
        } else if ((unsigned char)c < ' ') {
            p->out->in_line = false;
        }
    }
    p->at++;
}

static void take_group(struct facts_pass *p)
{
    struct span rest = span_slice(p->pattern, p->at, p->pattern.size);
    end_run(p);
    p->plain = false;
    p->depth++;
    if (span_starts_with(rest, SPAN_LITERAL("?:"))) {
        p->at += 2;
    } else if (rest.size > 0 && (rest.data[0] == '?' || rest.data[0] == '*')) {
        p->literals = false; // flags, look-around, conditions, verbs
        p->out->in_line = false;
    }
}

static void take_brace(struct facts_pass *p)
{
    struct span s = p->pattern;
    size_t end = p->at;
    p->plain = false;
    while (end < s.size && strchr("0123456789, ", s.data[end]) != NULL && s.data[end] != '\0')
        end++;
    drop_last(p);
    if (end < s.size && s.data[end] == '}')
        p->at = end + 1;
}

static void take_special(struct facts_pass *p, char c)
{
    switch (c) {
    case '\\':
        take_escape(p);
        return;
    case '[':
        take_class(p);
        return;
    case '(':
        take_group(p);
        return;
    case '{':
        take_brace(p);
        return;
    case '*':
    case '?':
        drop_last(p);
        break;
    case ')':
        end_run(p);
        p->depth--;
        break;
    case '|':
        end_run(p);
        if (p->depth == 0)
            p->literals = false;
        break;
    default: // + . ^ $
        end_run(p);
        break;
    }
    p->plain = false;
}

void regex_facts_of(struct span pattern, struct regex_facts *out)
{
    struct facts_pass p = {.pattern = pattern, .literals = true, .plain = true, .out = out};
    *out = (struct regex_facts){.in_line = true};
    while (p.at < pattern.size) {
        char c = pattern.data[p.at++];
        if (c == '\n' || c == '\r' || c == '\0') {
            out->in_line = p.plain = false;
            end_run(&p);
        } else if (strchr("\\[({*?)|+.^$", c) != NULL) {
            take_special(&p, c);
        } else {
            add_literal(&p, c);
        }
    }
    end_run(&p);
    out->is_literal = p.plain && p.literals && out->literal_size > 0;
    if (!p.literals)
        out->literal_size = 0;
}
