// SPDX-License-Identifier: Apache-2.0
// wrist-worker as a Streamable HTTP server of its own: statuses and streams of the legacy revisions
// (wire reference §2, §5).
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { isRoot, until } from "../../harness/wrist.mjs";
import { Worker, messages } from "./worker.mjs";

const skip = isRoot ? false : "needs root: the workspace belongs to another user";
let worker;
before(async () => {
  if (!isRoot) return;
  worker = await Worker.alone();
  await worker.initialize();
});
after(async () => { await worker?.stop(); });

const ping = { jsonrpc: "2.0", id: 1, method: "ping" };
const bash = (id, command, extra = {}) => ({ jsonrpc: "2.0", id, method: "tools/call",
  params: { name: "Bash", arguments: { command }, ...extra } });

test("initialize answers with a known revision and a session", { skip }, async () => {
  for (const [asked, given] of [["2025-03-26", "2025-03-26"], ["2025-06-18", "2025-06-18"],
    ["2025-11-25", "2025-11-25"], ["1999-01-01", "2025-11-25"]]) {
    const before = worker.session;
    const answer = await worker.initialize(asked);
    assert.equal(answer.status, 200);
    assert.equal(answer.json().result.protocolVersion, given);
    assert.match(worker.session, /^[\x21-\x7e]{16,}$/);
    assert.notEqual(worker.session, before);
  }
  await worker.initialize();
});

test("statuses are those of the protocol", { skip }, async () => {
  const cases = [
    ["no session", { "mcp-session-id": "" }, ping, 404],
    ["unknown session", { "mcp-session-id": "0".repeat(32) }, ping, 404],
    ["bad version header", { "mcp-protocol-version": "2024-99-99" }, ping, 400],
    ["wrong content type", { "content-type": "text/plain" }, ping, 415],
    ["nothing acceptable", { accept: "image/png" }, ping, 406],
    ["no JSON", {}, "{", 400],
    ["no JSON-RPC", {}, { hello: 1 }, 400],
    ["foreign origin", { origin: "https://evil.example" }, ping, 403],
    ["foreign host", { host: "evil.example" }, ping, 403],
    ["bad token", { authorization: "Bearer nope" }, ping, 401],
    ["local origin", { origin: "http://localhost:3000" }, ping, 200],
    ["notification", {}, { jsonrpc: "2.0", method: "notifications/initialized" }, 202],
    ["unknown method", {}, { jsonrpc: "2.0", id: 1, method: "no/such" }, 200],
    ["batch after 2025-03-26", { "mcp-protocol-version": "2025-11-25" }, [ping], 400],
  ];
  for (const [name, headers, body, status] of cases) {
    const answer = await worker.post(body, { headers });
    assert.equal(answer.status, status, `${name}: ${answer.text}`);
  }
  const missing = await worker.request("POST", "/mcp", { body: ping });
  assert.equal(missing.status, 400);
  assert.equal(missing.json().id, 1);
  assert.equal((await worker.request("PATCH", "/mcp")).status, 405);
  assert.equal((await worker.request("GET", "/card")).status, 404);
  assert.equal((await worker.post(" ".repeat(5 << 20))).status, 413);
});

test("unknown methods and tools are JSON-RPC errors with the request's id", { skip }, async () => {
  const method = (await worker.post({ jsonrpc: "2.0", id: "a\\u0000b", method: "no/such" })).json();
  assert.deepEqual([method.id, method.error.code], ["a\\u0000b", -32601]);
  const tool = (await worker.post({ jsonrpc: "2.0", id: 12345678901234567890n.toString(),
    method: "tools/call", params: { name: "Nope", arguments: {} } })).json();
  assert.equal(tool.error.code, -32602);
});

test("a batch of 2025-03-26 is answered as an array", { skip }, async () => {
  const session = worker.session;
  await worker.initialize("2025-03-26");
  const answer = await worker.post([ping, { jsonrpc: "2.0", method: "notifications/initialized" },
    bash(2, "echo batch")]);
  const answers = answer.json();
  assert.deepEqual(answers.map((m) => m.id).sort(), [1, 2]);
  assert.match(answers.find((m) => m.id === 2).result.content[0].text, /^batch/);
  worker.session = session;
});

test("a quick answer is JSON, a slow one an event stream within 2 s", { skip }, async () => {
  const quick = await worker.post(bash(1, "echo quick"));
  assert.match(quick.headers["content-type"], /^application\/json/);
  const begun = Date.now();
  let first;
  const slow = await worker.post(bash(2, "sleep 3; echo slow"),
    { onText: () => { first ??= Date.now() - begun; } });
  assert.ok(first < 2900, `${first} ms`);
  assert.match(slow.headers["content-type"], /^text\/event-stream/);
  assert.equal(slow.headers["x-accel-buffering"], "no");
  assert.equal(messages(slow)[0].result.content[0].text, "slow\nexit: 0");
});

test("a long call with a progress token reports progress (G-36)", { skip }, async () => {
  const answer = await worker.post(bash(3, "sleep 11", { _meta: { progressToken: "tok" } }));
  const [progress, result] = messages(answer);
  assert.equal(progress.method, "notifications/progress");
  assert.equal(progress.params.progressToken, "tok");
  assert.ok(progress.params.progress >= 9);
  assert.equal(result.id, 3);
});

test("a session has one GET stream, kept alive, and DELETE ends both", { skip }, async () => {
  const session = worker.session;
  await worker.initialize();
  const control = new AbortController();
  let streamed = "";
  const stream = worker.request("GET", "/mcp", { headers: worker.mcpHeaders(),
    signal: control.signal, onText: (text) => { streamed = text; } });
  while (!streamed) await new Promise((resolve) => setTimeout(resolve, 10));
  assert.match(streamed, /^: /);
  assert.equal((await worker.request("GET", "/mcp", { headers: worker.mcpHeaders() })).status, 409);
  assert.equal((await worker.request("DELETE", "/mcp", { headers: worker.mcpHeaders() })).status, 204);
  assert.equal((await stream).status, 200); // ended by the worker
  assert.equal((await worker.post(ping)).status, 404);
  worker.session = session;
});

test("kill -9 of the worker leaves no command behind", { skip }, async () => {
  const fresh = await Worker.alone();
  await fresh.initialize();
  const call = fresh.bash("setsid sleep 7501 & sleep 7501").catch(() => {});
  let below = [];
  while (below.length < 5) { // worker, hand, supervisor, shell, two sleeps
    await new Promise((resolve) => setTimeout(resolve, 20));
    below = fresh.processes();
  }
  await fresh.stop();
  await call;
  await until(() => below.every((pid) => {
    try { process.kill(pid, 0); return false; } catch { return true; }
  }), "all of its processes to end");
});
