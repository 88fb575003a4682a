// SPDX-License-Identifier: Apache-2.0
//
// Tool lists as providers get them, each made once for a card and kept, so that a list in a
// provider's dialect costs no more than a plain one.
#ifndef WRIST_GATEWAY_PROXY_TOOL_LISTS_H
#define WRIST_GATEWAY_PROXY_TOOL_LISTS_H

#include "schemas/tools.h"

struct card;
struct parameters;
struct tool_lists;

struct tool_list {
    struct span tools;    // a JSON array; absent where the card's list could not be rewritten
    struct tool_map *map; // NULL then, and for the card's own list
    struct parameters *parameters; // that the list marks for the head
};

struct tool_lists *tool_lists_new(void);
void tool_lists_free(struct tool_lists *l);
// Lives as long as `l`: there is one for each card, which the binder keeps, and provider;
// NULL: the card's own list.
const struct tool_list *tool_lists_get(struct tool_lists *l, const struct card *card,
                                       const struct provider *provider);

#endif
