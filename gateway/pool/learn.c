// SPDX-License-Identifier: Apache-2.0
// What other replicas made: whoever needs to know waits for one comparison with the driver's list,
// which all who came before it was asked for share.
#include <stdlib.h>

#include "gateway/lib/base/memory.h"
#include "gateway/pool/state.h"

void learn(struct binder *b, struct learner *l)
{
    list_append(&b->learners, &l->node);
    if (b->listing)
        b->list_again = true;
    else
        timer_start(&b->relist, 0);
}

void learn_begin(struct binder *b)
{
    for (struct list *node; (node = list_pop(&b->learners)) != NULL;)
        list_append(&b->learning, node);
}

void learn_finish(struct binder *b, const struct failure *why)
{
    struct list told;
    list_init(&told);
    for (struct list *node; (node = list_pop(&b->learning)) != NULL;)
        list_append(&told, node);
    for (struct list *node; (node = list_pop(&told)) != NULL;) {
        struct learner *l = LIST_ENTRY(node, struct learner, node);
        l->told(l, why);
    }
}

static void forget_list(struct list *learners)
{
    for (struct list *node; (node = list_pop(learners)) != NULL;) {
        struct learner *l = LIST_ENTRY(node, struct learner, node);
        if (l->owned)
            free(l);
    }
}

void learn_forget(struct binder *b)
{
    forget_list(&b->learners);
    forget_list(&b->learning);
}

struct ghost {
    struct learner learner; // first: freed with it
    struct binder *b;
    char id[ID_SIZE];
};

static void ghost_told(struct learner *l, const struct failure *why)
{
    struct ghost *g = CONTAINER_OF(l, struct ghost, learner);
    if (why == NULL && ward_find(g->b, span_from_string(g->id)) == NULL)
        store_sandbox_delete(g->b->store, g->id, NULL, NULL);
    free(g);
}

void learn_about_ghost(struct binder *b, const char *id)
{
    struct ghost *g = memory_new(sizeof *g);
    g->b = b;
    g->learner = (struct learner){.told = ghost_told, .owned = true};
    if (span_copy_string(span_from_string(id), g->id, sizeof g->id))
        learn(b, &g->learner);
    else
        free(g);
}

struct ward *ward_of_note(struct binder *b, const char *key, const char *principal)
{
    for (int state = SANDBOX_BOUND; state <= SANDBOX_IDLE; state++) {
        struct list *head = fleet_in_state(b->fleet, state);
        LIST_EACH(node, head)
        {
            const struct sandbox *s = LIST_ENTRY(node, struct sandbox, by_state);
            struct ward *w = s->owner;
            if (strcmp(w->note, key) == 0 && strcmp(s->principal, principal) == 0)
                return w;
        }
    }
    return NULL;
}
