// SPDX-License-Identifier: Apache-2.0
#include "workers/checks/project.h"

#include <stdio.h>
#include <unistd.h>

#include "gateway/lib/base/memory.h"

#define CMAKE_BUILD                                                                                \
    "{ [ -f build/CMakeCache.txt ] || cmake -S . -B build -DCMAKE_EXPORT_COMPILE_COMMANDS=ON; } "  \
    "&& cmake --build build --parallel 2"
#define MESON_BUILD "{ [ -d build/meson-info ] || meson setup build; } && meson compile -C build"
#define CPPCHECK                                                                                   \
    "cppcheck --quiet --enable=warning,performance,portability --inline-suppr "                    \
    "--template='{file}:{line}:{column}: {severity}: {message} [{id}]' "                           \
    "--error-exitcode=1 -i build ."

const struct project project_table[] = {
    {.name = "go",
     .language = "go",
     .markers = {"go.mod"},
     .checks = {[CHECK_TESTS] = {"go test -json -count=1 ./...", &parser_gotest,
                                 &parser_diagnostics, false},
                [CHECK_LINT] = {"if command -v golangci-lint >/dev/null; then golangci-lint run "
                                "./...; else go vet ./...; fi",
                                &parser_diagnostics, &parser_diagnostics, false},
                [CHECK_TYPES] = {"go vet ./...", &parser_diagnostics, &parser_diagnostics, false}},
     .rerun = "go test -json -count=1 -run $PATTERN $SUITES"},
    {.name = "rust",
     .language = "rust",
     .markers = {"Cargo.toml"},
     .checks = {[CHECK_TESTS] = {"cargo test --no-fail-fast --message-format=json", &parser_cargo,
                                 NULL, false},
                [CHECK_LINT] = {"cargo clippy --all-targets --message-format=json -- -D warnings",
                                &parser_cargo, NULL, false},
                [CHECK_TYPES] = {"cargo check --all-targets --message-format=json", &parser_cargo,
                                 NULL, false}},
     .rerun = "cargo test --no-fail-fast --message-format=json -- --exact $NAMES"},
    {.name = "node",
     .language = "node",
     .markers = {"package.json"},
     .checks =
         {[CHECK_TESTS] = {"if node -e 'process.exit(require(\"./package.json\").scripts?.test ? 0 "
                           ": 1)'; then $MANAGER run test; else node --test "
                           "--test-reporter=junit --test-reporter-destination=\"$REPORT\"; fi",
                           &parser_summary, &parser_summary, true},
          [CHECK_LINT] = {"if node -e 'process.exit(require(\"./package.json\").scripts?.lint ? 0 "
                          ": 1)'; then $MANAGER run lint; else npx --no-install eslint . "
                          "--format=json; fi",
                          &parser_lint_json, &parser_diagnostics, false},
          [CHECK_TYPES] =
              {"if node -e 'process.exit(require(\"./package.json\").scripts?.typecheck "
               "? 0 : 1)'; then $MANAGER run typecheck; else npx --no-install tsc "
               "--noEmit --pretty false; fi",
               &parser_diagnostics, &parser_diagnostics, false}}},
    {.name = "python",
     .language = "python",
     .markers = {"pyproject.toml", "setup.py", "setup.cfg", "pytest.ini"},
     .checks =
         {[CHECK_TESTS] = {"if python3 -c 'import pytest' 2>/dev/null; then python3 -m pytest "
                           "-q -o junit_family=xunit1 --junitxml=\"$REPORT\"; else python3 "
                           "-m unittest discover; fi",
                           NULL, &parser_summary, true},
          [CHECK_LINT] = {"ruff check --output-format=json-lines .", &parser_lint_json, NULL,
                          false},
          [CHECK_TYPES] = {"mypy --no-color-output --show-column-numbers "
                           "--no-error-summary .",
                           &parser_diagnostics, NULL, false}},
     .rerun = "python3 -m pytest -q -o junit_family=xunit1 --junitxml=\"$REPORT\" $NODES"},
    {.name = "cmake",
     .language = "c",
     .markers = {"CMakeLists.txt"},
     .checks = {[CHECK_TESTS] = {CMAKE_BUILD " && ctest --test-dir build "
                                             "--output-junit \"$REPORT\"",
                                 &parser_diagnostics, &parser_diagnostics, true},
                [CHECK_LINT] = {CPPCHECK, &parser_diagnostics, &parser_diagnostics, false},
                [CHECK_TYPES] = {CMAKE_BUILD, &parser_diagnostics, &parser_diagnostics, false}},
     .rerun = CMAKE_BUILD " && ctest --test-dir build --output-junit "
                          "\"$REPORT\" -R $PATTERN"},
    {.name = "meson",
     .language = "c",
     .markers = {"meson.build"},
     .checks = {[CHECK_TESTS] = {MESON_BUILD
                                 " && { meson test -C build --no-rebuild; status=$?; cp "
                                 "build/meson-logs/testlog.junit.xml \"$REPORT\"; "
                                 "exit $status; }",
                                 &parser_diagnostics, &parser_diagnostics, true},
                [CHECK_LINT] = {CPPCHECK, &parser_diagnostics, &parser_diagnostics, false},
                [CHECK_TYPES] = {MESON_BUILD, &parser_diagnostics, &parser_diagnostics, false}}},
    {.name = "make",
     .language = "c",
     .markers = {"Makefile", "makefile", "GNUmakefile"},
     .checks = {[CHECK_TESTS] = {"if make -n test >/dev/null 2>&1; then make test; else make "
                                 "check; fi",
                                 &parser_summary, &parser_diagnostics, false},
                [CHECK_LINT] = {CPPCHECK, &parser_diagnostics, &parser_diagnostics, false},
                [CHECK_TYPES] = {"make --keep-going", &parser_diagnostics, &parser_diagnostics,
                                 false}}},
};

const size_t project_count = ARRAY_COUNT(project_table);

static bool is_here(int directory, const struct project *p)
{
    for (size_t i = 0; i < ARRAY_COUNT(p->markers) && p->markers[i] != NULL; i++)
        if (faccessat(directory, p->markers[i], F_OK, 0) == 0)
            return true;
    return false;
}

static bool is_asked_for(const struct project *p, const char *language)
{
    return language[0] == '\0' || strcmp(language, p->name) == 0 ||
           strcmp(language, p->language) == 0;
}

// Of one language the first row counts: a Makefile beside a CMakeLists.txt is mostly a wrapper.
int project_detect(int directory, const char *language, const struct project **out,
                   struct failure *why)
{
    char names[128] = "";
    size_t used = 0, count = 0;
    *out = NULL;
    for (size_t i = 0; i < project_count; i++) {
        const struct project *p = &project_table[i];
        if (!is_asked_for(p, language) || !is_here(directory, p))
            continue;
        if (*out != NULL && strcmp((*out)->language, p->language) == 0)
            continue;
        *out = *out == NULL ? p : *out;
        count++;
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", count > 1 ? ", " : "",
                                 p->name);
    }
    if (count == 1)
        return 0;
    if (count > 1)
        return failure_set(why, FAULT_INVALID,
                           "several projects are here: %s; say which one with "
                           "\"language\"",
                           names);
    return failure_set(why, FAULT_NOT_FOUND,
                       "no %s%sproject in /workspace: none of go.mod, Cargo.toml, package.json, "
                       "pyproject.toml, setup.py, CMakeLists.txt, meson.build, Makefile is there",
                       language, language[0] != '\0' ? " " : "");
}
