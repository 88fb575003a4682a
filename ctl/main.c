// SPDX-License-Identifier: Apache-2.0
// wristctl: finds the command and calls it.
#include <stdio.h>
#include <string.h>

#include "ctl/command.h"
#include "gateway/lib/base/memory.h"

static const struct command commands[] = {
    {"token new", token_new_command,
     "--subject S [--tenant T] [--profiles a,b] [--expires 30d] [--provider P] [--file F]",
     "Makes a token and shows it once. With --file its hash is added to that tokens file,\n"
     "without, the entry is printed. --expires takes a duration or a time like\n"
     "2027-01-31T00:00:00Z; without --profiles it may use all. Send the gateway SIGHUP then.\n"},
    {"token list", token_list_command, "--file F",
     "Shows the tokens of a file by the first 12 digits of their SHA-256.\n"},
    {"token revoke", token_revoke_command, "--file F (SHA256 | --subject S) [--tenant T]",
     "Removes the tokens that match: a SHA-256 or at least 8 digits of its start, a subject, a\n"
     "tenant. The file's comments stay. Send the gateway SIGHUP then.\n"},
    {"keyring new", keyring_new_command, "FILE",
     "Makes the file of keys that replicas share (0600, whose user must be the gateway's). "
     "Whoever\n"
     "has it can open every session and sandbox. A file that is there stays as it is.\n"},
    {"store check", store_check_command, "[--admin ADDRESS]",
     "Has a running gateway compare its store with the sandboxes that run, and heal what differs:\n"
     "records of nothing are taken out, what fell out of an index is put back. Prints the "
     "counts.\n"},
    {"volume list", volume_list_command, "[--admin ADDRESS]",
     "Shows the volumes of all principals, and which sandboxes have them, as JSON.\n"},
    {"volume delete", volume_delete_command, "[--admin ADDRESS] ID",
     "Deletes a volume for good, by its id. One that a sandbox has stays.\n"},
    {"schema flatten", schema_flatten_command,
     "--provider P [--kind schema|outputSchema|names|result] [--depth N] (FILE | -)",
     "Rewrites a tool's JSON Schema so that the provider takes it; what was lost is told on\n"
     "stderr. Exit status 3: a strict mode cannot say it, use the mode without strict.\n"},
    {"schema check", schema_check_command,
     "--provider P [--kind schema|outputSchema|names|result] (FILE | -)",
     "Says, place by place, why the provider would refuse the schema. Exit status 1: it would.\n"},
};

static void print_usage(FILE *to)
{
    fputs("wristctl: the operator's tool of wrist\n\nusage:\n", to);
    for (size_t i = 0; i < ARRAY_COUNT(commands); i++) {
        fprintf(to, "  wristctl %s %s\n", commands[i].name, commands[i].usage);
        for (const char *line = commands[i].help; *line != '\0';) {
            size_t size = strcspn(line, "\n") + 1;
            fprintf(to, "      %.*s", (int)size, line);
            line += size;
        }
    }
    fputs("  wristctl --help\n\n"
          "Configurations are checked and shown by the programs that read them:\n"
          "  wrist-gateway --check-config F, --dump-config F, --config-docs, --config-schema\n\n"
          "exit status: 0 done, 1 failed or nothing found, 2 called wrongly\n",
          to);
}

// How many words of the call are the command's name; 0 where they are not.
static int name_words(const char *name, int argc, char **argv)
{
    int words = 0;
    while (*name != '\0') {
        size_t size = strcspn(name, " ");
        if (words == argc || strlen(argv[words]) != size || memcmp(argv[words], name, size) != 0)
            return 0;
        words++;
        name += size + (name[size] == ' ');
    }
    return words;
}

int main(int argc, char **argv)
{
    if (argc >= 2 && (strcmp(argv[argc - 1], "--help") == 0 || strcmp(argv[1], "help") == 0)) {
        print_usage(stdout);
        return 0;
    }
    for (size_t i = 0; i < ARRAY_COUNT(commands); i++) {
        int words = name_words(commands[i].name, argc - 1, argv + 1);
        if (words > 0)
            return commands[i].run(argc - 1 - words, argv + 1 + words);
    }
    print_usage(stderr);
    return 2;
}
