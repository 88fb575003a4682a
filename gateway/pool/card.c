// SPDX-License-Identifier: Apache-2.0
// What a profile's worker answers to discover, initialize and the lists. Asked once for each digest
// of image and worker, and kept on disk, so that a restarted gateway answers before anything runs.
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

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

// Whether a profile, or a sandbox that runs, is of this image and worker.
static bool is_present(struct binder *b, const char *digest)
{
    for (size_t i = 0; i < b->pool_count; i++)
        if (strcmp(b->pools[i].digest, digest) == 0)
            return true;
    for (int state = 0; state < SANDBOX_GONE; state++) {
        struct list *head = fleet_in_state(b->fleet, (enum sandbox_state)state);
        LIST_EACH(node, head)
        if (strcmp(LIST_ENTRY(node, struct sandbox, by_state)->digest, digest) == 0)
            return true;
    }
    return false;
}

// A driver that did not say what some profile is of may still have been asked before.
static bool all_are_known(const struct binder *b)
{
    for (size_t i = 0; i < b->pool_count; i++)
        if (b->pools[i].digest[0] == '\0')
            return false;
    return true;
}

static void tidy_file(struct binder *b, const char *name)
{
    char digest[DIGEST_SIZE], file[FILE_NAME_SIZE];
    struct span text = span_from_string(name);
    if (!span_starts_with(text, SPAN_LITERAL("card-")) || text.size != 5 + 64 + 5)
        return;
    snprintf(digest, sizeof digest, "sha256:%.64s", name + 5);
    if (file_name(digest, file) && strcmp(file, name) == 0 && !is_present(b, digest))
        unlinkat(b->with.directory, name, 0);
}

void cards_tidy(struct binder *b)
{
    if (b->with.directory < 0 || !all_are_known(b))
        return;
    int fd = openat(b->with.directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = fd >= 0 ? fdopendir(fd) : NULL;
    for (struct dirent *e; folder != NULL && (e = readdir(folder)) != NULL;)
        tidy_file(b, e->d_name);
    if (folder != NULL)
        closedir(folder);
    else if (fd >= 0)
        close(fd);
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
