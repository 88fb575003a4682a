// SPDX-License-Identifier: Apache-2.0
#include "gateway/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gateway/config/config.h"
#include "gateway/lib/base/memory.h"

enum { DOCUMENT_MOST = 1024 * 1024 };

static const char usage[] =
    "usage: wrist-gateway --config FILE\n"
    "\n"
    "  --config FILE        run with this configuration\n"
    "  --check-config FILE  say whether it is good, start nothing\n"
    "  --dump-config FILE   print the settings in force, defaults marked, secrets hidden\n"
    "  --config-docs        print the documentation page of all keys (Markdown)\n"
    "  --config-schema      print the JSON Schema of the configuration\n"
    "  --version            print the version\n"
    "  --help               print this and the keys\n"
    "\n"
    "SIGHUP reads the tokens and certificates again; SIGTERM drains and stops, sandboxes stay.\n"
    "\n";

// Prints what `write` makes.
static int print_document(int (*write)(struct buffer *out))
{
    struct buffer out;
    buffer_init(&out, DOCUMENT_MOST);
    int rc = write(&out);
    fwrite(buffer_span(&out).data, 1, buffer_size(&out), stdout);
    buffer_fini(&out);
    return rc == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int print_help(const char *file)
{
    (void)file;
    fputs(usage, stdout);
    return print_document(config_write_help);
}

static int print_page(const char *file)
{
    (void)file;
    return print_document(config_write_page);
}

static int print_schema(const char *file)
{
    (void)file;
    return print_document(config_write_schema);
}

static int print_version(const char *file)
{
    (void)file;
    puts("wrist-gateway " WRIST_VERSION);
    return EXIT_SUCCESS;
}

static int check_config(const char *file)
{
    struct config *config;
    struct failure why;
    if (config_load(file, &config, &why) != 0) {
        fprintf(stderr, "%s\n", why.text);
        return EXIT_FAILURE;
    }
    config_free(config);
    printf("%s is good\n", file);
    return EXIT_SUCCESS;
}

static int dump_config(const char *file)
{
    struct buffer out;
    struct failure why;
    buffer_init(&out, DOCUMENT_MOST);
    int rc = config_write_dump(file, &out, &why);
    if (rc == 0)
        fwrite(buffer_span(&out).data, 1, buffer_size(&out), stdout);
    else
        fprintf(stderr, "%s\n", why.text);
    buffer_fini(&out);
    return rc == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

static const struct {
    const char *name;
    bool takes_file;
    int (*run)(const char *file); // NULL: run the gateway
} options[] = {
    {"--config", true, NULL},
    {"--check-config", true, check_config},
    {"--dump-config", true, dump_config},
    {"--config-docs", false, print_page},
    {"--config-schema", false, print_schema},
    {"--version", false, print_version},
    {"--help", false, print_help},
};

bool options_take(int argc, char **argv, const char **config_file, int *status)
{
    for (size_t i = 0; argc > 1 && i < ARRAY_COUNT(options); i++) {
        if (strcmp(argv[1], options[i].name) != 0)
            continue;
        if (argc != (options[i].takes_file ? 3 : 2))
            break;
        if (options[i].run == NULL) {
            *config_file = argv[2];
            return false;
        }
        *status = options[i].run(argc > 2 ? argv[2] : NULL);
        return true;
    }
    fputs(usage, stderr);
    *status = 2;
    return true;
}
