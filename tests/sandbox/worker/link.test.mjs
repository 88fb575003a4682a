// SPDX-License-Identifier: Apache-2.0
// The link of a real worker that is PID 1 of a pid namespace: who gets in, who holds the sandbox,
// what ends a call, a session, the sandbox.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { after, before, test } from "node:test";
import { isRoot, until } from "../../harness/wrist.mjs";
import { Worker, commandUid, messages, principal } from "./worker.mjs";

const skip = isRoot ? false : "needs root: another user for commands";
const other = "b".repeat(64);
let worker;
before(async () => { if (isRoot) worker = await Worker.bound(); });
after(async () => { await worker?.stop(); });

const bind = (w, values) => w.request("POST", "/bind", {
  body: { principal, session: "", generation: 7, idle_ms: 0, absolute_ms: 0, ...values },
});
const status = async (w) => (await w.request("GET", "/status")).json();
const tar = (folder, ...args) => execFileSync("tar", ["-C", folder, "-c", ...args],
  { maxBuffer: 16 << 20 });
const upload = (w, bytes, root = "workspace") =>
  w.request("PUT", `/files?root=${root}`, { body: bytes });

test("without the secret nothing is answered", { skip }, async () => {
  for (const authorization of ["", "Bearer x", `Bearer ${"0".repeat(64)}`, worker.token])
    for (const target of ["/card", "/status", "/nowhere"])
      assert.equal((await worker.request("GET", target, { headers: { authorization } })).status, 401);
});

test("a peer from inside the sandbox is refused before it says a word", { skip }, async () => {
  const { text } = await worker.bash(
    `curl -s --max-time 5 --unix-socket ${worker.where.socketPath} http://x/card; echo "curl $?"`);
  assert.match(text, /^curl (7|52|56)\nexit: 0$/); // 7: closed before curl had looked
  await worker.event("link.peer_refused");
});

test("the card names the tools, with true annotations and no $ref (G-51, G-53)", { skip }, async () => {
  const card = (await worker.request("GET", "/card")).json();
  assert.match(card.digest, /^sha256:[0-9a-f]{64}$/);
  assert.deepEqual(card.tools.map((tool) => tool.name),
    ["Bash", "BashOutput", "Edit", "Glob", "Grep", "KillShell", "Read", "Write",
      "export", "last_test_failures", "run_failing_tests", "run_lint", "run_script", "run_tests", "run_typecheck",
      "snapshot_create", "snapshot_diff", "snapshot_list", "snapshot_restore", "watch_process", "watch_process_events"]);
  assert.ok(!JSON.stringify(card.tools).includes("$ref"));
  for (const tool of card.tools)
    assert.equal(tool.annotations.readOnlyHint, ["BashOutput", "Glob", "Grep", "Read", "export", "last_test_failures", "snapshot_diff",
      "snapshot_list", "watch_process_events"].includes(tool.name));
});

test("the first bind wins for life", { skip }, async () => {
  const fresh = await Worker.linked();
  try {
    assert.equal((await status(fresh)).principal ?? "", "");
    assert.equal((await fresh.post({ jsonrpc: "2.0", id: 1, method: "tools/list" })).status, 404);
    assert.equal((await bind(fresh, { generation: 8 })).status, 409);
    const both = await Promise.all([bind(fresh, {}), bind(fresh, { principal: other })]);
    assert.deepEqual(both.map((answer) => answer.status).sort(), [200, 409]);
    const winner = (await status(fresh)).principal;
    assert.equal((await bind(fresh, { principal: winner })).status, 200);
    assert.equal((await bind(fresh, { principal: winner === other ? principal : other })).status, 409);
  } finally {
    await fresh.stop();
  }
});

test("an unknown session is 404 and nothing runs", { skip }, async () => {
  const answer = await worker.post(
    { jsonrpc: "2.0", id: 1, method: "tools/call",
      params: { name: "Bash", arguments: { command: "touch ran" } } },
    { headers: { "wrist-session": "f".repeat(32) } });
  assert.equal(answer.status, 404);
  assert.equal(answer.json().error.fault, "NOT_FOUND");
  assert.equal(fs.existsSync(path.join(worker.workspace, "ran")), false);
});

