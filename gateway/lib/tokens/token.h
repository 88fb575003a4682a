// SPDX-License-Identifier: Apache-2.0
#ifndef WRIST_GATEWAY_LIB_TOKENS_TOKEN_H
#define WRIST_GATEWAY_LIB_TOKENS_TOKEN_H

#define TOKEN_PREFIX "wrist_" // so that scanners find leaked ones

enum { TOKEN_SIZE = 50 }; // prefix, 43 characters of base64url, NUL

void token_new(char out[TOKEN_SIZE]);

#endif
