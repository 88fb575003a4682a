// SPDX-License-Identifier: Apache-2.0
// What Redis may do to two replicas: die, hang, forget, run out of memory. Bound sessions are served
// on both, also by the one that never saw them; what is new is refused at once; all heals by itself.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import path from "node:path";
import { after, before, test } from "node:test";
import { startReplicas } from "../harness/replicas.mjs";
import { bin, full, textOf, until } from "../harness/wrist.mjs";

let group;
let a;
let b;

before(async () => {
  group = await startReplicas(2, { profiles: { trial: { gateway: { warm: 2, idle: "5min", absolute: "10min" } } } });
  [a, b] = group.all;
});
after(() => group?.stop());

const fleet = () => a.gatewayConfig.fleet;
const revision = "2025-11-25";
const at = (replica, session, command, options = {}) => replica.request("POST", "/mcp", { ...options,
  headers: { "mcp-session-id": session.id, "mcp-protocol-version": revision },
  json: { jsonrpc: "2.0", id: 77, method: "tools/call", params: { name: "Bash", arguments: { command } } } });

async function boundSession(replica, mark) {
  const session = await replica.session();
  assert.match(textOf(await at(replica, session, `echo ${mark} > mark; echo ok`)), /ok/);
  return session;
}

// A first call on a session that nothing is bound to yet.
async function newBind(replica) {
  const session = await replica.session();
  const began = Date.now();
  const answer = await at(replica, session, "echo new");
  return { session, answer, took: Date.now() - began };
}

async function assertRefused(replica) {
  const { answer, took } = await newBind(replica);
  assert.equal(answer.status, 503, answer.text);
  assert.ok(Number(answer.headers["retry-after"]) > 0);
  assert.ok(took < 500, `${took} ms`);
}

async function assertHeals(...replicas) {
  for (const replica of replicas)
    await until(async () => {
      const { session, answer } = await newBind(replica);
      await session.close();
      return answer.status === 200 && /new/.test(textOf(answer));
    }, "new binds to work again");
}

// PI-152, PI-171: no restart, and what is bound does not notice.
test("kill -9 of Redis: bound sessions are served on both replicas, new ones are refused within half a second", async () => {
  const session = await boundSession(a, "one");
  await until(async () => (await a.sandboxes()).some((box) => box.note?.startsWith("s:")), "the note");
  await group.redis.kill();
  assert.match(textOf(await at(a, session, "cat mark")), /one/);
  assert.match(textOf(await at(b, session, "cat mark")), /one/, "never seen there");
  await assertRefused(a);
  await assertRefused(b);
  const stranger = await at(b, session, "cat mark", { token: b.tokens.bob });
  assert.equal(stranger.status, 404);
  await group.redis.start(); // and it comes back empty
  await assertHeals(a, b);
  assert.match(textOf(await at(b, session, "cat mark")), /one/);
  await session.close();
});

test("SIGSTOP of Redis: a call waits for it no longer than its deadline, and it goes on where it stopped", async () => {
  const session = await boundSession(a, "two");
  await until(async () => (await a.sandboxes()).filter((box) => box.note?.startsWith("s:")).length > 0, "the note");
  group.redis.kill("SIGSTOP");
  const began = Date.now();
  assert.match(textOf(await at(b, session, "cat mark")), /two/);
  assert.ok(Date.now() - began < 2000, `${Date.now() - began} ms`);
  await assertRefused(a);
  await assertRefused(b);
  assert.match(textOf(await at(a, session, "cat mark")), /two/);
  group.redis.kill("SIGCONT");
  await assertHeals(a, b);
  await session.close();
});

test("FLUSHALL: no sandbox is handed to a second principal, and bound sessions go on", async () => {
  const sessions = await Promise.all([boundSession(a, "three"), boundSession(b, "four")]);
  await group.redis.ask("FLUSHALL");
  const strangers = await Promise.all([a, b, a, b].map(async (replica) => {
    const session = await replica.session({ token: replica.tokens.bob });
    const answer = await at(replica, session, "cat mark; echo end", { token: replica.tokens.bob });
    await replica.request("DELETE", "/mcp", { token: replica.tokens.bob,
      headers: { "mcp-session-id": session.id, "mcp-protocol-version": revision } });
    return answer;
  }));
  for (const answer of strangers) assert.doesNotMatch(answer.text, /three|four/);
  assert.match(textOf(await at(a, sessions[0], "cat mark")), /three/);
  assert.match(textOf(await at(b, sessions[1], "cat mark")), /four/);
  assert.match(textOf(await at(b, sessions[0], "cat mark")), /three/);
  await assertHeals(a, b);
  // What Redis held of them is there again: they are counted, and will be reaped.
  await until(async () => (await group.redis.ask("ZCARD", `{wrist:${fleet()}}:due:absolute`)) === 2, "their deadlines");
  for (const session of sessions) await session.close();
});

