// SPDX-License-Identifier: Apache-2.0
// run_tests and its kin on real projects with the tools of this machine (reference §11.2: no false
// greens; G-16, 17, 20, 22, 46, 47, 49), under a worker that stands alone.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { after, before, beforeEach, test } from "node:test";
import { isRoot } from "../../harness/wrist.mjs";
import { Worker, commandUid } from "./worker.mjs";

const has = (...programs) => programs.every((program) => {
  try {
    execFileSync("/bin/sh", ["-c", `PATH=/usr/bin:/bin:/usr/local/bin:/usr/local/go/bin command -v ${program}`]);
    return true;
  } catch { return false; }
});
const needs = (...programs) => !isRoot ? "needs root: another user for commands"
  : has(...programs) ? false : `needs ${programs.join(", ")}`;

let worker;
before(async () => {
  if (!isRoot) return;
  worker = await Worker.alone();
  await worker.initialize();
});
after(async () => { await worker?.stop(); });
beforeEach(() => {
  for (const name of worker ? fs.readdirSync(worker.workspace) : [])
    fs.rmSync(path.join(worker.workspace, name), { recursive: true, force: true });
});

function project(files) {
  for (const [name, content] of Object.entries(files)) {
    const file = path.join(worker.workspace, name);
    fs.mkdirSync(path.dirname(file), { recursive: true });
    fs.writeFileSync(file, content);
  }
  execFileSync("chown", ["-R", `${commandUid}:${commandUid}`, worker.workspace]);
}
const run = (tool, args = {}) => worker.call(tool, args);
const counts = ({ structuredContent: s }) => [s.verdict, s.failed, s.passed, s.skipped];

test("Go: break, see it fail, rerun it alone, fix, see it pass (G-16, G-46)", { skip: needs("go") }, async () => {
  const source = (body) => ({
    "go.mod": "module example.org/demo\n\ngo 1.21\n",
    "sum.go": `package demo\n\nfunc Sum(a, b int) int { return ${body} }\n`,
    "sum_test.go": `package demo

import "testing"

func TestSum(t *testing.T) {
	t.Run("small", func(t *testing.T) {
		if got := Sum(1, 2); got != 3 {
			t.Errorf("got %d, want 3", got)
		}
	})
}
func TestOther(t *testing.T) {}
func TestSkipped(t *testing.T) { t.Skip("later") }
`,
  });
  project(source("a - b"));
  const failed = await run("run_tests");
  assert.deepEqual(counts(failed), ["failed", 1, 1, 1], failed.text);
  assert.equal(failed.isError, true);
  assert.match(failed.text, /^FAILED\n1 failed, 1 passed, 1 skipped/);
  const [failure] = failed.structuredContent.failures;
  assert.equal(failure.name, "TestSum/small");
  assert.deepEqual([failure.file, failure.line], ["sum_test.go", 8]);
  assert.match(failure.message, /got -1, want 3/);
  assert.ok(failed.text.length < 1000);
  assert.match((await run("last_test_failures")).text, /TestSum\/small sum_test.go:8/);
  const again = await run("run_failing_tests");
  assert.deepEqual(counts(again), ["failed", 1, 0, 0], again.text);
  project(source("a + b"));
  const fixed = await run("run_failing_tests");
  assert.deepEqual(counts(fixed), ["passed", 0, 2, 0], fixed.text);
  assert.equal(fixed.isError, false);
  assert.deepEqual(counts(await run("run_tests")), ["passed", 0, 3, 1]);
});

test("Go: a build error is a failure with its place (G-17)", { skip: needs("go") }, async () => {
  project({
    "go.mod": "module example.org/demo\n\ngo 1.21\n",
    "sum.go": "package demo\n\nfunc Sum(a int) int { return a + missing }\n",
    "sum_test.go": "package demo\n\nimport \"testing\"\n\nfunc TestSum(t *testing.T) {}\n",
  });
  const result = await run("run_tests");
  assert.equal(result.structuredContent.verdict, "build_error", result.text);
  assert.equal(result.isError, true);
  assert.equal(result.structuredContent.failures[0].line, 3);
  assert.match((await run("last_test_failures")).text, /undefined: missing/);
  assert.equal((await run("run_typecheck")).structuredContent.verdict, "failed");
});

