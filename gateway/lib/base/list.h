// SPDX-License-Identifier: Apache-2.0
//
// Intrusive doubly linked ring. The head is a node too; an object embeds one node for each list it
// can be on. Removing a node that is on no list is harmless, so cleaning up needs no flag.
#ifndef WRIST_GATEWAY_LIB_BASE_LIST_H
#define WRIST_GATEWAY_LIB_BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

#include "gateway/lib/base/memory.h"

struct list {
    struct list *next, *prev;
};

static inline void list_init(struct list *l)
{
    l->next = l->prev = l;
}

static inline bool list_is_empty(const struct list *l)
{
    return l->next == NULL || l->next == l;
}

static inline void list_remove(struct list *node)
{
    if (node->next == NULL)
        return;
    node->prev->next = node->next;
    node->next->prev = node->prev;
    node->next = node->prev = node;
}

static inline void list_append(struct list *head, struct list *node)
{
    node->prev = head->prev;
    node->next = head;
    head->prev->next = node;
    head->prev = node;
}

static inline void list_prepend(struct list *head, struct list *node)
{
    list_append(head->next, node);
}

// The first node taken off the list, NULL where it is empty.
static inline struct list *list_pop(struct list *head)
{
    if (list_is_empty(head))
        return NULL;
    struct list *node = head->next;
    list_remove(node);
    return node;
}

#define LIST_ENTRY(node, type, member) CONTAINER_OF(node, type, member)
// The body may remove `node`, and nothing else.
#define LIST_EACH(node, head)                                                                      \
    for (struct list *node = (head)->next, *node##_next = node->next; node != (head);              \
         node = node##_next, node##_next = node->next)

#endif
