// SPDX-License-Identifier: Apache-2.0
// Secrets that can be told by their form alone, one row each, after what their providers publish.
#include "gateway/lib/base/memory.h"
#include "gateway/lib/scrub/inside.h"

enum charset { ALNUM, WORD, UPPER, BASE64, DOTTED, SLASHED };

enum { MIXED = 1 }; // has a digit and a letter: words are none

struct shape {
    const char *label;
    const char *prefix;
    enum charset charset;
    size_t least, most; // characters behind the prefix
    unsigned flags;
};

static const struct shape shapes[] = {
    {"aws-access-key", "AKIA", UPPER, 16, 16, 0},
    {"aws-access-key", "ASIA", UPPER, 16, 16, 0},
    {"aws-access-key", "ABIA", UPPER, 16, 16, 0},
    {"aws-access-key", "ACCA", UPPER, 16, 16, 0},
    {"github-token", "ghp_", ALNUM, 36, 255, 0},
    {"github-token", "gho_", ALNUM, 36, 255, 0},
    {"github-token", "ghu_", ALNUM, 36, 255, 0},
    {"github-token", "ghs_", ALNUM, 36, 255, 0},
    {"github-token", "ghr_", ALNUM, 36, 255, 0},
    {"github-token", "github_pat_", WORD, 36, 255, 0},
    {"gitlab-token", "glpat-", DOTTED, 20, 300, 0},
    {"gitlab-token", "gldt-", WORD, 20, 300, 0},
    {"gitlab-token", "glrt-", WORD, 20, 300, 0},
    {"gitlab-token", "glcbt-", WORD, 20, 300, 0},
    {"gitlab-token", "glptt-", WORD, 20, 300, 0},
    {"gitlab-token", "glft-", WORD, 20, 300, 0},
    {"gitlab-token", "glimt-", WORD, 20, 300, 0},
    {"gitlab-token", "glagent-", WORD, 20, 300, 0},
    {"gitlab-token", "gloas-", WORD, 20, 300, 0},
    {"gitlab-token", "glsoat-", WORD, 20, 300, 0},
    {"gitlab-token", "glffct-", WORD, 20, 300, 0},
    {"gitlab-token", "GR1348941", WORD, 20, 64, 0},
    {"slack-token", "xoxb-", WORD, 10, 400, MIXED},
    {"slack-token", "xoxp-", WORD, 10, 400, MIXED},
    {"slack-token", "xoxa-", WORD, 10, 400, MIXED},
    {"slack-token", "xoxr-", WORD, 10, 400, MIXED},
    {"slack-token", "xoxs-", WORD, 10, 400, MIXED},
    {"slack-token", "xoxo-", WORD, 10, 400, MIXED},
    {"slack-token", "xoxe-", WORD, 10, 400, MIXED},
    {"slack-token", "xoxe.xox", WORD, 10, 400, MIXED},
    {"slack-token", "xapp-", WORD, 10, 400, MIXED},
    {"slack-webhook", "hooks.slack.com/services/", SLASHED, 30, 128, MIXED},
    {"slack-webhook", "hooks.slack.com/workflows/", SLASHED, 30, 128, MIXED},
    {"stripe-key", "sk_live_", ALNUM, 10, 255, 0},
    {"stripe-key", "sk_test_", ALNUM, 10, 255, 0},
    {"stripe-key", "sk_prod_", ALNUM, 10, 255, 0},
    {"stripe-key", "rk_live_", ALNUM, 10, 255, 0},
    {"stripe-key", "rk_test_", ALNUM, 10, 255, 0},
    {"stripe-key", "rk_prod_", ALNUM, 10, 255, 0},
    {"webhook-secret", "whsec_", BASE64, 24, 128, MIXED},
    {"google-api-key", "AIza", WORD, 35, 35, 0},
    {"google-oauth", "ya29.", WORD, 20, 2048, MIXED},
    {"google-oauth", "GOCSPX-", WORD, 24, 64, 0},
    {"anthropic-key", "sk-ant-", WORD, 20, 255, MIXED},
    {"openai-key", "sk-proj-", WORD, 20, 255, MIXED},
    {"openai-key", "sk-svcacct-", WORD, 20, 255, MIXED},
    {"openai-key", "sk-admin-", WORD, 20, 255, MIXED},
    {"api-key", "sk-or-v1-", ALNUM, 32, 128, MIXED},
    {"openai-key", "sk-", ALNUM, 20, 128, MIXED},
    {"npm-token", "npm_", ALNUM, 36, 36, 0},
    {"pypi-token", "pypi-AgE", WORD, 40, 1024, MIXED},
    {"huggingface-token", "hf_", ALNUM, 30, 64, MIXED},
    {"huggingface-token", "api_org_", ALNUM, 30, 64, MIXED},
    {"sendgrid-key", "SG.", DOTTED, 60, 72, MIXED},
    {"docker-token", "dckr_pat_", WORD, 20, 64, 0},
    {"docker-token", "dckr_oat_", WORD, 20, 64, 0},
    {"vault-token", "hvs.", WORD, 20, 300, MIXED},
    {"vault-token", "hvb.", WORD, 20, 300, MIXED},
    {"vault-token", "hvr.", WORD, 20, 300, MIXED},
    {"digitalocean-token", "dop_v1_", ALNUM, 64, 64, 0},
    {"digitalocean-token", "doo_v1_", ALNUM, 64, 64, 0},
    {"digitalocean-token", "dor_v1_", ALNUM, 64, 64, 0},
    {"shopify-token", "shpat_", ALNUM, 32, 32, 0},
    {"shopify-token", "shpca_", ALNUM, 32, 32, 0},
    {"shopify-token", "shppa_", ALNUM, 32, 32, 0},
    {"shopify-token", "shpss_", ALNUM, 32, 32, 0},
    {"age-key", "AGE-SECRET-KEY-1", UPPER, 58, 58, 0},
    {"databricks-token", "dapi", ALNUM, 32, 40, MIXED},
    {"linear-key", "lin_api_", ALNUM, 40, 40, 0},
    {"postman-key", "PMAK-", WORD, 59, 59, 0},
    {"grafana-token", "glsa_", WORD, 41, 41, 0},
    {"grafana-token", "glc_", BASE64, 32, 400, MIXED},
    {"newrelic-key", "NRAK-", UPPER, 27, 27, 0},
    {"pulumi-token", "pul-", ALNUM, 40, 40, MIXED},
    {"rubygems-key", "rubygems_", ALNUM, 48, 48, 0},
    {"square-token", "EAAA", WORD, 60, 60, MIXED},
    {"square-secret", "sq0csp-", WORD, 43, 43, 0},
    {"doppler-token", "dp.pt.", ALNUM, 40, 44, 0},
    {"doppler-token", "dp.st.", DOTTED, 40, 80, 0},
    {"planetscale-token", "pscale_tkn_", DOTTED, 32, 64, 0},
    {"planetscale-password", "pscale_pw_", DOTTED, 32, 64, 0},
    {"prefect-key", "pnu_", ALNUM, 36, 36, 0},
    {"readme-key", "rdme_", ALNUM, 70, 70, 0},
    {"sentry-token", "sntrys_", BASE64, 80, 400, 0},
    {"sentry-token", "sntryu_", ALNUM, 64, 64, 0},
    {"1password-token", "ops_eyJ", BASE64, 200, 2000, 0},
    {"flyio-token", "fm2_", BASE64, 100, 2000, 0},
    {"flyio-token", "fo1_", WORD, 43, 43, 0},
    {"artifactory-key", "AKCp", ALNUM, 69, 69, 0},
    {"brevo-key", "xkeysib-", WORD, 81, 81, 0},
    {"easypost-key", "EZAK", ALNUM, 54, 54, 0},
    {"easypost-key", "EZTK", ALNUM, 54, 54, 0},
    {"groq-key", "gsk_", ALNUM, 40, 64, MIXED},
    {"replicate-token", "r8_", ALNUM, 37, 37, MIXED},
    {"perplexity-key", "pplx-", ALNUM, 40, 64, 0},
    {"supabase-token", "sbp_", ALNUM, 40, 40, 0},
    {"atlassian-token", "ATATT3", WORD, 180, 240, 0},
    {"dynatrace-token", "dt0c01.", DOTTED, 80, 100, 0},
    {"facebook-token", "EAAC", ALNUM, 90, 300, MIXED},
};

