// SPDX-License-Identifier: Apache-2.0
// What linters and compilers say comes with the answer of the Write or Edit (G-45, G-48).
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { until, Wrist } from "../harness/wrist.mjs";

let wrist, session;
before(async () => {
  wrist = await Wrist.start();
  session = await wrist.session();
});
after(() => wrist?.stop());

const call = async (name, args) => (await session.tool(name, args)).json.result;
const texts = (result) => result.content.map((block) => block.text);
const write = (file_path, content) => call("Write", { file_path, content });
const bash = async (command) => texts(await call("Bash", { command }))[0];

test("a syntax error is told with the Write that made it, and the Edit that mends it is silent", async () => {
  const written = await write("src/a.py", "def f(:\n    pass\n");
  assert.equal(written.isError ?? false, false);
  assert.match(texts(written)[1], /^findings in src\/a\.py: \d+\n {2}line 1: error: /);
  const mended = await call("Edit", { file_path: "/workspace/src/a.py", old_string: "f(:", new_string: "f():" });
  assert.equal(texts(mended).length, 1, JSON.stringify(texts(mended)));
});

test("a C file is compiled as its project compiles it, and nothing is written", async () => {
  await write("CMakeLists.txt", "cmake_minimum_required(VERSION 3.13)\nproject(x C)\nadd_library(x lib.c)\ntarget_include_directories(x PRIVATE deep/include)\ntarget_compile_definitions(x PRIVATE ANSWER=42)\n");
  await write("deep/include/own.h", "#define OWN 1\n");
  await write("lib.c", '#include "own.h"\nint answer(void) { return ANSWER + OWN; }\n');
  assert.match(await bash("cmake -S . -B build -DCMAKE_EXPORT_COMPILE_COMMANDS=ON >/dev/null && rm -rf before && ls -R build > /tmp/before; echo $?"), /^0/);
  const good = await call("Edit", { file_path: "lib.c", old_string: "ANSWER + OWN", new_string: "OWN + ANSWER" });
  assert.equal(texts(good).length, 1, JSON.stringify(texts(good)));
  const bad = await call("Edit", { file_path: "lib.c", old_string: "OWN + ANSWER", new_string: "OWN + ANSWER + missing" });
  assert.match(texts(bad)[1], /findings in lib\.c: 1\n {2}line 2: error: .*missing/);
  assert.match(await bash("ls -R build | diff - /tmp/before"), /^exit: 0|^\n?exit: 0/);
});

test("without the project's own line a header that is not found is no finding, an error is", async () => {
  assert.equal(texts(await write("alone/x.c", '#include "not-here.h"\nint f(void) { return 0; }\n')).length, 1);
  assert.match(texts(await write("alone/y.c", "int f(void) { return 0 }\n"))[1], /line 1: error: expected/);
});

test("a shell script, and files that nothing looks at", async () => {
  assert.match(texts(await write("run.sh", "#!/bin/bash\nif true; then\n"))[1], /^findings in run\.sh/);
  assert.equal(texts(await write("README.md", "# if true; then (\n")).length, 1);
  assert.equal(texts(await write("data.txt", "def f(:\n")).length, 1);
});

test("a slow linter holds no answer back: it is said that it looks, and the next answer has it", async () => {
  await write("node_modules/.bin/eslint", `#!/bin/bash\nsleep 4\necho '[{"filePath":"/workspace/slow.js","messages":[{"ruleId":"no-x","severity":2,"line":3,"message":"not so"}]}]'\n`);
  await bash("chmod +x node_modules/.bin/eslint");
  const started = Date.now();
  const written = await write("slow.js", "let x;\n");
  assert.ok(Date.now() - started < 3500, `${Date.now() - started} ms`);
  assert.match(texts(written)[1], /slow\.js is still being looked at/);
  const other = await wrist.session();
  await until(async () => {
    const read = texts(await call("Read", { file_path: "slow.js" }));
    return read[1] && assert.match(read[1], /findings in slow\.js: 1\n {2}line 3: error: no-x: not so/) === undefined;
  }, "the findings", { every: 200 });
  assert.equal(texts(await call("Read", { file_path: "slow.js" })).length, 1); // told once
  await other.close();
});

test("an edit while the linter still looks at the last one starts anew", async () => {
  await write("slow2.js", "let x;\n");
  const before = await bash("pgrep -fc 'sleep 4' || true");
  await call("Edit", { file_path: "slow2.js", old_string: "let x", new_string: "let y" });
  await call("Edit", { file_path: "slow2.js", old_string: "let y", new_string: "let z" });
  const now = await bash("pgrep -xc sleep || true");
  assert.ok(Number.parseInt(now, 10) <= 2, `${before} ${now}`);
});
