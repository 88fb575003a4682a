// SPDX-License-Identifier: Apache-2.0
// Session and sandbox life as users of comparable products saw it go wrong; the ids are theirs.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import fs from "node:fs";
import https from "node:https";
import { Wrist, isRoot, sleep, textOf, until } from "../harness/wrist.mjs";

const small = { limits: { disk: "16MiB", inodes: 1024, memory: "256MiB" } };
const revision = "2025-11-25";
let wrist;
before(async () => {
  wrist = await Wrist.start({ profiles: {
    trial: { gateway: { warm: 2, idle: "3s", absolute: "10min" }, driver: small },
    shared: { gateway: { warm: 1, bind: "principal", idle: "60s", absolute: "60s" }, driver: small } } });
});
after(() => wrist?.stop());

const bound = async () => (await wrist.sandboxes()).filter((row) => row.note && row.state === "running");
const noted = (count) => until(async () => (await bound()).length === count, `${count} bound sandboxes`);
const headers = (id) => ({ "mcp-session-id": id, "mcp-protocol-version": revision });
const ping = { jsonrpc: "2.0", id: 5, method: "ping" };
const call = (command) => ({ jsonrpc: "2.0", id: 6, method: "tools/call", params: { name: "Bash", arguments: { command } } });

// A held GET stream: {ended, failed, close()}.
const stream = (id) => new Promise((resolve, reject) => {
  const request = https.request(`${wrist.url}/mcp`, { headers: { authorization: `Bearer ${wrist.token}`, accept: "text/event-stream", ...headers(id) } }, (response) => {
    const seen = { status: response.statusCode, ended: false, failed: null, close: () => request.destroy() };
    response.resume().on("end", () => (seen.ended = true)).on("error", (error) => (seen.failed = error));
    resolve(seen);
  });
  request.on("error", reject);
  request.end();
});

test("PI-003, PI-041: a session that never was is 404 on every method, DELETE twice too", async () => {
  const session = await wrist.session();
  assert.equal((await session.close()).status, 204);
  for (const id of ["made-up", "x".repeat(200), session.id]) {
    for (const method of ["POST", "GET", "DELETE"]) {
      const answer = await wrist.request(method, "/mcp", { headers: { ...headers(id), accept: "application/json, text/event-stream" }, ...(method === "POST" ? { json: ping } : {}) });
      assert.equal(answer.status, 404, `${method} ${id.slice(0, 20)}`);
    }
  }
});

test("PI-042: DELETE without a session is 400", async () => {
  assert.equal((await wrist.request("DELETE", "/mcp", { headers: { "mcp-protocol-version": revision } })).status, 400);
});

test("PI-006: a stale session with a bad token, or none, is 401 first", async () => {
  for (const token of [null, "wrist_test-nobody-"])
    assert.equal((await wrist.request("POST", "/mcp", { token, headers: headers("made-up"), json: ping })).status, 401);
});

test("PI-013: calls are use; held streams, pings and answers from the card are not", async () => {
  const used = await wrist.session();
  const idle = await wrist.session();
  for (const session of [used, idle]) await session.tool("Bash", { command: "echo kept > file" });
  await noted(2);
  const held = await stream(idle.id);
  assert.equal(held.status, 200);
  const end = Date.now() + 4500;
  while (Date.now() < end) {
    assert.match(textOf(await used.tool("Bash", { command: "cat file" })), /^kept/);
    for (const method of ["ping", "tools/list"]) assert.equal((await idle.call(method)).status, 200);
    await sleep(250);
  }
  await noted(1);
  assert.ok(wrist.logs.gateway.some((line) => line.event === "sandbox.ended" && line.reason === "idle"));
  assert.equal((await wrist.metrics())['wrist_sandboxes_ended_total{profile="trial",reason="idle"}'], 1);
  const told = await idle.tool("Bash", { command: "cat file" });
  assert.equal(told.json.result.isError, true);
  held.close();
  await used.close();
  await idle.close();
});

test("PI-024: a client that never sends its session id is served where all of a principal's share one sandbox, else 400", async () => {
  const send = (target, message) => wrist.request("POST", target, { headers: { "mcp-protocol-version": revision }, json: message });
  assert.match(textOf(await send("/mcp/shared", call("echo mine > file; cat file"))), /^mine/);
  assert.match(textOf(await send("/mcp/shared", call("cat file"))), /^mine/);
  assert.equal((await send("/mcp", call("true"))).status, 400);
});

test("PI-020: a second GET of a session takes over, the first ends cleanly, the sandbox stays", async () => {
  const session = await wrist.session();
  await session.tool("Bash", { command: "echo kept > file" });
  const first = await stream(session.id);
  const second = await stream(session.id);
  await until(() => first.ended, "the first to end");
  assert.equal(first.failed, null);
  assert.equal(second.ended, false);
  assert.match(textOf(await session.tool("Bash", { command: "cat file" })), /^kept/);
  // PI-046: the stream ends with its session, without a reset.
  assert.equal((await session.close()).status, 204);
  await until(() => second.ended, "the second to end");
  assert.equal(second.failed, null);
});

