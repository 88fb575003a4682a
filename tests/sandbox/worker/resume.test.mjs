// SPDX-License-Identifier: Apache-2.0
// Streams that are read again at the worker itself: stand-alone, and over a link that broke.
import assert from "node:assert/strict";
import fs from "node:fs";
import { after, before, test } from "node:test";
import { bin, sleep, until } from "../../harness/wrist.mjs";
import { Worker } from "./worker.mjs";

let worker;
before(async () => {
  worker = await Worker.bound();
});
after(() => worker.stop());

const idsOf = (text) => [...text.matchAll(/^id: (.*)$/gm)].map((found) => found[1]);
const bash = (id, command, timeout) => ({ jsonrpc: "2.0", id, method: "tools/call", params: { name: "Bash", arguments: { command, ...(timeout ? { timeout } : {}) } } });

function legacy(more = {}) {
  return { "wrist-session": worker.session, accept: "application/json, text/event-stream", "mcp-protocol-version": "2025-11-25", ...more };
}

// A POST that is cut once `when` holds of what came.
async function cut(target, body, headers, when) {
  const controller = new AbortController();
  let seen = "";
  await target.request("POST", "/mcp", { body, headers, signal: controller.signal, onText: (text) => {
    seen = text;
    if (when(text)) controller.abort();
  } }).catch(() => {}); // that is the cut
  return seen;
}

test("who accepts events alone gets an id at once, and a broken link loses nothing", async () => {
  const seen = await cut(worker, bash(1, "echo ran >> count; sleep 1; echo result"), legacy({ accept: "text/event-stream" }), (text) => idsOf(text).length > 0);
  const again = await worker.request("GET", "/mcp", { headers: legacy({ "last-event-id": idsOf(seen)[0] }) });
  assert.equal(again.status, 200);
  assert.match(again.text, /"id":1,"result".*result/);
  const nothing = await worker.request("GET", "/mcp", { headers: legacy({ "last-event-id": idsOf(again.text).at(-1) }) });
  assert.equal(nothing.status, 204);
});

test("the end of a session ends its streams and forgets them", async () => {
  const session = "f".repeat(32);
  await worker.request("POST", "/bind", { body: { principal: "a".repeat(64), session, generation: 7, idle_ms: 0, absolute_ms: 0 } });
  const headers = legacy({ "wrist-session": session, accept: "text/event-stream" });
  const seen = await cut(worker, bash(1, "sleep 60"), headers, (text) => idsOf(text).length > 0);
  const reading = worker.request("GET", "/mcp", { headers: { ...headers, "last-event-id": idsOf(seen)[0] } });
  await sleep(100);
  assert.equal((await worker.request("DELETE", `/sessions/${session}`)).status, 204);
  assert.doesNotMatch((await reading).text, /result/);
  assert.equal((await worker.request("GET", "/mcp", { headers: { ...headers, "last-event-id": idsOf(seen)[0] } })).status, 404);
});

function residentKiB(pid) {
  const [, kib] = /^VmRSS:\s+(\d+)/m.exec(fs.readFileSync(`/proc/${pid}/status`, "utf8")) ?? [0, 0];
  return Number(kib);
}

// PI-094
test("400 results of 200 KB that nobody reads cost the worker its cap", { skip: bin.includes("/asan/") && "a sanitizer's own memory would be counted" }, async () => {
  const headers = legacy({ accept: "text/event-stream" });
  for (let batch = 0; batch < 20; batch++)
    await Promise.all(Array.from({ length: 20 }, (_, at) => cut(worker, bash(1000 + (batch * 20) + at, "head -c 200000 /dev/zero | tr '\\0' x"), headers, (text) => idsOf(text).length > 0)));
  await until(async () => (await worker.request("GET", "/status")).json().calls === 0, "the calls to end");
  const kib = Math.max(...worker.processes().map(residentKiB));
  assert.ok(kib < 40 * 1024, `${kib} KiB`);
});

test("stand-alone: a client that was cut reads its stream again", async () => {
  const alone = await Worker.alone();
  try {
    const opened = await alone.request("POST", "/mcp", { headers: { accept: "application/json, text/event-stream" },
      body: { jsonrpc: "2.0", id: 0, method: "initialize", params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "t", version: "1" } } } });
    const headers = { "mcp-session-id": opened.headers["mcp-session-id"], "mcp-protocol-version": "2025-11-25", accept: "application/json, text/event-stream" };
    const seen = await cut(alone, bash(1, "sleep 3; echo result"), headers, (text) => idsOf(text).length > 0);
    const again = await alone.request("GET", "/mcp", { headers: { ...headers, accept: "text/event-stream", "last-event-id": idsOf(seen)[0] } });
    assert.match(again.text, /"id":1,"result".*result/);
  } finally {
    await alone.stop();
  }
});
