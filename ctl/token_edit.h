// SPDX-License-Identifier: Apache-2.0
//
// Changes of a tokens file by its text, so that its comments stay. The new text is read back and
// compared with what was wanted; where the file's style does not allow the edit (a list in
// brackets), the whole file is written anew. Replaced atomically, under a lock, with the owner and
// mode that it had; a new file gets 0600.
#ifndef WRIST_CTL_TOKEN_EDIT_H
#define WRIST_CTL_TOKEN_EDIT_H

#include "gateway/lib/tokens/token_file.h"

// Makes the file where there is none.
int token_edit_append(const char *file, const struct token_row *row, struct failure *why);
// Removes every row for which `goes` says so; *removed counts them.
int token_edit_remove(const char *file, bool (*goes)(const void *wish, const struct token_row *row),
                      const void *wish, size_t *removed, struct failure *why);

#endif
