// SPDX-License-Identifier: Apache-2.0
#include "gateway/lib/redis/command.h"

#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>

struct redis_command *command_new(int argc, const char *const *argv, const size_t *sizes,
                                  redis_done *done, void *owner)
{
    struct redis_command *c = memory_new(sizeof *c);
    const char **words = memory_new_array((size_t)argc, sizeof *words); // hiredis wants them so
    memcpy(words, argv, (size_t)argc * sizeof *words);
    int size = redisFormatCommandArgv(&c->text, argc, words, sizes);
    free(words);
    if (size < 0)
        abort();
    c->size = (size_t)size;
    c->done = done;
    c->owner = owner;
    list_init(&c->node);
    return c;
}

void command_free(struct redis_command *c)
{
    list_remove(&c->node);
    memory_wipe(c->text, c->size); // it may say a password
    free(c->text);
    free(c);
}

void command_answer(struct redis_command *c, const struct redis_reply *reply,
                    const struct failure *why)
{
    redis_done *done = c->done;
    void *owner = c->owner;
    command_free(c);
    if (done != NULL)
        done(owner, reply, why);
}

// "*N", then a length and a word for each: the first two words are exchanged.
int command_send_whole_script(struct redis_command *c)
{
    enum { LINES = 5, HEAD_BYTES = 64 };
    const char *head_end = c->text, *count_end = NULL;
    char head[HEAD_BYTES];
    for (int line = 0; line < LINES; line++) {
        head_end = memmem(head_end, c->size - (size_t)(head_end - c->text), "\r\n", 2);
        if (head_end == NULL)
            return FAULT_INTERNAL;
        head_end += 2;
        if (line == 0)
            count_end = head_end;
    }
    size_t script = strlen(c->script->text), tail = c->size - (size_t)(head_end - c->text);
    int size = snprintf(head, sizeof head, "%.*s$4\r\nEVAL\r\n$%zu\r\n", (int)(count_end - c->text),
                        c->text, script);
    char *text = memory_new_array((size_t)size + script + 2 + tail, 1);
    memcpy(text, head, (size_t)size);
    memcpy(text + size, c->script->text, script);
    memcpy(text + size + script, "\r\n", 2);
    memcpy(text + size + script + 2, head_end, tail);
    free(c->text);
    c->text = text;
    c->size = (size_t)size + script + 2 + tail;
    return 0;
}
