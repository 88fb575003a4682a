// SPDX-License-Identifier: Apache-2.0
#include "workers/link/findings.h"

#include <stdlib.h>

#include "gateway/lib/base/list.h"
#include "gateway/lib/base/memory.h"
#include "gateway/lib/loop/loop.h"
#include "gateway/lib/loop/timer.h"
#include "workers/checks/file_check.h"

// One file of one reader: being looked at, or looked at and not told.
struct look {
    struct list node;
    struct findings *f;
    char *reader, *path;     // owned
    char *text;              // owned; what was found. NULL while it is looked at
    bool is_noted;           // the reader knows that it is still looked at
    struct command *command; // NULL once it has ended
    struct timer wait;
    void (*told)(void *owner); // NULL: nobody waits
    void *owner;
};

struct findings {
    struct command_options command;
    struct list looks; // the oldest first
    size_t count;
};

struct findings *findings_new(const struct command_options *command)
{
    struct findings *f = memory_new(sizeof *f);
    f->command = *command;
    f->command.output_limit = FILE_CHECK_OUTPUT_BYTES;
    f->command.body = file_check_run;
    list_init(&f->looks);
    return f;
}

static void look_free(void *object)
{
    struct look *l = object;
    free(l->reader);
    free(l->path);
    free(l->text);
    free(l);
}

static void tell(struct look *l)
{
    void (*told)(void *owner) = l->told;
    l->told = NULL;
    timer_cancel(&l->wait);
    if (told != NULL)
        told(l->owner);
}

// Somebody who waits for it is told that there is nothing to wait for.
static void look_bury(struct look *l)
{
    if (l->command != NULL)
        command_forget(l->command);
    l->command = NULL;
    list_remove(&l->node);
    l->f->count--;
    loop_bury(l->f->command.loop, l, look_free);
    tell(l);
}

void findings_free(struct findings *f)
{
    if (f == NULL)
        return;
    LIST_EACH(node, &f->looks)
    {
        struct look *l = LIST_ENTRY(node, struct look, node);
        l->told = NULL;
        look_bury(l);
    }
    free(f);
}

static void on_wait_over(struct timer *timer)
{
    tell(CONTAINER_OF(timer, struct look, wait));
}

static void on_looked(void *owner, const struct command_result *ended)
{
    struct look *l = owner;
    l->command = NULL;
    bool has_text = ended->ending == COMMAND_ENDED && ended->text.size > 0;
    if (has_text || l->is_noted)
        l->text = memory_copy_span(has_text ? ended->text : SPAN_LITERAL(""));
    if (l->text == NULL)
        look_bury(l); // nothing to say, and nobody expects a word
    else
        tell(l);
}

// An earlier look at the same file is of old content; and there are not more than so many.
static void make_room(struct findings *f, struct span reader, struct span path)
{
    size_t running = 0;
    LIST_EACH(node, &f->looks)
    {
        struct look *l = LIST_ENTRY(node, struct look, node);
        if (span_is(reader, l->reader) && span_is(path, l->path))
            look_bury(l);
        else
            running += l->command != NULL;
    }
    LIST_EACH(node, &f->looks)
    {
        struct look *l = LIST_ENTRY(node, struct look, node);
        bool too_many =
            l->command != NULL ? running >= FINDINGS_CHECKS_MAX : f->count >= FINDINGS_KEPT_MAX;
        if (!too_many)
            continue;
        running -= l->command != NULL;
        look_bury(l);
    }
}

bool findings_start(struct findings *f, struct span reader, struct span path,
                    void (*told)(void *owner), void *owner)
{
    struct failure why;
    if (span_starts_with(path, SPAN_LITERAL("/workspace/")))
        path = span_slice(path, sizeof "/workspace/" - 1, path.size);
    if (path.size == 0 || path.data[0] == '/' || !file_check_knows(path) ||
        memchr(path.data, '\0', path.size) != NULL || memchr(path.data, '\n', path.size) != NULL)
        return false;
    make_room(f, reader, path);
    struct look *l = memory_new(sizeof *l);
    l->f = f;
    l->reader = memory_copy_span(reader);
    l->path = memory_copy_span(path);
    struct file_check_task task = {f->command.who, l->path, FINDINGS_CHECK_MS};
    struct command_options options = f->command;
    options.body_task = &task; // the fork has a copy
    l->command =
        command_start(&options, SPAN_LITERAL(""), FINDINGS_CHECK_MS + 5000, on_looked, l, &why);
    if (l->command == NULL) {
        look_free(l);
        return false;
    }
    timer_init(&l->wait, f->command.loop, on_wait_over);
    timer_start(&l->wait, FINDINGS_WAIT_MS);
    l->told = told;
    l->owner = owner;
    list_append(&f->looks, &l->node);
    f->count++;
    return true;
}

void findings_forget(struct findings *f, void *owner)
{
    LIST_EACH(node, &f->looks)
    {
        struct look *l = LIST_ENTRY(node, struct look, node);
        if (l->owner == owner)
            l->told = NULL;
    }
}

static void take_one(struct look *l, struct buffer *out)
{
    if (l->text != NULL) {
        if (l->text[0] != '\0')
            buffer_append_string(out, l->text);
        else
            buffer_printf(out, "no findings in %s\n", l->path);
        look_bury(l);
    } else if (!l->is_noted) {
        buffer_printf(out, "[%s is still being looked at; the next answer has the findings]\n",
                      l->path);
        l->is_noted = true;
    }
}

bool findings_take(struct findings *f, struct span reader, struct buffer *out)
{
    size_t before = buffer_size(out);
    LIST_EACH(node, &f->looks)
    {
        struct look *l = LIST_ENTRY(node, struct look, node);
        if (span_is(reader, l->reader) && l->told == NULL)
            take_one(l, out);
    }
    return buffer_size(out) > before;
}
