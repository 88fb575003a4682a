// SPDX-License-Identifier: Apache-2.0
// Faults while a volume is in use: it is never mounted twice, never another principal's, and what was
// written and finished is in the next sandbox.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { after, before, test } from "node:test";
import { leaked, row } from "../harness/faults.mjs";
import { startReplicas } from "../harness/replicas.mjs";
import { isRoot, textOf, until } from "../harness/wrist.mjs";

const skip = isRoot ? false : "volumes need root";
let group;
let a;
let b;
let mounts; // the most loop devices that one image had, as far as was looked
let looking;

const imagesMounted = () => {
  const counts = new Map();
  for (const line of execFileSync("losetup", ["-l", "-n", "-O", "NAME,BACK-FILE"], { encoding: "utf8" }).split("\n")) {
    const image = /(\/\S+)\.ext4/.exec(line)?.[1];
    if (image?.startsWith(a.folder)) counts.set(image, (counts.get(image) ?? 0) + 1);
  }
  return counts;
};
const look = () => {
  mounts = Math.max(mounts, 0, ...imagesMounted().values());
};

before(async () => {
  if (skip) return;
  group = await startReplicas(2, { profiles: { trial: {
    gateway: { warm: 1, idle: "60s", absolute: "10min", volumes: { per_principal: 3 } },
    driver: { volumes: { size: "32MiB", inodes: 2048 } } } } });
  [a, b] = group.all;
  mounts = 0;
  looking = setInterval(look, 100);
});
after(async () => {
  clearInterval(looking);
  await group?.stop();
});

const open = (wrist, volume, options = {}) => wrist.session({ target: `/mcp?volume=${volume}`, ...options });
const sh = async (session, command) => textOf(await session.tool("Bash", { command }));
const at = (replica, session, command) => replica.request("POST", "/mcp", {
  headers: { "mcp-session-id": session.id, "mcp-protocol-version": "2025-11-25" },
  json: { jsonrpc: "2.0", id: 9, method: "tools/call", params: { name: "Bash", arguments: { command } } } });
const holders = async () => (await a.sandboxes()).filter((box) => box.volume && box.state === "running");
const pidOf = (id) => Number(execFileSync("cat", [`${a.run}/driver/sandboxes/${id}/pid`], { encoding: "utf8" }).trim());
// Each replica's list may be a second old.
const endAll = () => until(async () => {
  for (const r of (await a.request("GET", "/v1/sandboxes")).json?.sandboxes ?? []) await a.request("DELETE", `/v1/sandboxes/${r.handle}`);
  return (await holders()).length === 0;
}, "no sandbox to have a volume", { every: 200 });

test("kill -9 of the driver, of every replica and of the sandbox, amid writes", { skip }, async () => {
  const session = await open(a, "work");
  await sh(session, "echo finished > first; sync first");
  const writing = session.tool("Bash", { command: "i=0; while :; do i=$((i+1)); echo $i > n.new; mv n.new n; echo $i >> all; done" }).catch(() => {});
  const [box] = await until(async () => {
    const boxes = await holders();
    return boxes.length === 1 && boxes;
  }, "its sandbox");
  await until(() => imagesMounted().size === 1, "the volume to be mounted");
  const pid = pidOf(box.id);
  const began = Date.now();
  await Promise.all([a.kill("driver"), a.kill("gateway"), b.kill("gateway")]);
  process.kill(pid, "SIGKILL"); // while nobody watches
  await a.startDriver();
  await Promise.all([a.startGateway(), b.startGateway()]);
  await writing;
  const next = await until(async () => {
    const fresh = await open(b, "work");
    const answer = await fresh.tool("Bash", { command: "cat first; n=$(cat n); echo $n $(wc -l < all)" });
    if (!answer.json.result.isError) return answer;
    assert.match(textOf(answer), /in use|nothing/);
    return null;
  }, "a sandbox with the volume", { timeout: 40_000, every: 300 });
  const recovered = Date.now() - began;
  const [, n, lines] = /^finished\n(\d+) (\d+)\n/.exec(textOf(next)).map(Number);
  assert.ok(n > 0);
  assert.ok(lines === n || lines === n - 1, textOf(next)); // nothing that was finished is missing
  assert.equal((await holders()).length, 1);
  look();
  assert.equal(mounts, 1);
  await endAll();
  row("kill -9 of driver, replicas and a sandbox that writes to its volume", { sessions: 1, recovered, leaked: await leaked(a, 1) });
});

