// SPDX-License-Identifier: Apache-2.0
#include "gateway/lib/config/command_line.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gateway/lib/base/memory.h"

enum { DOCUMENT_MOST = 1024 * 1024, EXIT_USAGE = 2 };

static const char usage[] =
    "usage: %s --config FILE\n"
    "\n"
    "  --config FILE        run with this configuration\n"
    "  --check-config FILE  say whether it is good, start nothing\n"
    "  --dump-config FILE   print the settings in force, defaults marked, secrets hidden\n"
    "  --config-docs        print the documentation page of all keys (Markdown)\n"
    "  --config-schema      print the JSON Schema of the configuration\n"
    "  --version            print the version\n"
    "  --help               print this and the keys\n"
    "\n"
    "%s\n"
    "\n";

static void print_usage(const struct command_line *c, FILE *to)
{
    fprintf(to, usage, c->table->program, c->signals);
}

static int print_document(const struct command_line *c,
                          int (*write)(const struct key_table *t, struct buffer *out))
{
    struct buffer out;
    buffer_init(&out, DOCUMENT_MOST);
    int rc = write(c->table, &out);
    fwrite(buffer_span(&out).data, 1, buffer_size(&out), stdout);
    buffer_fini(&out);
    return rc == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int print_help(const struct command_line *c, const char *file)
{
    (void)file;
    print_usage(c, stdout);
    return print_document(c, keys_write_help);
}

static int print_page(const struct command_line *c, const char *file)
{
    (void)file;
    return print_document(c, keys_write_page);
}

static int print_schema(const struct command_line *c, const char *file)
{
    (void)file;
    return print_document(c, keys_write_schema);
}

static int print_version(const struct command_line *c, const char *file)
{
    (void)file;
    printf("%s %s\n", c->table->program, c->version);
    return EXIT_SUCCESS;
}

static int check_or_dump(const struct command_line *c, const char *file, bool dump)
{
    struct failure why;
    struct buffer out;
    struct key_source *source = NULL;
    void *settings = memory_new(c->table->settings_size);
    int rc = keys_load(c->table, file, settings, &source, &why);
    if (rc != 0) {
        fprintf(stderr, "%s\n", why.text);
        free(settings);
        return EXIT_FAILURE;
    }
    buffer_init(&out, DOCUMENT_MOST);
    rc = dump ? keys_write_dump(c->table, settings, source, &out)
              : buffer_printf(&out, "%s is good\n", file);
    fwrite(buffer_span(&out).data, 1, buffer_size(&out), stdout);
    buffer_fini(&out);
    key_source_free(source);
    keys_release(c->table, settings);
    free(settings);
    return rc == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int check_config(const struct command_line *c, const char *file)
{
    return check_or_dump(c, file, false);
}

static int dump_config(const struct command_line *c, const char *file)
{
    return check_or_dump(c, file, true);
}

static const struct {
    const char *name;
    bool takes_file;
    int (*run)(const struct command_line *c, const char *file); // NULL: run the program
} options[] = {
    {"--config", true, NULL},
    {"--check-config", true, check_config},
    {"--dump-config", true, dump_config},
    {"--config-docs", false, print_page},
    {"--config-schema", false, print_schema},
    {"--version", false, print_version},
    {"--help", false, print_help},
};

bool command_line_take(const struct command_line *c, int argc, char **argv,
                       const char **config_file, int *status)
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
        *status = options[i].run(c, argc > 2 ? argv[2] : NULL);
        return true;
    }
    print_usage(c, stderr);
    *status = EXIT_USAGE;
    return true;
}
