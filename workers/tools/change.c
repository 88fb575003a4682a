// SPDX-License-Identifier: Apache-2.0
// The gate before a file is changed: one change at a time, and only of content that was read.
#include "workers/tools/files.h"

#include <errno.h>
#include <inttypes.h>
#include <unistd.h>

#include "gateway/lib/base/memory.h"
#include "gateway/lib/crypto/digest.h"

enum { PIECE_BYTES = 64 << 10, PIECES_PER_CHECK = 16 };

int file_each_piece(const struct tool_env *env, const struct file *f,
                    int (*piece)(void *ctx, struct span bytes, struct failure *why), void *ctx,
                    struct failure *why)
{
    CLEANUP_FREE char *bytes = memory_new(PIECE_BYTES);
    int rc = 0;
    for (size_t count = 0; rc == 0; count++) {
        ssize_t n = read(f->fd, bytes, PIECE_BYTES);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return failure_errno(why, "read %s", f->shown);
        if (n == 0)
            break;
        rc = piece(ctx, span_of(bytes, (size_t)n), why);
        if (rc == 0 && count % PIECES_PER_CHECK == PIECES_PER_CHECK - 1)
            rc = tool_env_check(env, why);
    }
    return rc;
}

void line_style_add(struct line_style *style, struct span bytes, bool at_start, char before)
{
    static const char mark[] = "\xef\xbb\xbf";
    if (at_start)
        style->bom = span_starts_with(bytes, span_from_string(mark));
    const char *at = bytes.data, *end = bytes.data + bytes.size;
    while ((at = memchr(at, '\n', (size_t)(end - at))) != NULL) {
        char previous = at > bytes.data ? at[-1] : before;
        if (previous == '\r')
            style->crlf++;
        else
            style->lf++;
        at++;
    }
}

static int go_on(void *ctx, struct failure *why)
{
    return tool_env_check(ctx, why);
}

int change_open(struct change *c, const struct tool_env *env, struct span path,
                enum file_intent intent, struct failure *why)
{
    *c = (struct change){.env = env};
    int rc = file_open(env->workspace, path, intent, &c->file, why);
    if (rc == 0)
        rc = file_lock(&c->file, go_on, (void *)(uintptr_t)env, why);
    return rc;
}

void change_close(struct change *c)
{
    file_close(&c->file);
}

int change_check_read(const struct change *c, const unsigned char digest[TOOL_DIGEST_SIZE],
                      const char *action, struct failure *why)
{
    const struct file *f = &c->file;
    switch (c->env->was_read(c->env->ctx, span_from_string(f->canonical), digest)) {
    case TOOL_READ_CURRENT:
        return 0;
    case TOOL_READ_NEVER:
        return failure_set(why, FAULT_CONFLICT, "refusing to %s %.300s: Read it first", action,
                           f->shown);
    case TOOL_READ_STALE:
        break;
    }
    int64_t age_s = clock_wall_ms(c->env->clock) / 1000 - f->st.st_mtim.tv_sec;
    return failure_set(why, FAULT_CONFLICT,
                       "refusing to %s %.250s: it changed since you read it (now %" PRId64
                       " bytes, last written %" PRId64
                       " s ago); nothing was written. Read it again",
                       action, f->shown, (int64_t)f->st.st_size, age_s > 0 ? age_s : 0);
}

int change_refuse_mark(const struct change *c, const char *argument, struct failure *why)
{
    return failure_set(
        why, FAULT_CONFLICT,
        "%s has a mark of the form [redacted:…]. It stands in answers in place of a "
        "secret that %.250s has, and the file itself does not have it; nothing was "
        "written. Leave the secret out of the edited text, or change it by a command",
        argument, c->file.shown);
}

int change_commit(struct change *c, struct span content, struct failure *why)
{
    unsigned char digest[SHA256_SIZE];
    int rc = file_replace(&c->file, content, why);
    if (rc != 0)
        return rc;
    sha256(content, digest);
    c->env->note_read(c->env->ctx, span_from_string(c->file.canonical), digest);
    return 0;
}
