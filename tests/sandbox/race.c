// SPDX-License-Identifier: Apache-2.0
//
// usage: race ROUNDS
// Calls the file tools ROUNDS times while a second thread exchanges directories and files of the
// workspace for symbolic links to the outside, as a command of the agent could. Prints what
// escaped, for both ways of resolving and for a stand-in that checks a path and then uses it.
// Fails where a tool escapes, or the stand-in hardly does (then the race was none).
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gateway/lib/base/memory.h"
#include "workers/tools/tool.h"
#include "workers/workspace/workspace.h"

#define SECRET "written outside"

enum { STAND_IN_ESCAPES = 100, STAND_IN_PATIENCE = 2000 };

struct race {
    char folder[64];
    char main[96], outside[96];
    atomic_bool stop;
    atomic_ulong exchanges;
};

struct score {
    unsigned long rounds, done, reads, writes; // reads and writes that escaped
};

static void die(const char *what)
{
    perror(what);
    exit(2);
}

static void put(const char *folder, const char *name, const char *content)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0 || write(fd, content, strlen(content)) != (ssize_t)strlen(content))
        die(path);
    close(fd);
}

static void make_folder(const char *folder, const char *name)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (mkdir(path, 0755) != 0)
        die(path);
}

static void make_link(const struct race *r, const char *target, const char *name)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", r->main, name);
    if (symlink(target, path) != 0)
        die(path);
}

// Each thing in the workspace has a twin outside that a link of the workspace leads to.
static void make_tree(struct race *r)
{
    snprintf(r->folder, sizeof r->folder, "/tmp/wrist-race-XXXXXX");
    if (mkdtemp(r->folder) == NULL)
        die("mkdtemp");
    snprintf(r->main, sizeof r->main, "%s/workspace", r->folder);
    snprintf(r->outside, sizeof r->outside, "%s/outside", r->folder);
    make_folder(r->folder, "workspace");
    make_folder(r->folder, "outside");
    const char *both[] = {r->main, r->outside};
    for (int i = 0; i < 2; i++) {
        const char *content = i == 0 ? "written inside\n" : SECRET "\n";
        if (i == 0)
            make_folder(both[i], "dir");
        put(both[i], i == 0 ? "dir/file" : "file", content);
        make_folder(both[i], i == 0 ? "dir/sub" : "sub");
        put(both[i], i == 0 ? "leaf" : "leaf", content);
    }
    make_link(r, r->outside, "dir-link");
    make_link(r, "../outside/leaf", "leaf-link");
}

static void *attack(void *ctx)
{
    struct race *r = ctx;
    int at = open(r->main, O_PATH | O_DIRECTORY | O_CLOEXEC);
    while (!atomic_load(&r->stop)) {
        if (renameat2(at, "dir", at, "dir-link", RENAME_EXCHANGE) != 0 ||
            renameat2(at, "leaf", at, "leaf-link", RENAME_EXCHANGE) != 0)
            die("renameat2");
        atomic_fetch_add(&r->exchanges, 2);
    }
    close(at);
    return NULL;
}

// Was something made or changed outside? Puts it back as it was.
static bool outside_was_written(const struct race *r)
{
    char path[256], content[64] = "";
    snprintf(path, sizeof path, "%s/new", r->outside);
    bool made = unlink(path) == 0;
    snprintf(path, sizeof path, "%s/leaf", r->outside);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || read(fd, content, sizeof content - 1) < 0)
        die(path);
    close(fd);
    bool changed = strstr(content, SECRET) == NULL;
    if (changed)
        put(r->outside, "leaf", SECRET "\n");
    return made || changed;
}

static void remove_inside(const struct race *r)
{
    char path[256];
    const char *names[] = {"dir/new", "dir-link/new"};
    for (size_t i = 0; i < ARRAY_COUNT(names); i++) {
        snprintf(path, sizeof path, "%s/%s", r->main, names[i]);
        unlink(path);
    }
}

static enum tool_read_state was_read(void *ctx, struct span path,
                                     const unsigned char digest[TOOL_DIGEST_SIZE])
{
    (void)ctx;
    (void)path;
    (void)digest;
    return TOOL_READ_CURRENT; // nothing but containment is to stop a Write here
}

static void note_read(void *ctx, struct span path, const unsigned char digest[TOOL_DIGEST_SIZE])
{
    (void)ctx;
    (void)path;
    (void)digest;
}

// Calls a tool; true where it succeeded. *leaked: the answer shows what lies outside.
static bool call(const struct tool_env *env, const char *tool, const char *args, bool *leaked)
{
    struct tool_result result;
    struct json *doc;
    struct failure why;
    if (json_parse(span_from_string(args), &json_limits_default, &doc, &why) != 0)
        die(args);
    tool_result_init(&result);
    tool_call(tool_find(span_from_string(tool), false), env, doc, JSON_ROOT, &result);
    struct span text = buffer_span(&result.text);
    *leaked = memmem(text.data, text.size, SECRET, strlen(SECRET)) != NULL;
    bool ok = !result.is_error;
    tool_result_fini(&result);
    json_free(doc);
    return ok;
}

