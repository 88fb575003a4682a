// SPDX-License-Identifier: Apache-2.0
// Several gateway processes, one Redis, one driver, real sandboxes: any replica serves any session.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startReplicas } from "../harness/replicas.mjs";
import { textOf, until } from "../harness/wrist.mjs";

let group;
let a;
let b;

before(async () => {
  group = await startReplicas(2, { profiles: { trial: { gateway: { warm: 2, idle: "60s", absolute: "10min" } } } });
  [a, b] = group.all;
});
after(() => group?.stop());

const bash = (session, command) => session.tool("Bash", { command });

// The same session, at another replica.
const at = (replica, session, command, id = 77) => replica.request("POST", "/mcp", {
  headers: { "mcp-session-id": session.id, "mcp-protocol-version": "2025-11-25" },
  json: { jsonrpc: "2.0", id, method: "tools/call", params: { name: "Bash", arguments: { command } } } });

test("a session that was opened and bound on one replica is served by the other", async () => {
  const session = await a.session();
  assert.match(textOf(await bash(session, "echo mine > note; echo ok")), /ok/);
  assert.match(textOf(await at(b, session, "cat note")), /mine/);
  assert.match(textOf(await bash(session, "cat note")), /mine/);
  const other = await b.request("POST", "/mcp", { token: a.tokens.bob,
    headers: { "mcp-session-id": session.id, "mcp-protocol-version": "2025-11-25" },
    json: { jsonrpc: "2.0", id: 5, method: "tools/call", params: { name: "Bash", arguments: { command: "cat note" } } } });
  assert.equal(other.status, 404);
  await session.close();
});

test("a session initialised on one replica may be bound through the other", async () => {
  const session = await a.session();
  assert.match(textOf(await at(b, session, "echo via b > note; echo ok")), /ok/);
  assert.match(textOf(await bash(session, "cat note")), /via b/);
  await session.close();
});

test("a session that was deleted on one replica is over on the other", async () => {
  const session = await a.session();
  await bash(session, "true");
  assert.match(textOf(await at(b, session, "echo there")), /there/);
  await session.close();
  await until(async () => (await at(b, session, "true")).status === 404, "the other to say 404");
});

test("twenty parallel first calls over both replicas get one sandbox", async () => {
  const session = await a.session();
  const answers = await Promise.all(Array.from({ length: 20 }, (_, i) =>
    at(i % 2 ? a : b, session, "hostname; echo $$ >> calls", 100 + i)));
  for (const answer of answers) assert.equal(answer.status, 200, answer.text);
  const { text } = await at(a, session, "wc -l < calls");
  assert.ok(text.includes("20"), text);
  await session.close();
});

// PI-167
test("pools are kept by one replica, and handed over within two seconds when it ends", async () => {
  const leader = group.all.find((w) => w.logs.gateway.some((line) => line.event === "lead.taken"));
  const other = group.all.find((w) => w !== leader);
  assert.ok(leader);
  const warm = async () => (await a.sandboxes()).filter((box) => box.state === "running").length;
  await until(async () => (await warm()) === 2, "two warm sandboxes in all, not two for each replica");
  await leader.kill("gateway", "SIGTERM");
  const began = Date.now();
  await until(() => other.logs.gateway.some((line) => line.event === "lead.taken"), "the other to lead");
  assert.ok(Date.now() - began < 2000, `${Date.now() - began} ms`);
  await leader.startGateway();
});

test("kill -9 of the replica that served a session leaves it to the other", async () => {
  const session = await a.session();
  await bash(session, "echo kept > note");
  await a.kill("gateway", "SIGKILL");
  assert.match(textOf(await at(b, session, "cat note")), /kept/);
  await a.startGateway();
  assert.match(textOf(await at(a, session, "cat note")), /kept/);
  await at(b, session, "true");
  await session.close();
});

test("once sessions end, what stands in Redis is the warm pool's and tombstones", async () => {
  await until(async () => {
    const keys = await group.redis.keys();
    return !keys.some((key) => /:(quota|due:absolute)/.test(key));
  }, "quotas and deadlines of sessions to be gone");
});

test("starts a minute are one count for all replicas, and the answer says when to come again", async () => {
  const limited = await startReplicas(2, { profiles: { trial: { gateway: { warm: 2, starts_per_minute: 3 } } } });
  try {
    const answers = [];
    for (let i = 0; i < 6; i++) {
      const session = await limited.all[i % 2].session();
      answers.push(await session.tool("Bash", { command: "true" }));
      await session.close();
    }
    assert.deepEqual(answers.map((answer) => answer.status), [200, 200, 200, 429, 429, 429]);
    assert.match(answers[3].text, /3 sandboxes of profile trial a minute/);
    const wait = Number(answers[3].headers["retry-after"]);
    assert.ok(wait > 10 && wait <= 20, `${wait} s`);
    const other = await limited.all[0].session({ token: limited.all[0].tokens.bob });
    const answer = await limited.all[0].request("POST", "/mcp", { token: limited.all[0].tokens.bob,
      headers: { "mcp-session-id": other.id, "mcp-protocol-version": "2025-11-25" },
      json: { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "Bash", arguments: { command: "true" } } } });
    assert.equal(answer.status, 200, "PI-231: another principal from the same address has its own count");
  } finally {
    await limited.stop();
  }
});
