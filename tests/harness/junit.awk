# SPDX-License-Identifier: Apache-2.0
# JUnit XML as ctest and Node write it -> "pass NAME", "fail NAME", "skip NAME: REASON".
function attribute(line, name,    at, rest) {
    at = index(line, " " name "=\"")
    if (at == 0)
        return ""
    rest = substr(line, at + length(name) + 3)
    return substr(rest, 1, index(rest, "\"") - 1)
}
function plain(text) {
    gsub(/&lt;/, "<", text)
    gsub(/&gt;/, ">", text)
    gsub(/&quot;/, "\"", text)
    gsub(/&apos;/, "'", text)
    gsub(/&amp;/, "\\&", text)
    return text
}
function close_case() {
    if (name == "")
        return
    print verdict " " prefix plain(name) (verdict == "skip" ? ": " (reason == "" ? "no reason given" : plain(reason)) : "")
    name = ""
}
/<testcase / {
    close_case()
    name = attribute($0, "name")
    verdict = attribute($0, "status") == "fail" ? "fail" : "pass"
    if (attribute($0, "status") == "disabled" || attribute($0, "status") == "notrun")
        verdict = "skip"
    reason = ""
    if ($0 ~ /\/>[ \t]*$/)
        close_case()
}
/<skipped/ { verdict = "skip"; reason = attribute($0, "message") }
/<failure/ || /<error/ { verdict = "fail" }
/<\/testcase>/ { close_case() }
