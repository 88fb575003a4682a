// SPDX-License-Identifier: Apache-2.0
//
// A program's configuration as one table of keys. The table alone decides what a YAML file may say;
// help, the documentation page, the dump and the JSON Schema are written from it.
//
// A key's path is dotted; `listen[]` is a list of groups, `profiles.<name>` a map of named groups:
//
//   {"listen[]", KEYS_LIST(struct config, listen, listen_count, struct listen), .most = 16, …},
//   {"listen[].address", KEY_AT(struct listen, address), KEY_ADDRESS, .required = true, …},
//   {"profiles.<name>", KEYS_MAP(struct config, profiles, profile_count, struct profile, name), …},
//   {"profiles.<name>.limits.memory", KEY_AT(struct profile, memory_bytes), KEY_SIZE, …},
//
// The offset of a key is that in the struct of the innermost list or map around it, else in the
// program's struct; plain groups like `limits` need no row. Rows stand in the order in which the
// documents show them, a list or map before its keys.
#ifndef WRIST_GATEWAY_LIB_CONFIG_KEYS_H
#define WRIST_GATEWAY_LIB_CONFIG_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gateway/lib/base/buffer.h"
#include "gateway/lib/base/failure.h"

// kind, what messages and documents call it
#define KEY_KIND_TABLE(X)                                                                          \
    X(STRING, "a string")               /* char[], one line, no control characters */              \
    X(NAME, "a name of a-z, 0-9 and -") /* char[] */                                               \
    X(PATH, "an absolute path")         /* char[] */                                               \
    X(ADDRESS, "an address like 127.0.0.1:8443, [::1]:8443, unix:/path or fd:3") /* char[] */      \
    X(BOOL, "true or false")                                                     /* bool */        \
    X(INTEGER, "a whole number")                                                 /* int64_t */     \
    X(SIZE, "a size like 512KiB, 16MiB or 2GiB")              /* int64_t, bytes */                 \
    X(DURATION, "a duration like 500ms, 30s, 5min, 8h or 7d") /* int64_t, milliseconds */          \
    X(ENUM, "one of a set")         /* int (an enum from 0), in the order of `words` */            \
    X(WORD, "one of a set")         /* char[], the word itself */                                  \
    X(STRINGS, "a list of strings") /* char **, and size_t at `count_offset` */                    \
    X(LIST, "a list")               /* struct *, and size_t at `count_offset` */                   \
    X(MAP, "a map from names")      /* the same; the name goes to `name_offset` */
enum key_kind {
#define X(kind, text) KEY_##kind,
    KEY_KIND_TABLE(X)
#undef X
};

struct key {
    const char *path;
    enum key_kind kind;
    size_t offset;
    size_t size;         // of the field; of one element of a LIST or MAP
    size_t count_offset; // STRINGS, LIST, MAP
    size_t name_offset;  // MAP
    size_t name_size;    // MAP
    // INTEGER, SIZE, DURATION: the range (0, 0: not negative, else free). STRINGS, LIST, MAP: how
    // many there may be (most 0: 256).
    int64_t least, most;
    const char *fallback;     // the default as one would write it in the file; NULL: zero or ""
    bool required;            // must stand in the file
    bool secret;              // the dump hides it
    const char *const *words; // ENUM, WORD; ends with NULL
    // STRING, NAME, PATH, ADDRESS and each of STRINGS: a further check, and what it wants to see.
    bool (*accepts)(const char *text);
    const char *expected;
    const char *help; // one or two sentences, for people
};

#define KEY_AT(type, member) .offset = offsetof(type, member), .size = sizeof(((type *)0)->member)
#define KEYS_STRINGS(type, member, count)                                                          \
    .kind = KEY_STRINGS, .offset = offsetof(type, member), .size = sizeof(char *),                 \
    .count_offset = offsetof(type, count)
#define KEYS_LIST(type, member, count, element)                                                    \
    .kind = KEY_LIST, .offset = offsetof(type, member), .size = sizeof(element),                   \
    .count_offset = offsetof(type, count)
#define KEYS_MAP(type, member, count, element, name)                                               \
    .kind = KEY_MAP, .offset = offsetof(type, member), .size = sizeof(element),                    \
    .count_offset = offsetof(type, count), .name_offset = offsetof(element, name),                 \
    .name_size = sizeof(((element *)0)->name)

// Where each value stood in its file.
struct key_source;

struct key_table {
    const char *program; // "wrist-gateway"
    const char *title;   // one sentence for the top of the documents
    const struct key *keys;
    size_t count;
    size_t settings_size; // of the program's struct
    // What no single key can tell: called last, refuses with key_source_refuse. May be NULL.
    int (*check)(const void *settings, const struct key_source *source, struct failure *why);
};

// Fills *settings (settings_size bytes, overwritten). On failure nothing is left to release and
// *why reads "file:line:column: key: expected …, got …". `source` may be NULL where neither a dump
// nor further refusals are wanted. Files are at most 1 MiB.
int keys_load(const struct key_table *t, const char *file, void *settings,
              struct key_source **source, struct failure *why);
// The same from memory; `file` is for messages.
int keys_parse(const struct key_table *t, struct span yaml, const char *file, void *settings,
               struct key_source **source, struct failure *why);
void keys_release(const struct key_table *t, void *settings); // lists, maps and strings in it

void key_source_free(struct key_source *s);
// Says what is wrong with the key at a concrete path: "listen[0].address", "profiles.c.warm". The
// place is the key's, or that of the nearest group around it where the key is not in the file.
int key_source_refuse(const struct key_source *s, struct failure *why, const char *path,
                      const char *format, ...) __attribute__((format(printf, 4, 5)));
bool key_source_has(const struct key_source *s, const char *path);
// Line of a key or element, from 1; 0 where it is not in the file.
size_t key_source_line(const struct key_source *s, const char *path);

// Documents from the table. FAULT_TOO_LARGE where they do not fit into *out.
int keys_write_help(const struct key_table *t, struct buffer *out);   // for --help
int keys_write_page(const struct key_table *t, struct buffer *out);   // Markdown
int keys_write_schema(const struct key_table *t, struct buffer *out); // JSON Schema 2020-12
// The settings in force as YAML that loads again but for hidden secrets; values that the file did
// not give are marked `# default`.
int keys_write_dump(const struct key_table *t, const void *settings,
                    const struct key_source *source, struct buffer *out);

#endif
