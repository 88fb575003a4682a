// SPDX-License-Identifier: Apache-2.0
// Write: a whole file. A model sees LF where a file has CRLF, and no byte order mark; so a Write
// over such a file gets both back instead of turning every line of it around.
#include "workers/tools/files.h"

#include "gateway/lib/crypto/digest.h"
#include "gateway/lib/scrub/scrub.h"

struct survey {
    struct sha256 *digest;
    struct scrub *secrets; // NULL: the new content has no mark, so they do not matter
    struct line_style style;
    bool begun;
    char last;
};

static int survey_piece(void *ctx, struct span bytes, struct failure *why)
{
    struct survey *s = ctx;
    (void)why;
    sha256_update(s->digest, bytes);
    if (s->secrets != NULL)
        (void)scrub_push(s->secrets, bytes); // it only counts
    line_style_add(&s->style, bytes, !s->begun, s->last);
    s->begun = true;
    s->last = bytes.data[bytes.size - 1];
    return 0;
}

static int check_old_content(struct change *c, struct span content, struct failure *why)
{
    unsigned char digest[SHA256_SIZE];
    struct survey s = {.digest = sha256_start()};
    if (scrub_has_mark(content))
        s.secrets = scrub_new(NULL, NULL);
    int rc = file_each_piece(c->env, &c->file, survey_piece, &s, why);
    bool has_secret =
        s.secrets != NULL && scrub_finish(s.secrets) == 0 && scrub_found(s.secrets) > 0;
    scrub_free(s.secrets);
    if (rc != 0) {
        sha256_free(s.digest);
        return rc;
    }
    sha256_finish(s.digest, digest);
    c->style = s.style;
    rc = change_check_read(c, digest, "overwrite", why);
    return rc == 0 && has_secret ? change_refuse_mark(c, "content", why) : rc;
}

static int append_with_crlf(struct buffer *out, struct span content)
{
    int rc = 0;
    while (rc == 0 && content.size > 0) {
        const char *end = memchr(content.data, '\n', content.size);
        size_t size = end != NULL ? (size_t)(end - content.data) : content.size;
        rc = buffer_append(out, span_slice(content, 0, size));
        if (rc == 0 && end != NULL)
            rc = buffer_append(out, SPAN_LITERAL("\r\n"));
        content = span_slice(content, size + 1, content.size);
    }
    return rc;
}

// *changed says what was put back; the content stays as it came where there was nothing.
static int restore_style(const struct line_style *style, struct span content, struct buffer *out,
                         const char **changed)
{
    bool crlf = style->crlf > 0 && style->lf == 0 && memchr(content.data, '\n', content.size) &&
                !memchr(content.data, '\r', content.size);
    bool mark = style->bom && !span_starts_with(content, SPAN_LITERAL("\xef\xbb\xbf"));
    int rc = 0;
    if (mark)
        rc = buffer_append(out, SPAN_LITERAL("\xef\xbb\xbf"));
    if (rc == 0)
        rc = crlf ? append_with_crlf(out, content) : buffer_append(out, content);
    *changed = crlf && mark ? ", kept its CRLF line ends and byte order mark"
               : crlf       ? ", kept its CRLF line ends"
               : mark       ? ", kept its byte order mark"
                            : "";
    return rc;
}

static int write_content(struct change *c, struct span content, struct tool_result *out,
                         struct failure *why)
{
    const char *changed = "";
    bool is_new = c->file.fd < 0;
    struct buffer styled;
    buffer_init(&styled, 2 * content.size + 3);
    int rc = is_new ? 0 : check_old_content(c, content, why);
    if (rc == 0 && (c->style.crlf > 0 || c->style.bom)) {
        rc = restore_style(&c->style, content, &styled, &changed);
        content = buffer_span(&styled);
        if (rc != 0)
            failure_set(why, rc, "the content is too large");
    }
    if (rc == 0)
        rc = change_commit(c, content, why);
    if (rc == 0)
        buffer_printf(&out->text, "wrote %zu bytes to %s%s%s", content.size, c->file.shown,
                      is_new ? " (new file)" : "", changed);
    buffer_fini(&styled);
    return rc;
}

int write_run(const struct tool_env *env, const struct arguments *args, struct tool_result *out,
              struct failure *why)
{
    struct change c;
    int rc = change_open(&c, env, argument_text(args, "file_path"), FILE_CREATE, why);
    if (rc == 0)
        rc = write_content(&c, argument_text(args, "content"), out, why);
    change_close(&c);
    return rc;
}
