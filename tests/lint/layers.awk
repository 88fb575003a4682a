# SPDX-License-Identifier: Apache-2.0
# Reads layers.txt, then sources; prints includes that no row allows.
FILENAME ~ /layers\.txt$/ {
    if ($0 !~ /^#/ && NF > 0) {
        folder = $1
        sub(/:$/, "", folder)
        $1 = ""
        allowed[folder] = $0 " "
    }
    next
}
FNR == 1 {
    row = FILENAME
    while (row ~ /\//) {
        sub(/\/[^\/]*$/, "", row)
        if (row in allowed)
            break
    }
    if (!(row in allowed))
        print FILENAME ":1: its folder has no row in tests/lint/layers.txt"
}
function may_include(target,    list, n, i, word) {
    if (index(target, row "/") == 1 || allowed[row] ~ /\*/)
        return 1
    n = split(allowed[row], list, " ")
    for (i = 1; i <= n; i++) {
        word = list[i]
        if (word == target || index(target, word "/") == 1)
            return 1
    }
    return 0
}
/^#include "/ {
    target = $2
    gsub(/"/, "", target)
    if (target !~ /\//)
        print FILENAME ":" FNR ": includes are named from the root: " target
    else if (target ~ /\.c$/)
        print FILENAME ":" FNR ": includes a source: " target
    else if (!may_include(target))
        print FILENAME ":" FNR ": " row " may not include " target " (tests/lint/layers.txt)"
}
/^#include <(event2|openssl|nghttp2|hiredis|curl|tree_sitter|cjson)\// || /^#include <(llhttp|pcre2|yaml|seccomp|cjose)\.h>/ {
    target = $2
    gsub(/[<>]/, "", target)
    if (!may_include(target))
        print FILENAME ":" FNR ": " row " may not include " target " (tests/lint/layers.txt)"
}
