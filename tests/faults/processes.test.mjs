// SPDX-License-Identifier: Apache-2.0
// One gateway of several processes on the same ports: any of them serves any session, one that dies
// is replaced, and signals reach all.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { after, before, test } from "node:test";
import { startReplicas } from "../harness/replicas.mjs";
import { openStream } from "../harness/stream.mjs";
import { sleep, textOf, until } from "../harness/wrist.mjs";

const COUNT = 3;
let group;
let wrist;
before(async () => {
  group = await startReplicas(1, { gateway: { processes: COUNT }, profiles: { trial: { gateway: { warm: 2 } } } });
  [wrist] = group.all;
  await until(async () => (await Promise.all([...Array(COUNT).keys()].map(ready))).every(Boolean), "every process to be ready");
});
after(() => group?.stop());

const admin = (process, target) =>
  wrist.unix(path.join(wrist.run, process === 0 ? "admin.sock" : `admin.sock.${process}`), "GET", target);
const ready = async (process) => (await admin(process, "/readyz").catch(() => null))?.status === 200;
const accepted = async (process) => Number(/^wrist_connections_accepted (\d+)$/m.exec((await admin(process, "/metrics")).text)[1]);
const parent = () => wrist.processes.get("gateway").pid;
const children = () => fs.readFileSync(`/proc/${parent()}/task/${parent()}/children`, "utf8").trim().split(" ").map(Number);
const revision = "2025-11-25";
// Each on a connection of its own, which the kernel gives to any of the processes.
const call = (session, command, id = 7) => wrist.request("POST", "/mcp", { agent: false,
  headers: { "mcp-session-id": session.id, "mcp-protocol-version": revision },
  json: { jsonrpc: "2.0", id, method: "tools/call", params: { name: "Bash", arguments: { command } } } });

test("connections are spread over all, and a session's calls find its sandbox from each of them", async () => {
  assert.equal(children().length, COUNT);
  const session = await wrist.session({ agent: false });
  assert.match(textOf(await call(session, "echo mine > mark; echo made")), /made/);
  const before = await Promise.all([...Array(COUNT).keys()].map(accepted));
  for (let i = 0; i < 40; i++) assert.match(textOf(await call(session, "cat mark")), /mine/);
  const served = (await Promise.all([...Array(COUNT).keys()].map(accepted))).map((count, i) => count - before[i]);
  assert.equal(served.reduce((sum, count) => sum + count, 0), 40);
  assert.ok(served.every((count) => count > 0), served.join(" "));
  await session.close();
});

test("a cancellation on another connection ends the call, whichever process has it", async () => {
  const session = await wrist.session({ agent: false });
  await call(session, "true");
  for (let i = 0; i < 4; i++) {
    const began = Date.now();
    const stream = await openStream(wrist, "POST", { session, json: { jsonrpc: "2.0", id: 100 + i, method: "tools/call",
      params: { name: "Bash", arguments: { command: "sleep 30" } } } });
    await wrist.request("POST", "/mcp", { agent: false, headers: { "mcp-session-id": session.id, "mcp-protocol-version": revision },
      json: { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 100 + i } } });
    await until(() => stream.ended, "the call to end");
    assert.ok(Date.now() - began < 15_000);
  }
  await session.close();
});

test("kill -9 of one: nobody else notices, it is replaced, and what it served goes on", async () => {
  const session = await wrist.session({ agent: false });
  assert.match(textOf(await call(session, "echo still > mark; echo made")), /made/);
  const before = children();
  for (const victim of before.slice(0, 2)) {
    process.kill(victim, "SIGKILL");
    await until(() => children().length === COUNT && !children().includes(victim), "another in its place", { timeout: 10_000 });
    for (let i = 0; i < 12; i++) assert.match(textOf(await call(session, "cat mark")), /still/);
  }
  assert.equal(wrist.logs.gateway.filter((line) => line.event === "process.ended").length, 2);
  await until(async () => (await Promise.all([...Array(COUNT).keys()].map(ready))).every(Boolean), "all to be ready again");
  await session.close();
});

test("SIGHUP reaches every process", async () => {
  const lines = () => wrist.logs.gateway.filter((line) => line.event === "tokens.reloaded").length;
  const before = lines();
  process.kill(parent(), "SIGHUP");
  await until(() => lines() === before + COUNT, "each to read its tokens again");
});

test("SIGTERM: calls in flight finish, then all processes are gone; sandboxes stay", async () => {
  const session = await wrist.session({ agent: false });
  await call(session, "echo kept > mark");
  const last = children();
  const running = Promise.all([1, 2, 3, 4].map((i) => call(session, `sleep 1; echo finished ${i}`, i)));
  await sleep(300);
  const child = wrist.processes.get("gateway");
  for (const pid of [parent(), ...last]) process.kill(pid, "SIGTERM"); // as a supervisor does that signals a group
  (await running).forEach((answer, i) => assert.match(textOf(answer), new RegExp(`finished ${i + 1}`)));
  assert.deepEqual(await child.ended, { code: 0, signal: null });
  assert.ok(last.every((pid) => !fs.existsSync(`/proc/${pid}`)));
  await wrist.startGateway();
  assert.match(textOf(await call(session, "cat mark")), /kept/);
  await session.close();
});

test("SIGTERM twice: at once", async () => {
  const session = await wrist.session({ agent: false });
  const stream = await openStream(wrist, "POST", { session, json: { jsonrpc: "2.0", id: 9, method: "tools/call",
    params: { name: "Bash", arguments: { command: "sleep 60" } } } });
  const child = wrist.processes.get("gateway");
  const began = Date.now();
  process.kill(child.pid, "SIGTERM");
  await sleep(300);
  process.kill(child.pid, "SIGTERM");
  await child.ended;
  assert.ok(Date.now() - began < 5000);
  stream.cut();
  await wrist.startGateway();
});

test("a start that cannot work ends the whole, and the line says why", async () => {
  await wrist.kill("gateway", "SIGTERM");
  const file = path.join(wrist.folder, "gateway.yaml");
  const good = fs.readFileSync(file, "utf8");
  fs.writeFileSync(file, good.replace(/"tokens_file": ?"[^"]*"|"tokens": ?"[^"]*"/, (text) => text.replace(/: ?".*"/, ': "/nowhere/tokens"')));
  await assert.rejects(wrist.startGateway(), /nowhere/);
  fs.writeFileSync(file, JSON.stringify({ ...JSON.parse(good), store: { url: "memory" } }));
  await assert.rejects(wrist.startGateway(), /processes.*Redis/s);
  fs.writeFileSync(file, good);
  assert.equal(spawnSync("pgrep", ["-c", "-f", file]).stdout.toString().trim(), "0");
});
