// SPDX-License-Identifier: Apache-2.0
// Tools in the dialect of a model's provider, through the real gateway.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Wrist, textOf } from "../harness/wrist.mjs";

let wrist;
before(async () => {
  wrist = await Wrist.start({
    profiles: { trial: {}, vertex: { gateway: { provider: "vertex", warm: 0 } } },
    tokens: [{ subject: "ann" }, { subject: "gem", provider: "gemini" }],
  });
});
after(() => wrist?.stop());

const modern = (method, params, target = "/mcp", headers = {}, client = "t") => wrist.request("POST", target, {
  headers: { "mcp-protocol-version": "2026-07-28", "mcp-method": method, ...(params.name ? { "mcp-name": params.name } : {}), ...headers },
  json: { jsonrpc: "2.0", id: 1, method, params: { ...params, _meta: { "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": { name: client, version: "1" }, "io.modelcontextprotocol/clientCapabilities": {} } } },
});
const modernList = async (...more) => (await modern("tools/list", {}, ...more)).json.result.tools;
const legacyList = async (options) => (await (await wrist.session(options)).call("tools/list", {})).json.result.tools;

function* keysOf(schema) {
  if (schema === null || typeof schema !== "object") return;
  for (const [key, value] of Object.entries(schema)) {
    if (!Array.isArray(schema)) yield key;
    yield* keysOf(value);
  }
}
const refused = ["$ref", "$defs", "$schema", "additionalProperties", "const", "oneOf", "exclusiveMinimum"];
const acceptable = (tools) => tools.every((tool) => [...keysOf(tool.inputSchema)].every((key) => !refused.includes(key)));

test("tools/list for gemini has nothing that gemini refuses, in both eras", async () => {
  const plain = await legacyList();
  assert.ok(!acceptable(plain), "the plain list would not do");
  const legacy = await legacyList({ target: "/mcp?provider=gemini" });
  assert.ok(acceptable(legacy));
  assert.deepEqual(legacy.map((tool) => tool.name), plain.map((tool) => tool.name));
  assert.deepEqual(legacy.map((tool) => Object.keys(tool.inputSchema.properties)), plain.map((tool) => Object.keys(tool.inputSchema.properties)));
  assert.deepEqual(await modernList("/mcp?provider=gemini"), legacy);
});

test("URL, header, token, profile and the client's name choose, in this order", async () => {
  const lists = {};
  for (const provider of ["none", "gemini", "vertex", "openai-strict", "anthropic"])
    lists[provider] = JSON.stringify(await modernList(`/mcp?provider=${provider}`));
  assert.notEqual(lists.gemini, lists.none);
  assert.notEqual(lists.gemini, lists["openai-strict"]);
  const same = async (expected, list) => assert.equal(JSON.stringify(await list), lists[expected]);
  const header = { "x-wrist-provider": "openai-strict" };
  await same("gemini", modernList("/mcp?provider=gemini", header));
  await same("openai-strict", modernList("/mcp", header));
  await same("gemini", legacyList({ token: wrist.tokens.gem }));
  await same("openai-strict", legacyList({ token: wrist.tokens.gem, headers: header }));
  await same("none", legacyList({ token: wrist.tokens.gem, target: "/mcp?provider=none" }));
  await same("vertex", modernList("/mcp/vertex"));
  await same("anthropic", modernList("/mcp", {}, "claude-code"));
  await same("none", modernList("/mcp"));
});

test("a legacy session keeps what its client's name told at initialize", async () => {
  const opened = await wrist.request("POST", "/mcp", { json: { jsonrpc: "2.0", id: 0, method: "initialize",
    params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "gemini-cli-mcp-client", version: "1" } } } });
  const answer = await wrist.request("POST", "/mcp", { headers: { "mcp-session-id": opened.headers["mcp-session-id"] },
    json: { jsonrpc: "2.0", id: 1, method: "tools/list" } });
  assert.deepEqual(answer.json.result.tools, await modernList("/mcp?provider=gemini-json"));
});

test("an unknown provider is 400 with the names that are known", async () => {
  const answer = await modern("tools/list", {}, "/mcp?provider=chatgpt");
  assert.equal(answer.status, 400);
  assert.match(answer.json.error.message, /"chatgpt"; known: none, gemini, .*llamacpp/);
});

test("a list chosen by the client's name is private to it", async () => {
  assert.equal((await modern("tools/list", {}, "/mcp", {}, "claude-code")).json.result.cacheScope, "private");
});

// What the worker's own tools say is never JSON as a whole; a rewritten result stands in
// tests/unit/gateway/proxy.
test("a text that only has JSON in it is the same for gemini, at once and as an event stream", async () => {
  const session = await wrist.session({ target: "/mcp?provider=gemini" });
  const command = `printf '{"$ref": "#/a", "n": 1.50}'`;
  assert.equal(textOf(await session.tool("Bash", { command })), '{"$ref": "#/a", "n": 1.50}\nexit: 0');
  const slow = await session.tool("Bash", { command: `sleep 2.3; ${command}` });
  assert.match(slow.headers["content-type"], /event-stream/);
  assert.equal(textOf(slow), '{"$ref": "#/a", "n": 1.50}\nexit: 0');
  await session.close();
});

test("nulls of a strict provider mean that an argument is left out", async () => {
  const strict = await modernList("/mcp?provider=openai-strict");
  const bash = strict.find((tool) => tool.name === "Bash");
  const all = Object.fromEntries(bash.inputSchema.required.map((key) => [key, null]));
  const session = await wrist.session({ target: "/mcp?provider=openai-strict" });
  assert.match(textOf(await session.tool("Bash", { ...all, command: "echo well" })), /^well/);
  await session.close();
});
