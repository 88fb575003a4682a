// SPDX-License-Identifier: Apache-2.0
// kill -9 of the gateway in the middle of a call: whatever process comes next, the result reaches its
// client, and nothing ran twice.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { openStream } from "../harness/stream.mjs";
import { Wrist, messagesOf, sleep, textOf, until } from "../harness/wrist.mjs";

let wrist;
before(async () => {
  wrist = await Wrist.start({ profiles: { trial: {} } });
});
after(() => wrist.stop());

let next = 1000;
const bash = (command, meta) => ({ jsonrpc: "2.0", id: next++, method: "tools/call", params: { name: "Bash", arguments: { command }, ...(meta ? { _meta: meta } : {}) } });

async function restart() {
  await wrist.kill("gateway");
  await wrist.startGateway();
}

test("legacy: the stream is read again through the next gateway, and the command ran once", async () => {
  const session = await wrist.session();
  await session.tool("Bash", { command: "true" });
  const message = bash("echo ran >> count; sleep 6; echo result");
  const stream = await openStream(wrist, "POST", { session, json: message });
  await until(() => stream.ids.length > 0, "an event id");
  await restart();
  assert.equal(messagesOf(stream.text).length, 0);
  const again = await openStream(wrist, "GET", { session, headers: { "last-event-id": stream.ids[0] } });
  await until(() => again.ended, "the stream to end");
  const [answer] = messagesOf(again.text);
  assert.equal(answer.id, message.id);
  assert.match(answer.result.content[0].text, /^result/);
  assert.match(textOf(await session.tool("Bash", { command: "wc -l < count" })), /^1\b/);
  await session.close();
});

test("legacy: a call that ended while no gateway was there is not lost either", async () => {
  const session = await wrist.session();
  await session.tool("Bash", { command: "true" });
  const stream = await openStream(wrist, "POST", { session, json: bash("sleep 3; echo result") });
  await until(() => stream.ids.length > 0, "an event id");
  await wrist.kill("gateway");
  await sleep(2000);
  await wrist.startGateway();
  const again = await openStream(wrist, "GET", { session, headers: { "last-event-id": stream.ids[0] } });
  await until(() => again.ended, "the stream to end");
  assert.match(messagesOf(again.text)[0].result.content[0].text, /^result/);
  await session.close();
});

test("legacy: a call whose stream had not begun is given to the same call again", async () => {
  const session = await wrist.session();
  await session.tool("Bash", { command: "true" });
  const command = "echo ran >> count; sleep 5; echo result";
  const lost = session.send(bash(command)).catch((error) => error);
  await until(async () => /^1\b/.test(textOf(await session.tool("Bash", { command: "cat count 2>/dev/null | wc -l" }))), "the command to run", { every: 50 });
  await wrist.kill("gateway");
  assert.ok(await lost instanceof Error);
  await wrist.startGateway();
  assert.match(textOf(await session.send(bash(command))), /^result/);
  assert.match(textOf(await session.tool("Bash", { command: "wc -l < count" })), /^1\b/);
  await session.close();
});

// --- 2026-07-28 ------------------------------------------------------------------------------------

const PREFIX = "io.modelcontextprotocol/";
function modern(command, meta = {}) {
  const message = bash(command, { [`${PREFIX}protocolVersion`]: "2026-07-28", [`${PREFIX}clientCapabilities`]: {}, ...meta });
  return wrist.request("POST", "/mcp", { json: message,
    headers: { "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "Bash" } });
}

test("modern: the same call again is attached to the one that runs, and given its result", async () => {
  const command = "echo ran >> once; sleep 6; echo result";
  const lost = modern(command, { progressToken: "a" }).catch((error) => error);
  await until(async () => /^1\b/.test(textOf(await modern("cat once 2>/dev/null | wc -l"))), "the command to run");
  await restart();
  assert.ok(await lost instanceof Error);
  const answer = await modern(command, { progressToken: "b", traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01" });
  assert.match(textOf(answer), /^result/);
  assert.match(textOf(await modern("wc -l < once")), /^1\b/);
  // Given once: asked for again it runs again.
  assert.match(textOf(await modern(command)), /^result/);
  assert.match(textOf(await modern("wc -l < once")), /^2\b/);
});

// PI-143
test("modern: a client that resets its stream has cancelled, and asks for a new run", async () => {
  const command = "echo ran >> reset; sleep 60";
  const controller = new AbortController();
  const message = bash(command, { [`${PREFIX}protocolVersion`]: "2026-07-28", [`${PREFIX}clientCapabilities`]: {} });
  const cut = fetch(`${wrist.url}/mcp`, { method: "POST", signal: controller.signal, body: JSON.stringify(message), headers: {
    authorization: `Bearer ${wrist.token}`, "content-type": "application/json", accept: "application/json, text/event-stream",
    "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "Bash" } }).catch((error) => error);
  await until(async () => /^1\b/.test(textOf(await modern("cat reset 2>/dev/null | wc -l"))), "the command to run");
  controller.abort();
  await cut;
  await until(async () => /^0\b/.test(textOf(await modern("pgrep -fc '[s]leep 60'"))), "the command to be gone", { timeout: 1500 });
  const again = modern(command).catch((error) => error);
  await until(async () => /^2\b/.test(textOf(await modern("wc -l < reset"))), "the second run");
  await restart(); // ends it for its client
  assert.ok(await again instanceof Error);
});
