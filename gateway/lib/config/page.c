// SPDX-License-Identifier: Apache-2.0
// The documentation page, in Markdown.
#include "gateway/lib/config/value.h"

static int append_cell(struct span text, struct buffer *out)
{
    int rc = 0;
    for (size_t i = 0; i < text.size && rc == 0; i++) {
        if (text.data[i] == '|' || text.data[i] == '<')
            rc = buffer_append_char(out, '\\');
        if (rc == 0)
            rc = buffer_append_char(out, text.data[i]);
    }
    return rc;
}

static int write_type(const struct key *k, struct buffer *out)
{
    struct buffer text;
    buffer_init(&text, 1024);
    int rc = value_write_expectation(k, &text);
    if (rc == 0)
        rc = append_cell(buffer_span(&text), out);
    buffer_fini(&text);
    return rc;
}

static int write_row(const struct key *k, struct buffer *out)
{
    int rc = buffer_printf(out, "| `%s` | ", k->path);
    if (rc == 0)
        rc = write_type(k, out);
    if (rc == 0 && k->required)
        rc = buffer_append_string(out, " | *required* | ");
    else if (rc == 0 && k->fallback != NULL && k->fallback[0] != '\0')
        rc = buffer_printf(out, " | `%s` | ", k->fallback);
    else if (rc == 0)
        rc = buffer_append_string(out, " | | ");
    if (rc == 0)
        rc = append_cell(span_from_string(k->help), out);
    if (rc == 0 && k->secret)
        rc = buffer_append_string(out, " Secret: the dump hides it.");
    return rc != 0 ? rc : buffer_append_string(out, " |\n");
}

int keys_write_page(const struct key_table *t, struct buffer *out)
{
    int rc =
        buffer_printf(out,
                      "# Configuration of %s\n\n%s\n\n"
                      "YAML, strict: an unknown key, a wrong type or a value out of range is told "
                      "as `file:line:column: key: expected …, got …`, and nothing starts.\n\n"
                      "| key | value | default | meaning |\n| --- | --- | --- | --- |\n",
                      t->program, t->title);
    for (size_t i = 0; i < t->count && rc == 0; i++)
        rc = write_row(&t->keys[i], out);
    return rc;
}
