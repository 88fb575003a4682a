# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# The parts of tests/run, and how their results are counted.
#
# Every test becomes one line in a file of $WRIST_RESULTS: "pass NAME", "fail NAME" or
# "skip NAME: REASON". ctest and Node's runner write JUnit files that are read into such lines.

record() { printf '%s\n' "$*" >>"$WRIST_RESULTS/lines"; }

# check NAME COMMAND...: one test that is a command; its output is shown when it fails.
check() {
    local name=$1 log
    shift
    log=$WRIST_RESULTS/check.log
    if "$@" >"$log" 2>&1; then
        record "pass $name"
    else
        record "fail $name"
        echo "FAILED: $name"
        tail -60 "$log"
    fi
}

# build PRESET: configure and build; a build that fails is a failed test.
build() {
    local log=$WRIST_RESULTS/build-$1.log
    if cmake --preset "$1" -DWRIST_TESTS=ON >"$log" 2>&1 && cmake --build --preset "$1" >>"$log" 2>&1; then
        record "pass build $1"
        return 0
    fi
    record "fail build $1"
    grep -E 'error|Error|FAILED' "$log" | head -30
    return 1
}

# Node of the tests' own version; npm of the machine, or Debian's, brings it.
install_node() {
    command -v npm >/dev/null || {
        echo npm >"$WRIST_RESULTS/npm.txt"
        deploy/install-packages "$WRIST_RESULTS/npm.txt" || return 1
    }
    local stamp=tests/node_modules/.installed
    if [ ! -e "$stamp" ] || ! cmp -s tests/package-lock.json "$stamp"; then
        (cd tests && npm ci --no-audit --no-fund >"$WRIST_RESULTS/npm.log" 2>&1) || {
            tail -20 "$WRIST_RESULTS/npm.log"
            echo "npm could not install the tests' packages" >&2
            return 1
        }
        cp tests/package-lock.json "$stamp"
    fi
    export PATH=$WRIST_ROOT/tests/node_modules/node/bin:$WRIST_ROOT/tests/node_modules/.bin:$PATH
}

# run_ctest PRESET [LABEL]
run_ctest() {
    local junit=$WRIST_RESULTS/ctest-$1.xml
    ctest --test-dir "build/$1" -j2 --output-on-failure --output-junit "$junit" \
        >"$WRIST_RESULTS/ctest-$1.log" 2>&1 || grep -vE 'Passed +[0-9]|^ +Start' "$WRIST_RESULTS/ctest-$1.log" | tail -80
    read_junit "$junit" "$1 "
}

# run_node NAME-PREFIX FILE...: Node's own test runner, one file after the other (they share the
# machine's containers).
run_node() {
    local prefix=$1 junit=$WRIST_RESULTS/node.xml
    shift
    [ $# -gt 0 ] || return 0
    rm -f "$junit"
    node --test --test-concurrency=1 --test-timeout=900000 \
        --test-reporter=./tests/harness/reporter.mjs --test-reporter-destination=stdout \
        --test-reporter=junit --test-reporter-destination="$junit" "$@"
    read_junit "$junit" "$prefix"
}

# read_junit FILE PREFIX: JUnit test cases to result lines.
read_junit() {
    [ -s "$1" ] || {
        record "fail $2(no test results were written)"
        return
    }
    awk -v prefix="$2" -f tests/harness/junit.awk "$1" >>"$WRIST_RESULTS/lines"
}

summary() {
    local lines=$WRIST_RESULTS/lines passed failed skipped
    touch "$lines"
    passed=$(grep -c '^pass ' "$lines")
    failed=$(grep -c '^fail ' "$lines")
    skipped=$(grep -c '^skip ' "$lines")
    grep '^skip ' "$lines" | sed 's/^skip /skipped: /'
    grep '^fail ' "$lines" | sed 's/^fail /failed: /'
    echo "$passed passed, $failed failed, $skipped skipped"
    [ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
}

part_lint() {
    check "lint" tests/lint/run
}

part_unit() {
    local preset
    for preset in dev clang asan; do
        build "$preset" && run_ctest "$preset"
    done
}

part_conformance() {
    build release || return
    local script
    for script in tests/conformance/*/run; do
        check "${script%/run}" "$script"
    done
}

part_sandbox() {
    build release || return
    run_node "sandbox: " tests/sandbox/*.test.mjs tests/sandbox/*/*.test.mjs
}

part_integration() {
    build release || return
    run_node "integration: " tests/integration/*.test.mjs
}

part_faults() {
    build release || return
    run_node "faults: " tests/faults/*.test.mjs
}

# The sandbox, integration and fault tests once more, on programs built with ASan and UBSan.
part_sanitized() {
    build asan || return
    local WRIST_BIN=$WRIST_ROOT/build/asan/bin WRIST_TESTS=quick
    export WRIST_BIN WRIST_TESTS
    run_node "sanitized: " tests/sandbox/worker/*.test.mjs tests/integration/*.test.mjs tests/faults/*.test.mjs
    unset WRIST_BIN
}

part_fuzz() {
    build fuzz || return
    local target name
    for target in build/fuzz/fuzz/*; do
        name=$(basename "$target")
        mkdir -p "build/fuzz/corpus/$name"
        check "fuzz ${name#fuzz_}" "$target" -max_total_time="${WRIST_FUZZ_SECONDS:-600}" \
            -print_final_stats=1 -rss_limit_mb=2048 -timeout=20 \
            "build/fuzz/corpus/$name" "tests/fuzz/corpus/${name#fuzz_}"
    done
}

part_bench() {
    build release || return
    if tests/bench/run --out build/bench.md; then
        record "pass bench"
    else
        record "fail bench"
    fi
}
