// SPDX-License-Identifier: Apache-2.0
// Serves the official conformance suite: the real programs behind a shim that adds the bearer. Runs
// the scenarios of a revision one after the other and prints what they found.
//
//   node serve.mjs
//
// expected-failures.json: {scenario: {check id: why}}. A check that fails and does not stand there
// is a failure of ours; one that stands there and passes is one too, so that the list stays true.
import { execFile } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { Shim } from "../../harness/shim.mjs";
import { Wrist, root } from "../../harness/wrist.mjs";

// What needs no tool, prompt or resource of the suite's own fixture server.
const scenarios = [
  ["2025-11-25", ["server-initialize", "server-session-lifecycle", "ping", "tools-list",
    "dns-rebinding-protection", "server-sse-multiple-streams"]],
  ["2026-07-28", ["tools-list", "dns-rebinding-protection", "server-sse-multiple-streams",
    "http-header-validation", "server-stateless", "caching"]],
];
const expected = JSON.parse(fs.readFileSync(path.join(import.meta.dirname, "expected-failures.json"), "utf8"));
const command = path.join(root, "tests/node_modules/@modelcontextprotocol/conformance/dist/index.js");

// The suite's own verdict is its exit status; ours is made of the checks that it wrote down.
function runSuite(url, revision, scenario, folder) {
  return new Promise((resolve) => {
    execFile(process.execPath, [command, "server", "--url", url, "--scenario", scenario,
      "--spec-version", revision, "--output-dir", folder], { timeout: 120_000 },
    (error, stdout, stderr) => resolve(`${stdout}${stderr}`));
  });
}

function checksIn(folder) {
  return fs.readdirSync(folder, { recursive: true }).filter((name) => path.basename(name) === "checks.json")
    .flatMap((name) => JSON.parse(fs.readFileSync(path.join(folder, name), "utf8")));
}

const totals = { passed: 0, failed: 0, expected: 0, skipped: 0 };
function judge(scenario, checks, output) {
  const known = expected[scenario] ?? {};
  const count = { passed: 0, failed: 0, expected: 0, skipped: 0 };
  const complain = (text) => {
    count.failed++;
    console.log(`FAILED: ${scenario}: ${text}`);
  };
  if (checks.length === 0) complain(`the suite wrote no checks\n${output}`);
  for (const check of checks) {
    const isKnown = check.id in known;
    if (check.status === "SUCCESS" || check.status === "INFO") {
      if (isKnown && check.status === "SUCCESS" && !checks.some((other) => other.id === check.id && other.status === "FAILURE"))
        complain(`${check.id} passes; take it off expected-failures.json`);
      else count.passed++;
    } else if (check.status === "SKIPPED") {
      count.skipped++;
      console.log(`skipped by the suite: ${scenario}: ${check.id}: ${check.errorMessage ?? check.details?.reason ?? check.description}`);
    } else if (isKnown) count.expected++;
    else complain(`${check.id} (${check.status}): ${check.errorMessage ?? check.description}\n${JSON.stringify(check.details ?? {}).slice(0, 1500)}`);
  }
  for (const key of Object.keys(totals)) totals[key] += count[key];
  return count;
}

const wrist = await Wrist.start();
const shim = await Shim.start(wrist, { token: wrist.token });
try {
  for (const [revision, names] of scenarios) {
    for (const scenario of names) {
      const folder = fs.mkdtempSync(path.join(wrist.folder, "checks-"));
      const output = await runSuite(`${shim.url}/mcp`, revision, scenario, folder);
      const { passed, failed, expected: known, skipped } = judge(scenario, checksIn(folder), output);
      console.log(`${revision} ${scenario}: ${passed} passed, ${failed} failed, ${known} expected to fail, ${skipped} skipped`);
    }
  }
} finally {
  await shim.stop();
  await wrist.stop();
}
console.log(`mcp: ${totals.passed} passed, ${totals.failed} failed, ${totals.expected} expected to fail, ${totals.skipped} skipped`);
process.exitCode = totals.failed > 0 || totals.passed === 0 ? 1 : 0;
