// SPDX-License-Identifier: Apache-2.0
#include "workers/workspace/directory.h"

#include "tests/unit/workers/workspace/box.h"

// A path as asked for, and where it leads; NULL: it must be refused.
struct way {
    const char *asked, *leads;
};

static const struct way ways[] = {
    {"", ""},
    {".", ""},
    {"a", "a"},
    {"a/b/", "a/b"},
    {"a//b/./c", "a/b/c"},
    {"a/../a/b", "a/b"},
    {"rel", "a/b"},
    {"rel/c", "a/b/c"},
    {"rel/..", "a"}, // of where the link leads
    {"abs", "a/b"},  // -> /workspace/a/b
    {"abs/c/../c", "a/b/c"},
    {"chain/c", "a/b/c"}, // -> abs
    {"a/up", "a"},        // -> ../a
    {"root", ""},         // -> /workspace
    {"..", NULL},
    {"a/../..", NULL},
    {"rel/../../..", NULL},
    {"out", NULL}, // -> ../outside
    {"out/x", NULL},
    {"etc", NULL},     // -> /etc
    {"similar", NULL}, // -> /workspaces
    {"loop", NULL},    // -> loop
    {"file", NULL},
    {"file/x", NULL},
    {"none", NULL},
    {"proc", NULL}, // -> /proc/self/cwd
};

static void make_tree(struct box *b)
{
    box_put(b, "workspace/a/b/c/file", "x");
    box_put(b, "workspace/file", "x");
    box_put(b, "outside/x/file", "x");
    const char *links[][2] = {
        {"a/b", "rel"},         {"/workspace/a/b", "abs"},
        {"abs", "chain"},       {"../a", "a/up"},
        {"/workspace", "root"}, {"../outside", "out"},
        {"/etc", "etc"},        {"/workspaces", "similar"},
        {"loop", "loop"},       {"/proc/self/cwd", "proc"},
    };
    for (size_t i = 0; i < ARRAY_COUNT(links); i++) {
        char name[64];
        snprintf(name, sizeof name, "workspace/%s", links[i][1]);
        assert_int_equal(symlink(links[i][0], box_path(b, name)), 0);
    }
}

static void check_ways(struct box *b)
{
    for (size_t i = 0; i < ARRAY_COUNT(ways); i++) {
        struct workspace_path path = {.root = WORKSPACE_MAIN};
        struct directory d;
        struct failure why = {0};
        snprintf(path.rest, sizeof path.rest, "%s", ways[i].asked);
        int rc = directory_open(b->ws, &path, DIRECTORY_MUST_EXIST, &d, &why);
        if ((rc == 0) != (ways[i].leads != NULL))
            fail_msg("\"%s\": %d %s", ways[i].asked, rc, why.text);
        if (rc == 0)
            assert_string_equal(d.path, ways[i].leads);
        directory_close(&d);
    }
}

static void the_kernel_and_our_own_steps_lead_to_the_same_places(void **state)
{
    struct box *b = *state;
    make_tree(b);
    if (!workspace_uses_openat2(b->ws))
        print_message("this kernel has no openat2: only our own steps are tested\n");
    check_ways(b);
    workspace_close(b->ws);
    box_open_workspace(b, true);
    check_ways(b);
}

static void check_creation(struct box *b)
{
    struct workspace_path path = {.root = WORKSPACE_MAIN, .rest = "rel/new/deep"};
    struct workspace_path outside = {.root = WORKSPACE_MAIN, .rest = "out/new"};
    struct directory d;
    assert_int_equal(directory_open(b->ws, &path, DIRECTORY_CREATE, &d, NULL), 0);
    assert_string_equal(d.path, "a/b/new/deep");
    directory_close(&d);
    assert_int_equal(directory_open(b->ws, &outside, DIRECTORY_CREATE, &d, NULL), FAULT_DENIED);
    assert_int_not_equal(access(box_path(b, "outside/new"), F_OK), 0);
}

static void missing_directories_are_made_beneath_only(void **state)
{
    struct box *b = *state;
    make_tree(b);
    check_creation(b);
    assert_int_equal(rmdir(box_path(b, "workspace/a/b/new/deep")), 0);
    workspace_close(b->ws);
    box_open_workspace(b, true);
    check_creation(b);
}

static void too_deep_a_path_is_refused(void **state)
{
    struct box *b = *state;
    struct workspace_path path = {.root = WORKSPACE_MAIN};
    struct directory d;
    for (size_t i = 0; i + 2 < 1000; i += 2)
        memcpy(path.rest + i, "d/", 2);
    assert_true(directory_open(b->ws, &path, DIRECTORY_CREATE, &d, NULL) < 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOX_TEST(the_kernel_and_our_own_steps_lead_to_the_same_places),
        BOX_TEST(missing_directories_are_made_beneath_only),
        BOX_TEST(too_deep_a_path_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
