// SPDX-License-Identifier: Apache-2.0
#ifndef WRIST_CTL_COMMAND_H
#define WRIST_CTL_COMMAND_H

// `argv[0]` is the first word behind the command's name. Returns the exit status: 0, 1 where it
// failed, 2 where it was called wrongly; it has said why on stderr.
struct command {
    const char *name; // "token new"
    int (*run)(int argc, char **argv);
    const char *usage; // "--subject S [--tenant T]"
    const char *help;  // sentences, one a line
};

int token_new_command(int argc, char **argv);
int token_list_command(int argc, char **argv);
int token_revoke_command(int argc, char **argv);
int keyring_new_command(int argc, char **argv);
int store_check_command(int argc, char **argv);
int volume_list_command(int argc, char **argv);
int volume_delete_command(int argc, char **argv);
int schema_flatten_command(int argc, char **argv);
int schema_check_command(int argc, char **argv);

#endif
