// SPDX-License-Identifier: Apache-2.0
#include "driver/options.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

enum { DOCUMENT_LIMIT = 1 << 20 };
enum action { ACTION_RUN, ACTION_HELP, ACTION_CHECK, ACTION_DUMP, ACTION_SCHEMA, ACTION_WRONG };

static const struct option long_options[] = {
    {"config", required_argument, NULL, 'c'},
    {"help", no_argument, NULL, ACTION_HELP},
    {"check-config", no_argument, NULL, ACTION_CHECK},
    {"dump-config", no_argument, NULL, ACTION_DUMP},
    {"config-schema", no_argument, NULL, ACTION_SCHEMA},
    {NULL, 0, NULL, 0},
};

static enum action parse(int argc, char **argv, const char **file)
{
    enum action action = ACTION_RUN;
    for (int c; (c = getopt_long(argc, argv, "c:h", long_options, NULL)) != -1;) {
        if (c == 'c')
            *file = optarg;
        else if (c == 'h')
            action = ACTION_HELP;
        else if (c < ACTION_WRONG)
            action = (enum action)c;
        else
            return ACTION_WRONG;
    }
    return optind == argc ? action : ACTION_WRONG;
}

static int print(int (*write)(const struct key_table *t, struct buffer *out), const char *before)
{
    struct buffer text;
    buffer_init(&text, DOCUMENT_LIMIT);
    int fault = write(&driver_config_table, &text);
    printf("%s%.*s", before, (int)buffer_size(&text), buffer_span(&text).data);
    buffer_fini(&text);
    return fault == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int dump(const struct driver_config *config, const struct key_source *source)
{
    struct buffer text;
    buffer_init(&text, DOCUMENT_LIMIT);
    int fault = keys_write_dump(&driver_config_table, config, source, &text);
    printf("%.*s", (int)buffer_size(&text), buffer_span(&text).data);
    buffer_fini(&text);
    return fault == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int load(const char *file, enum action action, struct driver_config *config)
{
    struct key_source *source = NULL;
    struct failure why = {0};
    if (driver_config_load(file, config, &source, &why) != 0) {
        fprintf(stderr, "wrist-driver: %s\n", why.text);
        return 2;
    }
    int result = OPTIONS_RUN;
    if (action == ACTION_DUMP)
        result = dump(config, source);
    else if (action == ACTION_CHECK)
        result = EXIT_SUCCESS;
    key_source_free(source);
    if (result != OPTIONS_RUN)
        driver_config_fini(config);
    return result;
}

int options_read(int argc, char **argv, struct driver_config *config)
{
    const char *file = "/etc/wrist/driver.yaml";
    switch (parse(argc, argv, &file)) {
    case ACTION_HELP:
        return print(keys_write_help, "usage: wrist-driver [--config FILE] [--check-config | "
                                      "--dump-config | --config-schema]\n\n");
    case ACTION_SCHEMA:
        return print(keys_write_schema, "");
    case ACTION_RUN:
        return load(file, ACTION_RUN, config);
    case ACTION_CHECK:
        return load(file, ACTION_CHECK, config);
    case ACTION_DUMP:
        return load(file, ACTION_DUMP, config);
    case ACTION_WRONG:
        break;
    }
    fprintf(stderr, "try wrist-driver --help\n");
    return 2;
}