static bool is_in(enum charset set, char c)
{
    switch (set) {
    case ALNUM:
        return scrub_is_alnum(c);
    case WORD:
        return scrub_is_word(c);
    case UPPER:
        return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z');
    case BASE64:
        return scrub_is_word(c) || c == '+' || c == '/' || c == '=';
    case DOTTED:
        return scrub_is_word(c) || c == '.';
    case SLASHED:
        return scrub_is_word(c) || c == '/';
    }
    return false;
}

static bool is_mixed(struct span s)
{
    bool digit = false, letter = false;
    for (size_t i = 0; i < s.size; i++) {
        bool is_digit = s.data[i] >= '0' && s.data[i] <= '9';
        digit = digit || is_digit;
        letter = letter || (!is_digit && scrub_is_alnum(s.data[i]));
    }
    return digit && letter;
}

static bool begins_here(struct span window, size_t at)
{
    return at == 0 || !scrub_is_word(window.data[at - 1]) || window.data[at - 1] == '-';
}

static bool check_shape(const void *row, struct span window, size_t at, struct scrub_match *out)
{
    const struct shape *s = row;
    size_t prefix = strlen(s->prefix), size = 0;
    if (window.size - at < prefix + s->least || memcmp(window.data + at, s->prefix, prefix) != 0 ||
        !begins_here(window, at))
        return false;
    const char *body = window.data + at + prefix;
    size_t most = window.size - at - prefix;
    while (size < most && size <= s->most && is_in(s->charset, body[size]))
        size++;
    if (size > 0 && s->charset == DOTTED && body[size - 1] == '.')
        size--; // the end of a sentence
    if (size < s->least || size > s->most ||
        ((s->flags & MIXED) != 0 && !is_mixed(span_of(body, size))) ||
        scrub_is_placeholder(span_of(body, size)))
        return false;
    *out = (struct scrub_match){at, at + prefix + size, s->label, false};
    return true;
}