static const char *const read_calls[][2] = {
    {"Read", "{\"file_path\":\"dir/file\"}"},
    {"Read", "{\"file_path\":\"leaf\"}"},
    {"Read", "{\"file_path\":\"/workspace/dir/sub/../file\"}"},
    {"Grep", "{\"pattern\":\"written\",\"path\":\"dir\"}"},
    {"Grep", "{\"pattern\":\"written\"}"},
};

static const char *const write_calls[][2] = {
    {"Write", "{\"file_path\":\"dir/new\",\"content\":\"x\"}"},
    {"Write", "{\"file_path\":\"leaf\",\"content\":\"written inside\\n\"}"},
    {"Write", "{\"file_path\":\"dir/sub/../new\",\"content\":\"x\"}"},
    {"Edit", "{\"file_path\":\"leaf\",\"old_string\":\"written\",\"new_string\":\"rewritten\"}"},
};

static struct score run_tools(const struct race *r, bool without_openat2, unsigned long rounds)
{
    struct score score = {.rounds = rounds};
    struct workspace *ws;
    struct failure why;
    const struct workspace_options options = {.main_folder = r->main,
                                              .without_openat2 = without_openat2};
    if (workspace_open(&options, &ws, &why) != 0)
        die(why.text);
    if (workspace_uses_openat2(ws) == without_openat2)
        fprintf(stderr, "race: this kernel has no openat2\n");
    const struct tool_env env = {
        .workspace = ws, .clock = clock_system(), .was_read = was_read, .note_read = note_read};
    for (unsigned long i = 0; i < rounds; i++) {
        bool leaked;
        const char *const *reads = read_calls[i % ARRAY_COUNT(read_calls)];
        const char *const *writes = write_calls[i % ARRAY_COUNT(write_calls)];
        score.done += call(&env, reads[0], reads[1], &leaked);
        score.reads += leaked;
        score.done += call(&env, writes[0], writes[1], &leaked);
        score.reads += leaked;
        score.writes += outside_was_written(r);
        remove_inside(r);
    }
    workspace_close(ws);
    return score;
}

// What containment by checked strings does: resolve, compare, look what it is, then open the same
// string. On a busy machine the attacker seldom runs in between, hence the patience.
static int check_then_open(const struct race *r, const char *name, int flags)
{
    char path[256], resolved[PATH_MAX];
    snprintf(path, sizeof path, "%s/dir", r->main);
    if (realpath(path, resolved) == NULL || strncmp(resolved, r->main, strlen(r->main)) != 0)
        return -1;
    struct stat st;
    snprintf(path, sizeof path, "%s/dir/%s", r->main, name);
    if ((stat(path, &st) == 0) != ((flags & O_CREAT) == 0))
        return -1;
    return open(path, flags | O_CLOEXEC, 0644);
}

static struct score run_stand_in(const struct race *r, unsigned long rounds)
{
    struct score score = {0};
    while (score.rounds < rounds || (score.reads + score.writes < STAND_IN_ESCAPES &&
                                     score.rounds < rounds * STAND_IN_PATIENCE)) {
        char content[64] = "";
        score.rounds++;
        int fd = check_then_open(r, "file", O_RDONLY);
        if (fd >= 0) {
            score.done++;
            score.reads += read(fd, content, sizeof content - 1) > 0 && strstr(content, SECRET);
            close(fd);
        }
        fd = check_then_open(r, "new", O_WRONLY | O_CREAT);
        if (fd >= 0) {
            score.done++;
            close(fd);
        }
        score.writes += outside_was_written(r);
        remove_inside(r);
    }
    return score;
}

static void print(const char *who, const struct score *s)
{
    printf("%s: %lu rounds, %lu calls done, %lu escapes (%lu reads, %lu writes)\n", who, s->rounds,
           s->done, s->reads + s->writes, s->reads, s->writes);
}

static int remove_entry(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st;
    (void)kind;
    (void)at;
    return remove(path);
}

int main(int argc, char **argv)
{
    static struct race r;
    uint64_t rounds;
    pthread_t attacker;
    if (argc != 2 || !span_to_u64(span_from_string(argv[1]), &rounds) || rounds == 0) {
        fprintf(stderr, "usage: race ROUNDS\n");
        return 2;
    }
    make_tree(&r);
    if (pthread_create(&attacker, NULL, attack, &r) != 0)
        die("pthread_create");
    struct score kernel = run_tools(&r, false, rounds);
    struct score steps = run_tools(&r, true, rounds);
    struct score stand_in = run_stand_in(&r, rounds);
    atomic_store(&r.stop, true);
    pthread_join(attacker, NULL);
    nftw(r.folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    printf("attacker: %lu exchanges\n", atomic_load(&r.exchanges));
    print("openat2", &kernel);
    print("steps", &steps);
    print("check-then-use stand-in", &stand_in);
    bool safe = kernel.reads + kernel.writes + steps.reads + steps.writes == 0;
    bool raced = stand_in.reads + stand_in.writes >= STAND_IN_ESCAPES;
    return safe && raced && kernel.done > 0 && steps.done > 0 ? 0 : 1;
}