test("each reader's reads are its own, and end with its session (G-25)", { skip }, async () => {
  fs.writeFileSync(path.join(worker.workspace, "shared"), "one\n");
  fs.chownSync(path.join(worker.workspace, "shared"), commandUid, commandUid);
  const as = (reader) => ({ headers: { "wrist-reader": reader } });
  const first = worker.session, second = "e".repeat(32);
  const write = (reader) =>
    worker.call("Write", { file_path: "shared", content: "two\n" }, as(reader));
  assert.equal((await worker.call("Read", { file_path: "shared" }, as(first))).isError, false);
  assert.equal((await write(second)).isError, true);
  assert.equal((await worker.request("DELETE", `/sessions/${first}`)).status, 204);
  await bind(worker, { session: first });
  assert.equal((await write(first)).isError, true);
  assert.equal((await worker.call("Read", { file_path: "shared" }, as(second))).isError, false);
  assert.equal((await write(second)).isError, false);
});

test("40 parallel edits are all applied (G-26)", { skip }, async () => {
  const file = path.join(worker.workspace, "counts");
  fs.writeFileSync(file, Array.from({ length: 40 }, (_, i) => `line ${i};\n`).join(""));
  fs.chownSync(file, commandUid, commandUid);
  await worker.call("Read", { file_path: "counts" });
  const edits = [];
  for (let i = 0; i < 40; i += 20) {
    edits.push(...await Promise.all(Array.from({ length: 20 }, (_, k) => worker.call("Edit",
      { file_path: "counts", old_string: `line ${i + k};`, new_string: `done ${i + k};` }))));
  }
  assert.deepEqual(edits.filter((result) => result.isError).map((result) => result.text), []);
  assert.equal(fs.readFileSync(file, "utf8").match(/^done/gm).length, 40);
});

test("/cancel ends the call that came with that id, and only that", { skip }, async () => {
  const call = "c".repeat(32);
  const long = worker.post({ jsonrpc: "2.0", id: 900, method: "tools/call",
    params: { name: "Bash", arguments: { command: "sleep 7401" } } },
  { headers: { "wrist-call": call } });
  const stays = worker.bash("sleep 1; echo stayed");
  await until(async () => (await status(worker)).calls === 2, "two calls run");
  assert.equal((await worker.request("POST", "/cancel", { body: { call } })).status, 204);
  assert.deepEqual(messages(await long), []);
  assert.equal((await stays).text, "stayed\nexit: 0");
  assert.equal((await status(worker)).calls, 0);
});

test("notifications/cancelled ends the call of that session and id", { skip }, async () => {
  const long = worker.post({ jsonrpc: "2.0", id: "x\"1", method: "tools/call",
    params: { name: "Bash", arguments: { command: "sleep 7402" } } });
  await until(async () => (await status(worker)).calls === 1, "the call runs");
  const note = await worker.post({ jsonrpc: "2.0", method: "notifications/cancelled",
    params: { requestId: "x\"1" } });
  assert.equal(note.status, 202);
  assert.equal(note.text, "");
  await long;
  assert.equal((await status(worker)).calls, 0);
});

test("a link that breaks detaches a call and does not cancel it", { skip }, async () => {
  const control = new AbortController();
  const broken = worker.post({ jsonrpc: "2.0", id: 5, method: "tools/call",
    params: { name: "Bash", arguments: { command: "sleep 1; touch detached" } } },
  { signal: control.signal });
  await until(async () => (await status(worker)).calls === 1, "the call runs");
  control.abort();
  await assert.rejects(broken);
  assert.equal((await status(worker)).calls, 1);
  await until(() => fs.existsSync(path.join(worker.workspace, "detached")), "the file");
});

test("more calls than fit are refused with words, not queued for ever", { skip }, async () => {
  const calls = await Promise.all(Array.from({ length: 40 }, () => worker.bash("sleep 1")));
  const refused = calls.filter((result) => result.isError);
  assert.ok(refused.length >= 8 && refused.length < 40, `${refused.length} refused`);
  for (const result of refused) assert.match(result.text, /32 calls run/);
});

