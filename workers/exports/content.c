// SPDX-License-Identifier: Apache-2.0
#include "workers/exports/content.h"

#include <strings.h>

#include "gateway/lib/base/memory.h"
#include "gateway/lib/json/utf8.h"

static const struct magic {
    size_t at;
    const char *bytes;
    size_t size;
    const char *type;
} magics[] = {
    {0, "\x89PNG\r\n\x1a\n", 8, "image/png"},
    {0, "\xff\xd8\xff", 3, "image/jpeg"},
    {0, "GIF87a", 6, "image/gif"},
    {0, "GIF89a", 6, "image/gif"},
    {8, "WEBP", 4, "image/webp"},
    {0, "%PDF-", 5, "application/pdf"},
    {0, "PK\x03\x04", 4, "application/zip"},
    {0, "PK\x05\x06", 4, "application/zip"}, // an empty one
    {0, "\x1f\x8b", 2, "application/gzip"},
    {0, "BZh", 3, "application/x-bzip2"},
    {0,
     "\xfd"
     "7zXZ\0",
     6, "application/x-xz"},
    {0, "\x28\xb5\x2f\xfd", 4, "application/zstd"},
    {257, "ustar", 5, "application/x-tar"},
    {0,
     "\x7f"
     "ELF",
     4, "application/x-elf"},
    {0, "MZ", 2, "application/x-dosexec"},
    {0, "\0asm", 4, "application/wasm"},
    {0, "SQLite format 3\0", 16, "application/x-sqlite3"},
};

// What may be told apart by the bytes has a row in `magics`; the others are kinds of text.
static const struct ending {
    const char *name, *type;
} endings[] = {
    {".png", "image/png"},           {".jpg", "image/jpeg"},        {".jpeg", "image/jpeg"},
    {".gif", "image/gif"},           {".webp", "image/webp"},       {".pdf", "application/pdf"},
    {".zip", "application/zip"},     {".gz", "application/gzip"},   {".tgz", "application/gzip"},
    {".bz2", "application/x-bzip2"}, {".xz", "application/x-xz"},   {".zst", "application/zstd"},
    {".tar", "application/x-tar"},   {".wasm", "application/wasm"}, {".json", "application/json"},
    {".xml", "application/xml"},     {".yaml", "application/yaml"}, {".yml", "application/yaml"},
    {".toml", "application/toml"},   {".svg", "image/svg+xml"},     {".html", "text/html"},
    {".htm", "text/html"},           {".css", "text/css"},          {".js", "text/javascript"},
    {".mjs", "text/javascript"},     {".csv", "text/csv"},          {".md", "text/markdown"},
};

static const char *const texts_elsewhere[] = {
    "application/json", "application/xml", "application/yaml", "application/toml", "image/svg+xml",
};

static const char binary[] = "application/octet-stream";

static const char *type_of_ending(const char *name)
{
    size_t size = strlen(name);
    for (size_t i = 0; i < ARRAY_COUNT(endings); i++) {
        size_t end = strlen(endings[i].name);
        if (size > end && strcasecmp(name + size - end, endings[i].name) == 0)
            return endings[i].type;
    }
    return NULL;
}

static const char *type_of_magic(struct span head)
{
    for (size_t i = 0; i < ARRAY_COUNT(magics); i++) {
        const struct magic *m = &magics[i];
        if (head.size >= m->at + m->size && memcmp(head.data + m->at, m->bytes, m->size) == 0)
            return m->type;
    }
    return NULL;
}

bool content_is_text(const char *type)
{
    for (size_t i = 0; i < ARRAY_COUNT(texts_elsewhere); i++)
        if (strcmp(type, texts_elsewhere[i]) == 0)
            return true;
    return strncmp(type, "text/", 5) == 0;
}

static bool reads_as_text(struct span head, bool is_whole)
{
    if (memchr(head.data, '\0', head.size) != NULL)
        return false;
    const char *at = head.data, *end = head.data + head.size;
    while (at < end) {
        struct utf8_step step = utf8_step(at, end);
        if (!step.valid)
            return !step.complete && !is_whole;
        at += step.size;
    }
    return true;
}

const char *content_type(struct span head, bool is_whole, const char *name)
{
    const char *type = type_of_magic(head);
    if (type != NULL)
        return type;
    if (!reads_as_text(head, is_whole))
        return binary;
    type = type_of_ending(name);
    return type != NULL && content_is_text(type) ? type : "text/plain";
}

const char *content_promised(const char *name)
{
    const char *type = type_of_ending(name);
    return type != NULL && !content_is_text(type) ? type : NULL;
}

static bool row_has(struct span row, const char *type)
{
    if (span_is(row, "*"))
        return true;
    if (row.size > 2 && row.data[row.size - 1] == '*' && row.data[row.size - 2] == '/')
        return span_starts_with(span_from_string(type), span_slice(row, 0, row.size - 1));
    return span_is(row, type);
}

bool content_is_listed(const char *list, const char *type)
{
    if (list[0] == '\0')
        return true;
    for (const char *at = list; *at != '\0';) {
        size_t size = strcspn(at, ",");
        if (row_has(span_of(at, size), type))
            return true;
        at += size + (at[size] == ',');
    }
    return false;
}
