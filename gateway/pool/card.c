// SPDX-License-Identifier: Apache-2.0
// What a profile's worker answers to discover, initialize and the lists. Asked once for each digest
// of image and worker, and kept on disk, so that a restarted gateway answers before anything runs.
#include <stdio.h>
#include <stdlib.h>

#include "gateway/lib/base/encode.h"
#include "gateway/lib/base/memory.h"
#include "gateway/lib/file/file.h"
#include "gateway/lib/json/json.h"
#include "gateway/lib/telemetry/log.h"
#include "gateway/pool/asking.h"
#include "gateway/store/state_file.h"

enum { CARD_BYTES = 4 * 1024 * 1024, FILE_NAME_SIZE = 96 };

struct card {
    char digest[DIGEST_SIZE];
    char *text; // owned
    struct json *json;
};

static void card_free(struct card *c)
{
    json_free(c->json);
    free(c->text);
    free(c);
}

void cards_free(struct table *cards)
{
    void *row;
    for (size_t at = 0; table_next(cards, &at, NULL, &row);)
        card_free(row);
    table_free(cards);
}

static bool file_name(const char *digest, char out[FILE_NAME_SIZE])
{
    unsigned char bytes[32];
    struct span text = span_from_string(digest);
    if (!span_starts_with(text, SPAN_LITERAL("sha256:")) ||
        !hex_decode(span_slice(text, 7, text.size), bytes, sizeof bytes))
        return false;
    snprintf(out, FILE_NAME_SIZE, "card-%s.json", digest + 7);
    return true;
}

static struct card *card_parse(const char *digest, struct span text, struct failure *why)
{
    struct card *c = memory_new(sizeof *c);
    span_copy_string(span_from_string(digest), c->digest, sizeof c->digest);
    c->text = memory_copy_span(text);
    int rc = json_parse(span_of(c->text, text.size), &json_limits_default, &c->json, why);
    if (rc == 0 && json_type(c->json, json_get(c->json, JSON_ROOT, "tools")) != JSON_ARRAY)
        rc = failure_set(why, FAULT_PEER, "the card lists no tools");
    if (rc != 0) {
        card_free(c);
        return NULL;
    }
    return c;
}

// The table never drops a card that a pool or a request may still read: one a digest, for good.
static void card_keep(struct binder *b, struct card *c)
{
    table_put(b->cards, span_from_string(c->digest), c);
}

static struct card *card_known(struct binder *b, const char *digest)
{
    return table_get(b->cards, span_from_string(digest));
}

static void write_file(struct binder *b, const struct card *c)
{
    char name[FILE_NAME_SIZE];
    struct failure why;
    if (b->with.directory < 0 || !file_name(c->digest, name))
        return;
    if (file_replace(b->with.directory, name, span_from_string(c->text), true, &why) != 0)
        LOG(LOG_WARN, "card.keep", LOG_FAILURE(&why));
}

static struct card *read_file(struct binder *b, const char *digest)
{
    char name[FILE_NAME_SIZE];
    struct buffer content;
    struct card *c = NULL;
    if (b->with.directory < 0 || !file_name(digest, name))
        return NULL;
    buffer_init(&content, CARD_BYTES);
    if (state_file_read(b->with.directory, name, &content, NULL) == 0)
        c = card_parse(digest, buffer_span(&content), NULL);
    buffer_fini(&content);
    if (c != NULL)
        card_keep(b, c);
    return c;
}

bool card_load(struct pool *p, const char *digest)
{
    struct card *c = card_known(p->b, digest);
    if (c == NULL)
        c = read_file(p->b, digest);
    if (c != NULL)
        p->card = c;
    return c != NULL;
}

static void told(void *owner, struct ward *w, const struct worker_answer *answer,
                 const struct failure *why)
{
    struct pool *p = owner;
    struct failure mine;
    struct card *c = NULL;
    p->asking_card = false;
    if (why == NULL && w != NULL) {
        c = card_parse(w->sandbox->digest, answer->card, &mine);
        if (c == NULL)
            why = &mine;
    }
    if (why != NULL) {
        p->trouble = *why;
        failure_prefix(&p->trouble, "asking a worker for its card");
        LOG(LOG_WARN, "card.ask", LOG_STRING("profile", p->profile->name),
            LOG_FAILURE(&p->trouble));
        if (w != NULL)
            ward_suspect(w);
    } else if (card_known(p->b, c->digest) != NULL) { // another one told meanwhile
        card_free(c);
    } else {
        card_keep(p->b, c);
        write_file(p->b, c);
        LOG(LOG_INFO, "card.known", LOG_STRING("profile", p->profile->name),
            LOG_STRING("digest", c->digest), LOG_I64("bytes", (int64_t)strlen(c->text)));
    }
    if (w != NULL)
        card_load(p, w->sandbox->digest);
    loop_defer(p->b->loop, &p->b->janitor);
}

void card_ask(struct ward *w)
{
    struct pool *p = pool_of(w->b, w->sandbox->profile);
    if (card_load(p, w->sandbox->digest) || p->asking_card)
        return;
    p->asking_card = true;
    ask_card(w, told, p);
}

const struct card *binder_card(struct binder *b, const struct profile *profile, struct failure *why)
{
    const struct pool *p = pool_of(b, profile);
    const struct failure *trouble = b->trouble.fault != 0 ? &b->trouble : &p->trouble;
    if (p->card != NULL)
        return p->card;
    failure_set(why, FAULT_UNAVAILABLE, "no worker of profile %s could be asked yet%s%s",
                profile->name, trouble->fault != 0 ? ": " : "",
                trouble->fault != 0 ? trouble->text : "");
    return NULL;
}

struct span card_member(const struct card *c, const char *name)
{
    int node = json_get(c->json, JSON_ROOT, name);
    return node != JSON_NONE ? json_raw(c->json, node) : SPAN_NONE;
}