test("one session's first calls at both replicas at once get one sandbox with its volume", { skip }, async () => {
  const session = await open(a, "race");
  const answers = await Promise.all(Array.from({ length: 8 }, (_, i) => at(i % 2 ? a : b, session, "echo x >> calls")));
  for (const answer of answers) assert.notEqual(answer.json.result?.isError, true, answer.text);
  assert.match(textOf(await at(b, session, "wc -l < calls")), /^8\n/);
  assert.equal((await holders()).length, 1);
  await session.close();
  await endAll();
});

test("two sessions that want one volume at both replicas at once: one has it, one is told so", { skip }, async () => {
  const sessions = [await open(a, "race"), await open(b, "race")];
  const answers = await Promise.all(sessions.map((s) => s.tool("Bash", { command: "hostname" })));
  assert.deepEqual(answers.map((answer) => answer.json.result.isError === true).sort(), [false, true]);
  assert.match(answers.map(textOf).join(), /volume "race" is in use/);
  assert.equal((await holders()).length, 1);
  look();
  assert.equal(mounts, 1);
  for (const s of sessions) await s.close();
  await endAll();
});

test("a gateway killed while it makes a sandbox with a volume leaves it to nobody else", { skip }, async () => {
  const bob = { token: a.tokens.bob };
  const session = await open(a, "half");
  session.tool("Bash", { command: "echo ann > file" }).catch(() => {});
  await until(async () => (await a.sandboxes()).some((box) => box.volume), "the driver to be asked", { every: 2 });
  await a.kill("gateway");
  const his = await Promise.all(Array.from({ length: 4 }, () => b.session(bob)));
  for (const s of his) assert.match(await sh(s, "ls -A | wc -l"), /^0/);
  // Met by the other, or broken off by the driver, whose order came from who died.
  await until(async () => (await holders()).length === 0 || (await b.request("GET", "/v1/sandboxes")).json.sandboxes.length >= 1,
    "it to be its owner's to end, or gone");
  for (const s of his) await s.close();
  await a.startGateway();
  await endAll();
});

test("FLUSHALL and another Redis: no volume is another principal's, and none is gone", { skip }, async () => {
  const bob = { token: a.tokens.bob };
  const hers = await open(a, "work");
  await sh(hers, "echo ann > mine");
  const began = Date.now();
  await group.redis.ask("FLUSHALL");
  const his = await open(b, "work", bob);
  const seen = await until(async () => {
    const answer = await his.tool("Bash", { command: "ls -A" });
    return answer.json?.result && !answer.json.result.isError ? textOf(answer) : null;
  }, "a sandbox for bob", { every: 200 });
  assert.ok(!seen.includes("mine"), seen);
  assert.match(textOf(await at(b, hers, "cat mine")), /^ann/);
  await his.close();
  await hers.close();
  await endAll();
  await group.redis.ask("FLUSHALL");
  await group.redis.kill();
  await group.redis.start(); // a foreign one: it knows nothing of us
  const again = await until(async () => {
    const fresh = await open(a, "work");
    const answer = await fresh.tool("Bash", { command: "cat mine" });
    return answer.status === 200 && answer.json.result && !answer.json.result.isError ? answer : null;
  }, "ann's volume again", { timeout: 40_000, every: 300 });
  assert.match(textOf(again), /^ann/);
  assert.ok((await a.request("GET", "/v1/volumes")).json.volumes.some((v) => v.name === "work"));
  row("FLUSHALL, and another Redis, with volumes", { sessions: 2, recovered: Date.now() - began, leaked: 0 });
});
