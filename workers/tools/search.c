// SPDX-License-Identifier: Apache-2.0
#include "workers/tools/search.h"

#include "gateway/lib/base/memory.h"

#define TYPE_TABLE(X)                                                                              \
    X("c", "*.{c,h}")                                                                              \
    X("cpp", "*.{cpp,cc,cxx,c++,hpp,hh,hxx,h++,h,inl,ipp,tpp}")                                    \
    X("cs", "*.cs")                                                                                \
    X("css", "*.{css,scss,sass,less}")                                                             \
    X("cmake", "{CMakeLists.txt,*.cmake}")                                                         \
    X("docker", "{*Dockerfile*,*.dockerfile,Containerfile}")                                       \
    X("go", "*.go")                                                                                \
    X("html", "*.{html,htm,xhtml}")                                                                \
    X("java", "*.java")                                                                            \
    X("js", "*.{js,jsx,mjs,cjs,vue}")                                                              \
    X("json", "*.{json,jsonl,jsonc}")                                                              \
    X("kotlin", "*.{kt,kts}")                                                                      \
    X("lua", "*.lua")                                                                              \
    X("make", "{Makefile,makefile,GNUmakefile,*.mk,*.mak}")                                        \
    X("md", "*.{md,markdown,mdx}")                                                                 \
    X("perl", "*.{pl,pm,t}")                                                                       \
    X("php", "*.php")                                                                              \
    X("proto", "*.proto")                                                                          \
    X("py", "*.{py,pyi}")                                                                          \
    X("rb", "*.{rb,rake,gemspec}")                                                                 \
    X("rust", "*.rs")                                                                              \
    X("sh", "*.{sh,bash,zsh,ksh}")                                                                 \
    X("sql", "*.sql")                                                                              \
    X("swift", "*.swift")                                                                          \
    X("toml", "*.toml")                                                                            \
    X("ts", "*.{ts,tsx,mts,cts}")                                                                  \
    X("txt", "*.txt")                                                                              \
    X("xml", "*.{xml,xsd,xsl,xslt,svg}")                                                           \
    X("yaml", "*.{yaml,yml}")                                                                      \
    X("zig", "*.zig")

const char *const search_type_names[] = {
#define X(name, pattern) name,
    TYPE_TABLE(X)
#undef X
        NULL,
};

static const char *const type_patterns[] = {
#define X(name, pattern) pattern,
    TYPE_TABLE(X)
#undef X
};

const char *search_type_pattern(struct span name)
{
    for (size_t i = 0; i < ARRAY_COUNT(type_patterns); i++)
        if (span_is(name, search_type_names[i]))
            return type_patterns[i];
    return NULL;
}

void search_time_start(struct search_time *t, const struct tool_env *env)
{
    *t = (struct search_time){.env = env};
    t->end_us = clock_monotonic_us(env->clock) + SEARCH_TIME_US;
    if (env->deadline_us != 0 && env->deadline_us < t->end_us)
        t->end_us = env->deadline_us;
}

int search_time_check(struct search_time *t, struct failure *why)
{
    if (t->env->is_cancelled != NULL && t->env->is_cancelled(t->env->ctx))
        return failure_set(why, FAULT_CANCELLED, "the call was cancelled");
    if (clock_monotonic_us(t->env->clock) < t->end_us)
        return 0;
    t->over = true;
    return failure_set(why, FAULT_TIMEOUT, "the search ran out of time");
}

// The directories that a pattern names before its first special character.
static struct span literal_folder(struct span pattern)
{
    size_t end = 0;
    for (size_t i = 0; i < pattern.size && strchr("*?[\\", pattern.data[i]) == NULL; i++)
        if (pattern.data[i] == '/')
            end = i;
    return span_slice(pattern, 0, end);
}

// "a/b" and "a/b/c": one is the other, or lies in it.
static bool is_within(struct span path, struct span folder)
{
    return span_starts_with(path, folder) &&
           (path.size == folder.size || folder.size == 0 || path.data[folder.size] == '/');
}

bool search_may_hold(const struct pattern_set *set, struct span below)
{
    for (size_t i = 0; i < set->count; i++) {
        struct span folder = literal_folder(set->pattern[i]);
        if (!set->has_slash[i] || is_within(below, folder) || is_within(folder, below))
            return true;
    }
    return false;
}

void search_note_report(const struct walk_report *report, enum workspace_root root,
                        struct buffer *out)
{
    char shown[WORKSPACE_SHOWN_SIZE];
    if (report->unreadable + report->too_deep == 0)
        return;
    workspace_path_show(root, report->example, shown);
    buffer_printf(out, "[not everything was searched: %zu unreadable, %zu too deep or too large; ",
                  report->unreadable, report->too_deep);
    buffer_printf(out, "for example %s]\n", shown);
}

void search_note_time(const struct search_time *t, struct buffer *out)
{
    if (t->over)
        buffer_append_string(out, "[the search ran out of time; this is not all. Narrow it with "
                                  "path or a pattern]\n");
}