test("PI-001, PI-014, PI-016, PI-017: a lost sandbox is told once, then everything works for good", async () => {
  const session = await wrist.session();
  await session.tool("Bash", { command: "true" });
  await noted(1);
  const [record] = await bound();
  await wrist.driver("DELETE", `/v1/sandboxes/${record.id}?generation=${record.generation}`);
  await until(() => wrist.logs.gateway.some((line) => line.event === "sandbox.ended" && line.sandbox === record.id), "the gateway to know");
  const told = await session.tool("Bash", { command: "echo ran" });
  assert.equal(told.json.result.isError, true);
  assert.doesNotMatch(textOf(told), /ran$/m);
  for (let i = 0; i < 5; i++) assert.match(textOf(await session.tool("Bash", { command: `echo ${i}` })), new RegExp(`^${i}`));
  await session.close();
});

test("PI-189, PI-155: a DELETE whose client is gone before the answer is done all the same", async () => {
  const session = await wrist.session();
  await session.tool("Bash", { command: "true" });
  await noted(1);
  await new Promise((resolve) => {
    const request = https.request(`${wrist.url}/mcp`, { method: "DELETE", headers: { authorization: `Bearer ${wrist.token}`, ...headers(session.id) } });
    request.on("error", () => {}).on("close", resolve);
    request.end(() => request.destroy());
  });
  const gone = await until(async () => (await session.call("ping")).status === 404 || (await session.close()).status, "the session to be over");
  assert.ok(gone);
  await noted(0);
});

test("PI-209: lives that are none are refused", async () => {
  for (const life of [0, -1, 1e12, 1.5, "5"])
    for (const key of ["idle", "absolute"])
      assert.equal((await wrist.request("POST", "/v1/sandboxes", { json: { profile: "trial", [key]: life } })).status, 400, `${key} ${life}`);
});

test("PI-038: limits hold at every way to a sandbox, and the answer says which and when; lists and discover are still answered", async () => {
  const tight = await Wrist.start({ profiles: { trial: { gateway: { warm: 0, per_principal: 2, per_tenant: 3 }, driver: small } },
    tokens: [{ subject: "ann", tenant: "blue" }, { subject: "bob", tenant: "blue" }, { subject: "eve", tenant: "red" }] });
  try {
    const busy = async (token) => {
      const session = await tight.session({ token });
      const answer = await session.tool("Bash", { command: "sleep 600", run_in_background: true });
      return { session, answer };
    };
    for (const who of ["ann", "ann", "bob"]) assert.equal((await busy(tight.tokens[who])).answer.json?.result?.isError ?? false, false);
    const own = await busy(tight.tokens.ann);
    assert.equal(own.answer.status, 429);
    assert.match(own.answer.text, /you have 2 sandboxes/);
    assert.ok(Number(own.answer.headers["retry-after"]) >= 1);
    const tenants = await busy(tight.tokens.bob);
    assert.equal(tenants.answer.status, 429);
    assert.match(tenants.answer.text, /your tenant has 3 sandboxes/);
    const named = await tight.request("POST", "/v1/sandboxes", { token: tight.tokens.bob, json: {} });
    assert.equal(named.status, 429);
    assert.ok(Number(named.headers["retry-after"]) >= 1);
    assert.equal((await tenants.session.call("tools/list")).status, 200);
    assert.equal((await busy(tight.tokens.eve)).answer.status, 200);
  } finally {
    await tight.stop();
  }
});

test("PI-244: not ready, with the reason, while nothing can be started", async () => {
  const lonely = new Wrist({ profiles: { trial: { driver: small } } });
  try {
    await lonely.prepare();
    await lonely.startGateway({ ready: false });
    const before = await lonely.admin("/readyz");
    assert.equal(before.status, 503);
    assert.ok(before.text.length > 10);
    await lonely.startDriver();
    await until(async () => (await lonely.admin("/readyz")).status === 200, "to be ready");
  } finally {
    await lonely.stop();
  }
});

test("cards of images that no profile and no sandbox has any more are not kept", async () => {
  const file = `${wrist.folder}/gateway/card-${"ab".repeat(32)}.json`;
  const others = () => fs.readdirSync(`${wrist.folder}/gateway`).filter((name) => name.startsWith("card-"));
  const before = others();
  assert.ok(before.length >= 1);
  fs.writeFileSync(file, "{}");
  await wrist.kill("gateway");
  await wrist.startGateway();
  await until(() => !fs.existsSync(file), "the old card to go");
  assert.deepEqual(others(), before);
});

test("a sandbox takes no key of the kernel: its users' quota of 200 would be the most there can be", { skip: isRoot ? false : "rootless drivers map to their own user" }, async () => {
  const taken = () => fs.readFileSync("/proc/key-users", "utf8").split("\n").map((line) => line.match(/^\s*(\d+):\s+\d+ (\d+)\//))
    .filter((row) => row && Number(row[1]) > 65535).reduce((sum, row) => sum + Number(row[2]), 0);
  const before = taken();
  const sessions = await Promise.all([1, 2, 3, 4].map(() => wrist.session()));
  for (const session of sessions) assert.equal(textOf(await session.tool("Bash", { command: "true" })), "exit: 0");
  assert.ok(taken() <= before, `${before} keys, then ${taken()}`);
  for (const session of sessions) await session.close();
});