static size_t run_of(struct span window, size_t at, enum charset set)
{
    size_t end = at;
    while (end < window.size && end - at < SCRUB_AHEAD / 3 && is_in(set, window.data[end]))
        end++;
    return end;
}

// header.payload.signature, of which the first two are JSON objects in base64url
static bool check_jwt(const void *row, struct span window, size_t at, struct scrub_match *out)
{
    (void)row;
    if (!begins_here(window, at))
        return false;
    size_t header = run_of(window, at, WORD);
    if (header - at < 16 || window.size - header < 8 ||
        memcmp(window.data + header, ".eyJ", 4) != 0)
        return false;
    size_t payload = run_of(window, header + 1, WORD);
    if (payload - header < 12 || payload >= window.size || window.data[payload] != '.')
        return false;
    size_t end = run_of(window, payload + 1, WORD);
    *out = (struct scrub_match){at, end, "jwt", false};
    return end - payload >= 11;
}

// scheme://user:password@host
static bool check_url(const void *row, struct span window, size_t at, struct scrub_match *out)
{
    (void)row;
    size_t colon = 0, i = at + 3;
    if (at == 0 || !scrub_is_alnum(window.data[at - 1]))
        return false;
    for (; i < window.size && i - at < 600; i++) {
        char c = window.data[i];
        if (c == ':' && colon == 0)
            colon = i + 1;
        if (c == '@')
            break;
        if (c <= ' ' || strchr("/?#\"'`<>{}()[]|\\,", c) != NULL)
            return false;
    }
    if (colon == 0 || i >= window.size || i - at >= 600 || i - colon < 3)
        return false;
    struct span value = span_of(window.data + colon, i - colon);
    if (scrub_is_placeholder(value) || memchr(value.data, '$', value.size) == value.data ||
        memchr(value.data, '%', value.size) == value.data)
        return false;
    *out = (struct scrub_match){colon, i, "url-password", false};
    return true;
}

// -----BEGIN … PRIVATE KEY-----: stays, and what follows is taken out line by line
static bool check_key(const void *row, struct span window, size_t at, struct scrub_match *out)
{
    static const char begin[] = "-----BEGIN ";
    (void)row;
    size_t end = at, size = sizeof begin - 1;
    if (at < size || memcmp(window.data + at - size, begin, size) != 0)
        return false;
    while (end < window.size && end - at < 64 &&
           ((window.data[end] >= 'A' && window.data[end] <= 'Z') || window.data[end] == ' ' ||
            (window.data[end] >= '0' && window.data[end] <= '9')))
        end++;
    struct span name = span_of(window.data + at, end - at);
    if (window.size - end < 5 || memcmp(window.data + end, "-----", 5) != 0 ||
        memmem(name.data, name.size, "PRIVATE KEY", 11) == NULL)
        return false;
    *out = (struct scrub_match){end + 5, end + 5, "private-key", true};
    return true;
}

void shapes_add(struct anchor_list *list)
{
    static const char *const keys[] = {"PRI", "RSA", "EC ", "DSA", "OPE", "ENC", "PGP", "SSH"};
    for (size_t i = 0; i < ARRAY_COUNT(shapes); i++)
        anchor_add(list, shapes[i].prefix, false, &shapes[i], check_shape);
    for (size_t i = 0; i < ARRAY_COUNT(keys); i++)
        anchor_add(list, keys[i], false, NULL, check_key);
    anchor_add(list, "eyJ", false, NULL, check_jwt);
    anchor_add(list, "://", false, NULL, check_url);
}
