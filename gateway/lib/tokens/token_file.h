// SPDX-License-Identifier: Apache-2.0
//
// The tokens file as rows; see README.md. Messages are those of gateway/lib/config.
#ifndef WRIST_GATEWAY_LIB_TOKENS_TOKEN_FILE_H
#define WRIST_GATEWAY_LIB_TOKENS_TOKEN_FILE_H

#include "gateway/lib/config/keys.h"
#include "gateway/lib/crypto/digest.h"

struct token_row {
    char sha256[SHA256_HEX_SIZE];
    char subject[128], tenant[128], provider[32];
    char expires[32]; // "2027-01-31T00:00:00Z", "" for never
    char **profiles;  // owned; none: all
    size_t profile_count;
};

struct token_file {
    struct token_row *rows; // owned
    size_t count;
};

extern const struct key_table token_file_table;

// `source` may be NULL. token_file_release frees what a successful load left.
int token_file_load(const char *file, struct token_file *out, struct key_source **source,
                    struct failure *why);
int token_file_parse(struct span yaml, const char *file, struct token_file *out,
                     struct key_source **source, struct failure *why);
void token_file_release(struct token_file *f);

int64_t token_row_expires_ms(const struct token_row *row); // wall time; 0: never
bool token_time_parse(const char *text, int64_t *out_ms);  // "2027-01-31T00:00:00Z"
// The entry as it stands in the file, its dash after `indent` spaces.
int token_row_write(const struct token_row *row, int indent, struct buffer *out);

#endif