test("maxmemory reached: what is bound is served, what is new is refused, and it heals", async () => {
  const session = await boundSession(a, "five");
  await group.redis.ask("CONFIG", "SET", "maxmemory", "1");
  assert.match(textOf(await at(b, session, "cat mark")), /five/);
  await assertRefused(a);
  await group.redis.ask("CONFIG", "SET", "maxmemory", "0");
  await assertHeals(a, b);
  await session.close();
});

test("a server that may evict keys is refused at the start, and the reason says what to set", async () => {
  await group.redis.ask("CONFIG", "SET", "maxmemory-policy", "allkeys-lru");
  await b.kill("gateway", "SIGKILL");
  await assert.rejects(b.startGateway(), /allkeys-lru.*noeviction/s);
  await group.redis.ask("CONFIG", "SET", "maxmemory-policy", "noeviction");
  await b.startGateway();
});

test("kill -9 right behind the answer to a DELETE: the sandbox ends all the same, and its id is not served again", async () => {
  for (let round = 0; round < 5; round++) {
    const session = await boundSession(b, "deleted");
    assert.ok((await session.close()).status < 300);
    await b.kill("gateway", "SIGKILL");
    await b.startGateway();
    await until(async () => (await a.sandboxes()).every((box) => !box.note), "its sandbox to be gone");
    // The other replica may have known it as bound; it is told by the driver that it is gone.
    await until(async () => (await at(a, session, "cat mark")).status === 404, "the session to be over there, too", { timeout: 2000 });
    const { handle } = (await b.request("POST", "/v1/sandboxes", { json: {} })).json;
    assert.equal((await b.request("DELETE", `/v1/sandboxes/${handle}`)).status, 204);
    await b.kill("gateway", "SIGKILL");
    await b.startGateway();
    await until(async () => (await a.sandboxes()).every((box) => !box.note), "the named one to be gone");
  }
});

// PI-164, PI-157
test("wristctl store check: what fell out of an index is put back, and a record of nothing is taken out, the rest unharmed", async () => {
  const session = await boundSession(a, "six");
  const key = (name) => `{wrist:${fleet()}}:${name}`;
  const [id] = await until(async () => { // the other tests' sessions are closed
    const all = await group.redis.ask("ZRANGE", key("due:absolute"), 0, -1);
    return all.length === 1 && all;
  }, "the deadline of one session alone");
  await group.redis.ask("ZREM", key("due:absolute"), id);
  await group.redis.ask("ZREM", key("due:idle"), id);
  await group.redis.ask("SET", key("sandbox:ghost"), "ghost trial - - 1 1 0 0 0");
  await group.redis.ask("ZADD", key("sandboxes"), 0, "ghost");
  await group.redis.ask("ZADD", key("due:idle"), 1, "another-ghost");
  const checked = spawnSync(path.join(bin, "wristctl"), ["store", "check", "--admin", `unix:${b.run}/admin.sock`], { encoding: "utf8" });
  assert.equal(checked.status, 0, checked.stderr);
  assert.equal(JSON.parse(checked.stdout).taken_out, 1, checked.stdout);
  await until(async () => (await group.redis.ask("ZRANGE", key("due:absolute"), 0, -1)).includes(id), "the deadline");
  await until(async () => {
    const ids = [...await group.redis.ask("ZRANGE", key("sandboxes"), 0, -1), ...await group.redis.ask("ZRANGE", key("due:idle"), 0, -1)];
    return ids.includes(id) && !ids.some((name) => name.includes("ghost"));
  }, "the ghosts to be gone");
  assert.match(textOf(await at(b, session, "cat mark")), /six/);
  await session.close();
});

test("after all of it: no sandbox is anybody's, quotas and deadlines of sessions are gone", async () => {
  await until(async () => (await a.sandboxes()).every((box) => !box.note), "nobody's sandboxes alone to run");
  const kept = async () => (await group.redis.keys()).filter((key) => /:(quota|due:absolute)/.test(key));
  await until(async () => (await kept()).length === 0, "quotas and deadlines of sessions to be gone")
    .catch(async (failure) => {
      const left = await Promise.all((await kept()).map(async (key) =>
        `${key}: ${await group.redis.ask(...(key.includes("quota") ? ["SMEMBERS", key] : ["ZRANGE", key, 0, -1]))}`));
      throw new Error(`${failure.message}; left: ${left.join("; ")}`);
    });
  // Redis forgot what was warm, so more was started; what is too much goes after a minute.
  const count = (await a.sandboxes()).length;
  assert.ok(count <= 12, `${count} warm sandboxes for a target of 2`);
  if (full) await until(async () => (await a.sandboxes()).length === 2, "the pool to be what it was", { timeout: 120_000, every: 500 });
});
