// SPDX-License-Identifier: Apache-2.0
#include "gateway/proxy/tool_lists.h"

#include "gateway/lib/base/memory.h"
#include "gateway/lib/base/table.h"
#include "gateway/lib/telemetry/log.h"
#include "gateway/pool/binder.h"
#include "gateway/proxy/parameters.h"

enum { LIST_BYTES = 16 << 20 };
#define PREFIX "{\"tools\":"

struct kept_list {
    struct tool_list list;
    struct buffer text; // list.tools lies in it
};

struct tool_lists {
    struct table *rows; // owned, of kept_list; the key is the two pointers
};

struct tool_lists *tool_lists_new(void)
{
    struct tool_lists *l = memory_new(sizeof *l);
    l->rows = table_new();
    return l;
}

void tool_lists_free(struct tool_lists *l)
{
    void *row;
    for (size_t at = 0; table_next(l->rows, &at, NULL, &row);) {
        struct kept_list *kept = row;
        parameters_free(kept->list.parameters);
        tool_map_free(kept->list.map);
        buffer_fini(&kept->text);
        memory_free_at(&kept);
    }
    table_free(l->rows);
    memory_free_at(&l);
}

static void rewrite(struct kept_list *kept, struct span tools, const struct provider *provider)
{
    struct buffer result;
    struct failure why = {0};
    buffer_init(&result, LIST_BYTES);
    buffer_append_string(&result, PREFIX);
    buffer_append(&result, tools);
    int fault = buffer_append_char(&result, '}');
    if (fault == 0)
        fault = tools_rewrite(buffer_span(&result), provider, &kept->text, &kept->list.map, &why);
    struct span text = buffer_span(&kept->text);
    if (fault == 0) // every byte around the list stayed
        kept->list.tools = span_slice(text, sizeof PREFIX - 1, text.size - 1);
    else
        LOG(LOG_WARN, "tools.rewrite", LOG_STRING("provider", provider->name), LOG_FAILURE(&why));
    buffer_fini(&result);
}

static struct kept_list *make(const struct card *card, const struct provider *provider)
{
    struct kept_list *kept = memory_new(sizeof *kept);
    struct span tools = card_member(card, "tools");
    buffer_init(&kept->text, LIST_BYTES);
    if (provider != NULL)
        rewrite(kept, tools, provider);
    else
        kept->list.tools = tools;
    kept->list.parameters =
        parameters_new(span_is_absent(kept->list.tools) ? tools : kept->list.tools);
    return kept;
}

const struct tool_list *tool_lists_get(struct tool_lists *l, const struct card *card,
                                       const struct provider *provider)
{
    const void *pair[] = {card, provider};
    struct span key = span_of(pair, sizeof pair);
    struct kept_list *kept = table_get(l->rows, key);
    if (kept == NULL) {
        kept = make(card, provider);
        table_put(l->rows, key, kept);
    }
    return &kept->list;
}
