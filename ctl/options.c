// SPDX-License-Identifier: Apache-2.0
#include "ctl/options.h"

#include <string.h>

static const struct option_row *find(const struct option_row *rows, const char *word, size_t size)
{
    for (; rows->name != NULL; rows++)
        if (strlen(rows->name) == size && memcmp(rows->name, word, size) == 0)
            return rows;
    return NULL;
}

static int take(const struct option_row *rows, int argc, char **argv, int *at, struct failure *why)
{
    const char *word = argv[*at];
    size_t size = strcspn(word, "=");
    const struct option_row *row = find(rows, word, size);
    if (row == NULL)
        return failure_set(why, FAULT_INVALID, "unknown option %.*s", (int)size, word);
    if (*row->value != NULL)
        return failure_set(why, FAULT_INVALID, "%s stands twice", row->name);
    if (word[size] == '=')
        *row->value = word + size + 1;
    else if (++*at < argc)
        *row->value = argv[*at];
    else
        return failure_set(why, FAULT_INVALID, "%s needs a value", row->name);
    return 0;
}

int options_parse(int argc, char **argv, const struct option_row *rows, const char **rest,
                  int rest_most, struct failure *why)
{
    int rest_count = 0;
    for (int i = 0; i < argc; i++) {
        if (strncmp(argv[i], "--", 2) == 0) {
            int rc = take(rows, argc, argv, &i, why);
            if (rc != 0)
                return rc;
        } else if (rest_count < rest_most) {
            rest[rest_count++] = argv[i];
        } else {
            return failure_set(why, FAULT_INVALID, "did not expect `%s`", argv[i]);
        }
    }
    for (; rows->name != NULL; rows++)
        if (rows->required && *rows->value == NULL)
            return failure_set(why, FAULT_INVALID, "%s is missing", rows->name);
    return 0;
}