test("CMake: ctest's JUnit, a build error, no tests (G-47)", { skip: needs("cmake", "cc") }, async () => {
  const lists = (tests) => `cmake_minimum_required(VERSION 3.20)\nproject(demo C)\nenable_testing()\n`
    + `add_executable(good good.c)\nadd_executable(bad bad.c)\n${tests}`;
  const both = "add_test(NAME good COMMAND good)\nadd_test(NAME bad.one COMMAND bad)\n";
  project({ "CMakeLists.txt": lists(both), "good.c": "int main(void) { return 0; }\n",
    "bad.c": "#include <stdio.h>\nint main(void) { puts(\"bad.c:7: wrong sum\"); return 1; }\n" });
  const failed = await run("run_tests");
  assert.deepEqual(counts(failed), ["failed", 1, 1, 0], failed.text);
  assert.equal(failed.structuredContent.failures[0].name, "bad.one");
  assert.match(failed.structuredContent.failures[0].message, /wrong sum/);
  assert.deepEqual(counts(await run("run_failing_tests")), ["failed", 1, 0, 0]);
  project({ "bad.c": "int main(void) { return missing; }\n" });
  const broken = await run("run_tests");
  assert.equal(broken.structuredContent.verdict, "build_error", broken.text);
  assert.match(broken.structuredContent.failures[0].file, /bad\.c$/);
  project({ "bad.c": "int main(void) { return 0; }\n", "CMakeLists.txt": lists("") });
  const none = await run("run_tests");
  assert.equal(none.structuredContent.verdict, "no_tests", none.text);
  assert.equal(none.isError, true);
});

test("Make: TAP is counted, silence is not a pass", { skip: needs("make") }, async () => {
  project({ Makefile: "test:\n\t@echo '1..2'; echo 'ok 1 - a'; echo 'not ok 2 - b'; exit 1\n" });
  const failed = await run("run_tests");
  assert.deepEqual(counts(failed), ["failed", 1, 1, 0], failed.text);
  project({ Makefile: "test:\n\t@true\n\nhello:\n\t@echo hello\n" });
  const silent = await run("run_tests");
  assert.equal(silent.structuredContent.verdict, "unparsed");
  assert.equal(silent.isError, true);
  assert.match((await run("run_script", { name: "hello" })).text, /^PASSED[^]*hello/);
  assert.equal((await run("run_script", { name: "absent" })).isError, true);
});

test("Node: the built-in runner, with and without a script; a failing lint script is no pass (G-22)", { skip: needs("node", "npm") }, async () => {
  const body = "const test = require('node:test'); const assert = require('node:assert');\n"
    + "test('adds', () => {}); test('breaks', () => assert.equal(1, 2));\n";
  project({ "package.json": "{\"name\":\"demo\"}", "demo.test.js": body });
  const plain = await run("run_tests");
  assert.deepEqual(counts(plain), ["failed", 1, 1, 0], plain.text);
  assert.equal(plain.structuredContent.failures[0].name, "breaks");
  project({ "package.json": JSON.stringify({ name: "demo", scripts: { test: "node --test", lint: "exit 1" } }) });
  const script = await run("run_tests");
  assert.deepEqual(counts(script), ["failed", 1, 1, 0], script.text);
  const lint = await run("run_lint");
  assert.equal(lint.structuredContent.verdict, "unparsed", lint.text);
  assert.equal(lint.isError, true);
  project({ "demo.test.js": "require('node:test')('adds', () => {});\n" });
  assert.deepEqual(counts(await run("run_tests")), ["passed", 0, 1, 0]);
});

test("Python: failures are counted and named, a syntax error is one (G-20)", { skip: needs("python3") }, async () => {
  project({ "pyproject.toml": "[project]\nname = \"demo\"\nversion = \"0\"\n",
    "test_demo.py": "import unittest\n\nclass Demo(unittest.TestCase):\n    def test_good(self):\n        pass\n\n"
      + "    def test_bad(self):\n        self.assertEqual(1, 2)\n" });
  const failed = await run("run_tests");
  assert.deepEqual(counts(failed), ["failed", 1, 1, 0], failed.text);
  assert.match(failed.structuredContent.failures[0].name, /test_bad/);
  project({ "test_demo.py": "def broken(:\n" });
  const broken = await run("run_tests");
  assert.equal(broken.isError, true, broken.text);
  assert.notEqual(broken.structuredContent.verdict, "passed");
});

test("a crash, a timeout, no project and two projects say so (G-49)", { skip: needs("make") }, async () => {
  project({ Makefile: "test:\n\t@echo 'ok 1 - a'; sleep 7501\n" });
  const slow = await run("run_tests", { timeout: 1 });
  assert.equal(slow.structuredContent.verdict, "timeout");
  assert.equal(slow.structuredContent.exit_code, 124);
  assert.equal(slow.isError, true);
  project({ "package.json": "{}" });
  assert.match((await run("run_tests")).text, /several projects are here: node, make/);
  fs.rmSync(path.join(worker.workspace, "package.json"));
  fs.rmSync(path.join(worker.workspace, "Makefile"));
  const none = await run("run_tests");
  assert.equal(none.isError, true);
  assert.match(none.text, /no project in \/workspace/);
});
