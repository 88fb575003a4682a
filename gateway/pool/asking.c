// SPDX-License-Identifier: Apache-2.0
#include "gateway/pool/asking.h"

#include <stdlib.h>

#include "gateway/lib/base/memory.h"

struct asking {
    struct list node;
    struct binder *b; // NULL once the binder is closed
    char id[ID_SIZE];
    int64_t generation;
    asking_done *done; // NULL: nobody listens
    void *owner;
};

static void answered(void *user, const struct worker_answer *answer, const struct failure *why)
{
    struct asking *a = user;
    struct ward *w = NULL;
    struct failure gone;
    list_remove(&a->node);
    if (a->done != NULL) {
        w = ward_find(a->b, span_from_string(a->id));
        if (w != NULL && w->sandbox->generation != a->generation)
            w = NULL;
        if (w == NULL && failure_set(&gone, FAULT_LOST, "the sandbox is gone") != 0)
            why = &gone;
        a->done(a->owner, w, answer, why);
    }
    free(a);
}

static struct asking *asking_new(struct ward *w, asking_done *done, void *owner)
{
    struct asking *a = memory_new(sizeof *a);
    *a = (struct asking){
        .b = w->b, .generation = w->sandbox->generation, .done = done, .owner = owner};
    memcpy(a->id, w->sandbox->id, sizeof a->id);
    list_append(&w->b->askings, &a->node);
    return a;
}

struct asking *ask_status(struct ward *w, asking_done *done, void *owner)
{
    struct asking *a = asking_new(w, done, owner);
    w->b->with.workers->status(w->b->with.workers_user, w->sandbox, answered, a);
    return a;
}

struct asking *ask_card(struct ward *w, asking_done *done, void *owner)
{
    struct asking *a = asking_new(w, done, owner);
    w->b->with.workers->card(w->b->with.workers_user, w->sandbox, answered, a);
    return a;
}

struct asking *ask_grant(struct ward *w, const char *principal, bool granted, asking_done *done,
                         void *owner)
{
    struct asking *a = asking_new(w, done, owner);
    struct link_grant grant = {.generation = w->sandbox->generation, .granted = granted};
    span_copy_string(span_from_string(principal), grant.principal, sizeof grant.principal);
    w->b->with.workers->grant(w->b->with.workers_user, w->sandbox, &grant, answered, a);
    return a;
}

struct asking *ask_bind(struct ward *w, const char *principal, const char *session,
                        asking_done *done, void *owner)
{
    struct asking *a = asking_new(w, done, owner);
    const struct sandbox *s = w->sandbox;
    struct link_bind bind = {.generation = s->generation, .idle_ms = s->idle_ms};
    span_copy_string(span_from_string(principal), bind.principal, sizeof bind.principal);
    span_copy_string(span_from_string(session), bind.session, sizeof bind.session);
    int64_t left = ward_expires_ms(w) - store_now_ms(w->b->store);
    bind.absolute_ms = left > 0 ? left : 1;
    w->b->with.workers->bind(w->b->with.workers_user, w->sandbox, &bind, answered, a);
    return a;
}

void asking_cancel(struct asking *a)
{
    if (a != NULL)
        a->done = NULL;
}

void askings_cancel_all(struct binder *b)
{
    // They stay on their own until the worker's side answers or drops them.
    for (struct list *node; (node = list_pop(&b->askings)) != NULL;) {
        struct asking *a = LIST_ENTRY(node, struct asking, node);
        a->done = NULL;
        a->b = NULL;
    }
}
