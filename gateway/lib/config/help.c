// SPDX-License-Identifier: Apache-2.0
// The keys for --help.
#include "gateway/lib/config/value.h"

enum { HELP_COLUMN = 6, HELP_WIDTH = 96 };

static int write_wrapped(const char *text, struct buffer *out)
{
    struct span rest = span_from_string(text);
    size_t column = 0;
    int rc = 0;
    while (rc == 0 && !span_is_absent(rest)) {
        struct span word = span_split(&rest, ' ');
        if (column == 0 || column + word.size + 1 > HELP_WIDTH) {
            rc = buffer_printf(out, "%s%*s", column > 0 ? "\n" : "", HELP_COLUMN, "");
            column = HELP_COLUMN;
        } else {
            rc = buffer_append_char(out, ' ');
            column++;
        }
        if (rc == 0)
            rc = buffer_append(out, word);
        column += word.size;
    }
    return rc != 0 ? rc : buffer_append_char(out, '\n');
}

static int write_key(const struct key *k, struct buffer *out)
{
    int rc = buffer_printf(out, "  %s (", k->path);
    if (rc == 0)
        rc = value_write_expectation(k, out);
    if (rc == 0 && k->required)
        rc = buffer_append_string(out, "; required");
    else if (rc == 0 && k->fallback != NULL && k->fallback[0] != '\0')
        rc = buffer_printf(out, "; default %s", k->fallback);
    if (rc == 0)
        rc = buffer_append_string(out, ")\n");
    return rc != 0 ? rc : write_wrapped(k->help, out);
}

int keys_write_help(const struct key_table *t, struct buffer *out)
{
    int rc = buffer_append_string(out, "Keys of the configuration file (YAML):\n");
    for (size_t i = 0; i < t->count && rc == 0; i++)
        rc = write_key(&t->keys[i], out);
    return rc;
}
