// SPDX-License-Identifier: Apache-2.0
#include "gateway/proxy/route.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const struct route routes[] = {
    {"one", "/mcp", {{"POST", NULL}, {"GET", NULL}}},
    {"two", "/mcp/{profile}", {{"POST", NULL}}},
    {"three", "/s/{handle}/mcp", {{"POST", NULL}}},
    {"four", "/v1/{a}/x/{b}", {{"PUT", NULL}}},
};

static struct route_match find(const char *path)
{
    return route_find(routes, sizeof routes / sizeof *routes, span_from_string(path));
}

static void assert_route(const char *path, const char *name, const char *parameter)
{
    struct route_match m = find(path);
    if (name == NULL) {
        assert_null(m.route);
        return;
    }
    assert_non_null(m.route);
    assert_string_equal(m.route->name, name);
    assert_int_equal(m.parameter_count > 0, parameter != NULL);
    if (parameter != NULL)
        assert_true(span_is(m.parameters[0], parameter));
}

static void paths_find_their_route_with_or_without_a_trailing_slash(void **state)
{
    (void)state;
    assert_route("/mcp", "one", NULL);
    assert_route("/mcp/", "one", NULL);
    assert_route("/mcp/trial", "two", "trial");
    assert_route("/mcp/trial/", "two", "trial");
    assert_route("/s/AbC-_/mcp", "three", "AbC-_");
    struct route_match m = find("/v1/p/x/q");
    assert_int_equal(m.parameter_count, 2);
    assert_true(span_is(m.parameters[1], "q"));
}

static void other_paths_find_none(void **state)
{
    (void)state;
    static const char *const paths[] = {
        "",         "/",       "mcp",     "/mcpx",      "/mcp//",      "/MCP",
        "/mcp/a/b", "/s//mcp", "/s/a",    "/s/a/mcp/x", "//mcp",       "/mcp/a//",
        "*",        "/v1//x/", "/mcp%2f", "/s/mcp/",    "/../s/a/mcp", "/v1/a/x/b/c"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        assert_route(paths[i], NULL, NULL);
}

static void allow_lists_the_methods(void **state)
{
    (void)state;
    char allow[64];
    route_allow(&routes[0], allow, sizeof allow);
    assert_string_equal(allow, "POST, GET, OPTIONS");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paths_find_their_route_with_or_without_a_trailing_slash),
        cmocka_unit_test(other_paths_find_none),
        cmocka_unit_test(allow_lists_the_methods),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
