// SPDX-License-Identifier: Apache-2.0
// Commands in the background (reference §11: G-05, G-15), under a real worker that is PID 1 of a pid
// namespace.
import assert from "node:assert/strict";
import fs from "node:fs";
import { after, before, test } from "node:test";
import { isRoot, until } from "../../harness/wrist.mjs";
import { Worker } from "./worker.mjs";

const skip = isRoot ? false : "needs root: another user for commands";
let worker;
before(async () => { if (isRoot) worker = await Worker.bound(); });
after(async () => { await worker?.stop(); });

const running = (marker) => worker.processes().filter((pid) => {
  try {
    return fs.readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0").includes(marker);
  } catch { return false; }
});

const begin = async (command) => {
  const { structuredContent } = await worker.call("Bash", { command, run_in_background: true });
  assert.match(structuredContent.shell_id, /^[0-9a-f]{32}$/);
  return structuredContent.shell_id;
};
const look = (shell_id, rest = {}) => worker.call("BashOutput", { shell_id, ...rest });
const completed = (shell_id) => until(async () => {
  const result = await look(shell_id, { offset: 0 });
  return result.structuredContent.running ? undefined : result;
}, "the shell's end");

test("a background command returns at once, and each look brings only what is new", { skip }, async () => {
  const id = await begin("echo one; until [ -e go ]; do sleep 0.02; done; echo two >&2; exit 7");
  const seen = [];
  await until(async () => { seen.push((await look(id)).text); return seen.join("").includes("one\n"); }, "one");
  assert.match((await look(id)).text, /^status: running, \d+ s$/);
  fs.writeFileSync(`${worker.workspace}/go`, "");
  const all = await completed(id);
  assert.match(all.text, /^one\ntwo\nstatus: completed, \d+ s\nexit: 7$/);
  assert.equal(all.isError, false);
  assert.equal(all.structuredContent.exit_code, 7);
  assert.equal(all.structuredContent.next_offset, 8);
  const again = await look(id, { offset: 4 });
  assert.match(again.text, /^two\nstatus: completed/);
  assert.match((await look(id)).text, /^status: completed/);
});

test("no shell loses its last bytes (G-15)", { skip }, async () => {
  for (let round = 0; round < 8; round++) {
    const ids = await Promise.all(Array.from({ length: 6 }, (_, i) =>
      begin(`head -c 70000 /dev/zero | tr '\\0' x; echo; echo last-${round}-${i}`)));
    for (const [i, id] of ids.entries()) {
      const end = await completed(id);
      assert.equal(end.structuredContent.output_bytes, 70000 + 1 + `last-${round}-${i}\n`.length,
        end.text.replace(/x+/, "x"));
      assert.ok(end.text.includes(`\nlast-${round}-${i}\nstatus: completed`));
    }
  }
});

test("of a flood the last MiB is kept, and what is gone is counted", { skip }, async () => {
  const id = await begin("head -c 50000000 /dev/zero | tr '\\0' x; echo; echo last");
  const end = await completed(id);
  assert.equal(end.structuredContent.lost_bytes, 50000006 - (1 << 20));
  assert.match(end.text, /no longer kept\]/);
  let offset = end.structuredContent.next_offset, text = "", looks = 0;
  while (offset < 50000006) {
    const more = await look(id, { offset });
    text = more.text;
    assert.ok(more.structuredContent.next_offset > offset && ++looks < 20);
    offset = more.structuredContent.next_offset;
  }
  assert.match(text, /x\nlast\nstatus: completed, \d+ s\nexit: 0$/);
});

test("what the shell leaves behind belongs to it, and KillShell ends the whole tree (G-05)", { skip }, async () => {
  const id = await begin("setsid sleep 7401 & (setsid nohup setsid sleep 7401 &); echo up");
  await until(() => running("7401").length === 2, "two sleeps");
  assert.equal((await look(id)).structuredContent.running, true);
  const killed = await worker.call("KillShell", { shell_id: id });
  assert.equal(killed.text, `killed: ${id}`);
  assert.deepEqual(running("7401"), []);
  const gone = await look(id);
  assert.equal(gone.isError, true);
  assert.match(gone.text, /no background shell/);
  assert.equal((await worker.call("KillShell", { shell_id: id })).isError, true);
});

test("at most sixteen run; ended ones make room", { skip }, async () => {
  const ids = [];
  for (let i = 0; i < 16; i++) ids.push(await begin("exec sleep 7402"));
  const refused = await worker.call("Bash", { command: "true", run_in_background: true });
  assert.equal(refused.isError, true);
  assert.match(refused.text, /16 background shells run/);
  await Promise.all(ids.map((shell_id) => worker.call("KillShell", { shell_id })));
  for (let i = 0; i < 20; i++) await completed(await begin(`echo ${i}`));
});

test("a running shell counts as use of the sandbox", { skip }, async () => {
  const calls = async () => (await worker.request("GET", "/status")).json().calls;
  const before = await calls();
  const id = await begin("sleep 7403");
  assert.equal(await calls(), before + 1);
  await worker.call("KillShell", { shell_id: id });
  assert.equal(await calls(), before);
});

test("the end of a session kills its shells", { skip }, async () => {
  const id = await begin("setsid sleep 7404 & sleep 7404");
  await until(() => running("7404").length === 2, "two sleeps");
  await worker.request("DELETE", `/sessions/${worker.session}`);
  await until(() => running("7404").length === 0, "their end");
  assert.ok(id);
});