test("an upload is unpacked as the commands' user", { skip }, async () => {
  const folder = path.join(worker.folder, "source");
  const deep = path.join(folder, "d".repeat(70), "e".repeat(70));
  fs.mkdirSync(deep, { recursive: true });
  fs.writeFileSync(path.join(deep, "f".repeat(90)), "deep\n");
  fs.writeFileSync(path.join(folder, "run.sh"), "#!/bin/sh\necho ran\n", { mode: 0o755 });
  fs.writeFileSync(path.join(folder, "big"), Buffer.alloc(3_000_001, "x"));
  for (const format of ["ustar", "gnu", "pax"]) {
    const answer = await upload(worker, tar(folder, `--format=${format}`, "."));
    assert.equal(answer.status, 200, answer.text);
    assert.deepEqual(answer.json(), { files: 3, bytes: 3_000_001 + 5 + 19 });
    const { text } = await worker.bash("./run.sh; stat -c %u:%a run.sh; stat -c %s big; cat d*/e*/f*");
    assert.equal(text, `ran\n${commandUid}:755\n3000001\ndeep\nexit: 0`);
    await worker.bash("rm -rf run.sh big d*");
  }
});

test("uploads that would leave their root are refused", { skip }, async () => {
  const folder = path.join(worker.folder, "hostile");
  fs.mkdirSync(folder);
  fs.writeFileSync(path.join(folder, "file"), "x");
  fs.symlinkSync("/etc", path.join(folder, "link"));
  execFileSync("mkfifo", [path.join(folder, "fifo")]);
  const refused = [
    tar(folder, "--transform", "s,^,../../,", "-P", "file"),
    tar(folder, "--transform", "s,^,/tmp/escaped-,", "-P", "file"),
    tar(folder, "link"), tar(folder, "fifo"), tar(folder, "file").subarray(0, 512),
    Buffer.from("this is no tar stream".repeat(100)),
  ];
  for (const bytes of refused) {
    const answer = await upload(worker, bytes);
    assert.ok(answer.status >= 400 && answer.status < 500, `${answer.status} ${answer.text}`);
  }
  // Through a link that a command made.
  await worker.bash(`ln -s ${worker.folder} out`);
  const through = await upload(worker, tar(folder, "--transform", "s,^,out/,", "file"));
  assert.ok(through.status >= 400, `${through.status}`);
  assert.equal(fs.existsSync(path.join(worker.folder, "file")), false);
  assert.equal(fs.existsSync("/tmp/escaped-file"), false);
});

test("inputs can be read by tools and commands, and changed by neither", { skip }, async () => {
  const folder = path.join(worker.folder, "given");
  fs.mkdirSync(folder);
  fs.writeFileSync(path.join(folder, "task.txt"), "do it\n");
  assert.equal((await upload(worker, tar(folder, "task.txt"), "inputs")).status, 200);
  const file = path.join(worker.inputs, "task.txt");
  assert.equal((await worker.call("Read", { file_path: "/inputs/task.txt" })).text, "1\tdo it\n");
  assert.equal((await worker.call("Write", { file_path: "/inputs/new", content: "x" })).isError, true);
  const { text } = await worker.bash(`cat ${file}; echo x >> ${file}; rm -f ${file}; ls ${worker.inputs}`);
  assert.match(text, /^do it\n/);
  assert.match(text, /task\.txt\nexit: 0$/);
  assert.equal(fs.readFileSync(file, "utf8"), "do it\n");
});

test("/end, SIGTERM, the absolute life and want of a gateway each end it in time", { skip }, async () => {
  const ends = {
    end: [{}, async (w) => assert.equal((await w.request("POST", "/end")).status, 204)],
    terminate: [{}, async (w) => {
      const inner = w.processes().find((pid) => pid !== w.child.pid);
      process.kill(inner, "SIGTERM"); // from outside the namespace, as `runc kill` does
    }],
    absolute: [{}, async (w) => bind(w, { absolute_ms: 500 })],
    orphaned: [{ orphan_ms: 500 }, async () => {}],
  };
  for (const [name, [start, act]] of Object.entries(ends)) {
    const fresh = await Worker.linked({ start });
    try {
      await act(fresh);
      const begun = Date.now();
      assert.equal((await fresh.exited).code, 0, name);
      assert.ok(Date.now() - begun < 4000, name);
    } finally {
      await fresh.stop();
    }
  }
});

test("a running command does not hold up the end", { skip }, async () => {
  const fresh = await Worker.bound();
  try {
    const call = fresh.bash("trap '' TERM; sleep 7403").catch(() => {});
    await until(async () => (await status(fresh)).calls === 1, "the call runs");
    const begun = Date.now();
    await fresh.request("POST", "/end");
    await fresh.exited;
    assert.ok(Date.now() - begun < 4000);
    await call;
  } finally {
    await fresh.stop();
  }
});
