// SPDX-License-Identifier: Apache-2.0
// What users of comparable gateways reported about sessions, ids and credentials, each by its row.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Wrist, textOf } from "../harness/wrist.mjs";

let wrist;
before(async () => {
  wrist = await Wrist.start();
});
after(() => wrist?.stop());

const list = (id = 1) => ({ jsonrpc: "2.0", id, method: "tools/list" });
const call = (id, command) => ({ jsonrpc: "2.0", id, method: "tools/call", params: { name: "Bash", arguments: { command } } });
const stranger = "A".repeat(120);

test("PI-003: a session id that nobody knows is 404 on POST and GET, none at all is 400", async () => {
  const headers = { "mcp-session-id": stranger };
  const posted = await wrist.request("POST", "/mcp", { headers, json: list() });
  assert.equal(posted.status, 404);
  assert.equal(posted.json.id, 1);
  assert.equal((await wrist.request("GET", "/mcp", { headers: { ...headers, accept: "text/event-stream" } })).status, 404);
  assert.equal((await wrist.request("POST", "/mcp", { json: list() })).status, 400);
});

test("PI-006, PI-028: a stale session with a bad credential is 401, with a good one 404", async () => {
  const headers = { "mcp-session-id": stranger };
  for (const token of ["wrist_wrong", ""])
    assert.equal((await wrist.request("POST", "/mcp", { token, headers, json: list() })).status, 401);
  assert.equal((await wrist.request("POST", "/mcp", { headers, json: list() })).status, 404);
});

test("PI-020: a second GET of a session has a defined result, and session and sandbox live on", async () => {
  const session = await wrist.session();
  await session.tool("Bash", { command: "echo kept > file" });
  const stop = new AbortController();
  const hold = () => fetch(`${wrist.url}/mcp`, { signal: stop.signal, headers: { authorization: `Bearer ${wrist.token}`,
    "mcp-session-id": session.id, "mcp-protocol-version": "2025-11-25", accept: "text/event-stream" } });
  const first = await hold();
  const second = await hold();
  assert.deepEqual([first.status, second.status], [200, 200]);
  await first.text(); // the second took over: the first ends, cleanly
  assert.match(textOf(await session.tool("Bash", { command: "cat file" })), /^kept/);
  stop.abort();
});

test("PI-026: 2026-07-28 ignores a session id that is sent along", async () => {
  const answer = await wrist.request("POST", "/mcp", { headers: { "mcp-session-id": stranger,
    "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/list" },
  json: { ...list(), params: { _meta: { "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {} } } } });
  assert.equal(answer.status, 200, answer.text);
  assert.equal(answer.json.result.resultType, "complete");
});

test("PI-095: two requests in flight with one id each get their own answer", async () => {
  const session = await wrist.session();
  const [slow, fast] = await Promise.all([session.send(call(1, "sleep 0.3; echo slow")), session.send(call(1, "echo fast"))]);
  assert.match(textOf(slow), /^slow/);
  assert.match(textOf(fast), /^fast/);
});

test("PI-096, PI-100: ids 1 and \"1\" are two, and keep their types", async () => {
  const session = await wrist.session();
  const [number, string] = await Promise.all([session.send(call(1, "sleep 0.2; echo number")), session.send(call("1", "echo string"))]);
  assert.equal(number.json.id, 1);
  assert.match(textOf(number), /^number/);
  assert.equal(string.json.id, "1");
  assert.match(textOf(string), /^string/);
});

test("PI-129: neither credentials nor cookies of the client reach the sandbox", async () => {
  const session = await wrist.session();
  const seen = await session.tool("Bash", { command: "env; cat /proc/self/environ | tr '\\0' '\\n'" },
    { headers: { cookie: "c=sentinel-cookie", "proxy-authorization": "Basic sentinel-proxy", connection: "close, x-hop", "x-hop": "sentinel-hop" } });
  assert.equal(seen.status, 200);
  assert.doesNotMatch(textOf(seen), /sentinel|wrist_test/);
  assert.ok(!JSON.stringify(wrist.logs).includes("sentinel"), "the logs");
});

test("PI-133: two sessions of one user share nothing", async () => {
  const [one, two] = [await wrist.session(), await wrist.session()];
  await one.tool("Bash", { command: "echo one > state" });
  assert.match(textOf(await two.tool("Bash", { command: "cat state || echo nothing" })), /nothing/);
});
