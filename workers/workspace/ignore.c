// SPDX-License-Identifier: Apache-2.0
#include "workers/workspace/ignore.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gateway/lib/base/memory.h"
#include "workers/workspace/pattern.h"

enum rule_kind {
    RULE_NAME,   // plain text: equals the name
    RULE_SUFFIX, // "*.o": the name ends with what follows the star
    RULE_NAME_PATTERN,
    RULE_PATH_PATTERN,
};

struct rule {
    struct span text; // borrowed from the set
    enum rule_kind kind;
    bool negated;
    bool directories_only;
};

struct ignore {
    struct ignore *parent; // borrowed
    size_t base;
    char *text;        // owned; the rules point into it
    struct rule *rule; // owned
    size_t count, capacity;
};

static bool has_special(struct span s)
{
    for (size_t i = 0; i < s.size; i++)
        if (strchr("*?[\\", s.data[i]) != NULL)
            return true;
    return false;
}

static enum rule_kind kind_of(struct span text)
{
    if (memchr(text.data, '/', text.size) != NULL)
        return RULE_PATH_PATTERN;
    if (!has_special(text))
        return RULE_NAME;
    if (text.data[0] == '*' && text.size > 1 && !has_special(span_slice(text, 1, text.size)))
        return RULE_SUFFIX;
    return RULE_NAME_PATTERN;
}

// Without the line's CR and its trailing spaces, unless the last one is escaped.
static struct span trim_line(struct span line)
{
    if (line.size > 0 && line.data[line.size - 1] == '\r')
        line.size--;
    while (line.size > 0 && line.data[line.size - 1] == ' ' &&
           !(line.size > 1 && line.data[line.size - 2] == '\\'))
        line.size--;
    return line;
}

static void add_rule(struct ignore *set, struct span line)
{
    struct rule r = {0};
    line = trim_line(line);
    if (line.size == 0 || line.data[0] == '#')
        return;
    if (line.data[0] == '!') {
        r.negated = true;
        line = span_slice(line, 1, line.size);
    }
    if (line.size > 0 && line.data[line.size - 1] == '/') {
        r.directories_only = true;
        line.size--;
    }
    if (line.size == 0 || set->count == IGNORE_RULES_MAX)
        return;
    r.kind = kind_of(line);
    if (line.data[0] == '/')
        line = span_slice(line, 1, line.size);
    r.text = line;
    if (set->count == set->capacity) {
        set->capacity = set->capacity > 0 ? set->capacity * 2 : 16;
        set->rule = memory_resize(set->rule, set->capacity, sizeof *set->rule);
    }
    set->rule[set->count++] = r;
}

struct ignore *ignore_push_text(struct ignore *parent, struct span text, size_t base)
{
    struct ignore *set = memory_new(sizeof *set);
    set->parent = parent;
    set->base = base;
    set->text = memory_copy_span(text);
    struct span rest = span_of(set->text, text.size);
    while (!span_is_absent(rest) && rest.size > 0)
        add_rule(set, span_split(&rest, '\n'));
    return set;
}

// Appends a rule file's text and a line end. A file that cannot be read has no rules.
static size_t load(int dir_fd, const char *name, char *into, size_t room)
{
    struct stat st;
    size_t size = 0;
    int fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
        while (size + 1 < room) {
            ssize_t n = read(fd, into + size, room - 1 - size);
            if (n <= 0 && !(n < 0 && errno == EINTR))
                break;
            size += n > 0 ? (size_t)n : 0;
        }
        into[size++] = '\n';
    }
    close(fd);
    return size;
}

struct ignore *ignore_push(struct ignore *parent, int dir_fd, size_t base)
{
    struct stat st;
    // Not faccessat: that asks for the real user, and hands act as another one.
    if (fstatat(dir_fd, ".gitignore", &st, AT_SYMLINK_NOFOLLOW) != 0 &&
        fstatat(dir_fd, ".ignore", &st, AT_SYMLINK_NOFOLLOW) != 0)
        return parent;
    CLEANUP_FREE char *text = memory_new(2 * IGNORE_FILE_MAX);
    size_t size = load(dir_fd, ".gitignore", text, IGNORE_FILE_MAX);
    size += load(dir_fd, ".ignore", text + size, IGNORE_FILE_MAX);
    return size > 0 ? ignore_push_text(parent, span_of(text, size), base) : parent;
}

void ignore_pop(struct ignore *top, const struct ignore *parent)
{
    while (top != parent) {
        struct ignore *below = top->parent;
        free(top->text);
        free(top->rule);
        free(top);
        top = below;
    }
}

static struct span name_of(struct span path)
{
    const char *slash = path.size > 0 ? memrchr(path.data, '/', path.size) : NULL;
    return slash != NULL ? span_slice(path, (size_t)(slash - path.data) + 1, path.size) : path;
}

static bool rule_matches(const struct rule *r, struct span path, struct span name)
{
    struct span tail;
    switch (r->kind) {
    case RULE_NAME:
        return span_equals(name, r->text);
    case RULE_SUFFIX:
        tail = span_slice(r->text, 1, r->text.size);
        return name.size >= tail.size &&
               memcmp(name.data + name.size - tail.size, tail.data, tail.size) == 0;
    case RULE_NAME_PATTERN:
        return pattern_matches(r->text, name);
    case RULE_PATH_PATTERN:
        return pattern_matches(r->text, path);
    }
    return false;
}

bool ignore_covers(const struct ignore *top, struct span path, bool is_directory)
{
    struct span name = name_of(path);
    for (const struct ignore *set = top; set != NULL; set = set->parent) {
        struct span seen = span_slice(path, set->base, path.size);
        for (size_t i = set->count; i-- > 0;) {
            const struct rule *r = &set->rule[i];
            if ((is_directory || !r->directories_only) && rule_matches(r, seen, name))
                return !r->negated;
        }
    }
    return false;
}
