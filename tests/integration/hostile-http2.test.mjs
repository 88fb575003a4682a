// SPDX-License-Identifier: Apache-2.0
// Broken and hostile HTTP/2: each kind ends with the right code and one log line, nothing grows, and
// nobody else notices, the other streams of the connection included where it may live.
import assert from "node:assert/strict";
import fs from "node:fs";
import { after, afterEach, before, test } from "node:test";
import * as h2 from "../harness/raw.mjs";
import { Wrist, sanitized, until } from "../harness/wrist.mjs";

const { frame, literals, u32, raw } = h2;
const ENHANCE_YOUR_CALM = 11, PROTOCOL_ERROR = 1, STREAM_CLOSED = 5;

let wrist;
let good; // somebody else's session, that must go on as if nothing were
before(async () => {
  wrist = await Wrist.start({ gateway: { timeouts: { head: "1s", body: "1s", idle: "3s", write: "2s" } } });
  good = await wrist.session();
});
after(() => wrist?.stop());
afterEach(async () => {
  assert.equal((await good.call("ping")).status, 200, "the well-behaved client is served");
  await until(async () => (await wrist.metrics()).wrist_exchanges === 0, "nothing to be left of it");
});

const lines = () => wrist.logs.gateway.filter((line) => line.event === "http.hostile");
const head = (pairs = []) => literals([[":method", "GET"], [":scheme", "http"], [":path", "/"], [":authority", "127.0.0.1"], ...pairs]);
const postHead = (pairs = []) => literals([[":method", "POST"], [":scheme", "http"], [":path", "/mcp"], [":authority", "127.0.0.1"],
  ["authorization", `Bearer ${wrist.token}`], ["content-type", "application/json"], ...pairs]);
const open = (settings = Buffer.alloc(0)) => Buffer.concat([h2.preface, frame(h2.SETTINGS, 0, 0, settings)]);
const many = (count, make) => Buffer.concat(Array.from({ length: count }, (_, i) => make(i)));

// Sends it on a connection of its own; what it logged must be exactly one line of that kind.
async function attack(kind, bytes, wait = 8000) {
  const from = lines().length;
  const answer = await raw([open(), bytes], { wait, port: wrist.plainPort });
  await until(() => lines().length > from, `a log line of kind ${kind}`);
  const fresh = lines().slice(from);
  assert.deepEqual(fresh.map((line) => line.kind), [kind]);
  assert.equal(fresh[0].version, "h2");
  return answer;
}

for (const [name, kind, make] of [
  ["rapid reset", "rapid_reset", () => many(4000, (i) => Buffer.concat([frame(h2.HEADERS, 5, 2 * i + 1, head()), frame(h2.RST_STREAM, 0, 2 * i + 1, u32(8))]))],
  ["a SETTINGS flood", "control_flood", () => many(20000, () => frame(h2.SETTINGS, 0, 0))],
  ["a PING flood", "control_flood", () => many(20000, () => frame(h2.PING, 0, 0, Buffer.alloc(8)))],
  ["a PRIORITY flood", "control_flood", () => many(20000, () => frame(h2.PRIORITY, 0, 1, Buffer.from([0, 0, 0, 3, 1])))],
  ["a WINDOW_UPDATE flood", "control_flood", () => many(50000, () => frame(h2.WINDOW_UPDATE, 0, 0, u32(1)))],
  ["empty DATA frames", "empty_flood", () => Buffer.concat([frame(h2.HEADERS, h2.END_HEADERS, 1, postHead()), many(50000, () => frame(h2.DATA, 0, 1))])],
  ["a CONTINUATION flood", "continuation_flood", () => Buffer.concat([frame(h2.HEADERS, 0, 1, head()), many(20000, () => frame(h2.CONTINUATION, 0, 1, literals([["x-a", "b"]])))])],
  ["empty CONTINUATION frames", "continuation_flood", () => Buffer.concat([frame(h2.HEADERS, 0, 1, head()), many(20000, () => frame(h2.CONTINUATION, 0, 1))])],
]) {
  test(`${name}: ends in ENHANCE_YOUR_CALM, and that connection only`, async () => {
    const answer = await attack(kind, make());
    assert.notEqual(answer.why, "wait", "the connection was ended");
    // A peer that goes on sending may get a RST before it has read the frame.
    if (answer.why === "end") assert.deepEqual(h2.goneAway(answer.bytes), [ENHANCE_YOUR_CALM]);
  });
}

for (const [name, pairs] of [
  ["an upper-case header name", [["X-Upper", "a"]]],
  ["connection-specific headers", [["connection", "close"]]],
  ["a second :path", [[":path", "/other"]]],
  ["a pseudo-header after a header", [["x-a", "b"], [":scheme", "https"]]],
  ["an unknown pseudo-header", [[":unknown", "x"]]],
  ["a response's pseudo-header", [[":status", "200"]]],
  ["te other than trailers", [["te", "gzip"]]],
  ["a NUL in a value", [["x-a", "a\0b"]]],
  ["a line break in a value", [["x-a", "a\r\nx-b: c"]]],
]) {
  test(`refused with PROTOCOL_ERROR on its stream, while the next stream is served: ${name}`, async () => {
    const bytes = Buffer.concat([frame(h2.HEADERS, 5, 1, head(pairs)), frame(h2.HEADERS, 5, 3, head())]);
    const answer = await attack("protocol_error", bytes, 700);
    assert.deepEqual(h2.resets(answer.bytes, 1), [PROTOCOL_ERROR]);
    const answered = h2.framesOf(answer.bytes).filter((f) => f.type === h2.HEADERS).map((f) => f.stream);
    assert.deepEqual(answered, [3]);
  });
}

for (const [name, code, make] of [
  ["a stream id that was passed over", STREAM_CLOSED, () => Buffer.concat([frame(h2.HEADERS, 5, 5, head()), frame(h2.HEADERS, 5, 3, head())])],
  ["an even stream id", PROTOCOL_ERROR, () => frame(h2.HEADERS, 5, 2, head())],
  ["data on a stream that was not opened", PROTOCOL_ERROR, () => frame(h2.DATA, 1, 1, Buffer.from("x"))],
  ["PRIORITY of the connection", PROTOCOL_ERROR, () => frame(h2.PRIORITY, 0, 0, Buffer.alloc(5))],
  ["a frame larger than allowed", 6, () => frame(h2.DATA, 0, 1, Buffer.alloc(20000))],
  ["HPACK that points nowhere", 9, () => frame(h2.HEADERS, 5, 1, Buffer.from([0xff, 0xff, 0xff, 0x7f]))],
]) {
  test(`ends the connection: ${name}`, async () => {
    const from = lines().length;
    const answer = await raw([open(), make()], { wait: 4000, port: wrist.plainPort });
    assert.notEqual(answer.why, "wait");
    assert.ok(h2.goneAway(answer.bytes).includes(code), `GOAWAY with ${h2.goneAway(answer.bytes)}`);
    assert.deepEqual(lines().slice(from).map((line) => line.kind), ["protocol_error"]);
  });
}

test("a head that never ends and a body that never comes are ended", async () => {
  const slow = await attack("slow_head", frame(h2.HEADERS, 0, 1, head()));
  assert.deepEqual(h2.goneAway(slow.bytes), [ENHANCE_YOUR_CALM]);
  const body = await attack("slow_body", frame(h2.HEADERS, h2.END_HEADERS, 1, postHead([["content-length", "100"]])), 3000);
  const status = h2.framesOf(body.bytes).find((f) => f.type === h2.HEADERS && f.stream === 1);
  assert.match(status.payload.toString("latin1"), /408/);
});

test("zero and one-byte windows hold back one stream and nothing else, and not for ever", async () => {
  const list = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" });
  const ask = (stream) => Buffer.concat([frame(h2.HEADERS, h2.END_HEADERS, stream, postHead([["accept", "application/json"], ["mcp-session-id", good.id]])), frame(h2.DATA, h2.END_STREAM, stream, Buffer.from(list))]);
  const zero = Buffer.concat([Buffer.from([0, 4]), u32(0)]);
  const from = lines().length;
  const answer = await raw([open(zero), ask(1), ask(3), frame(h2.WINDOW_UPDATE, 0, 3, u32(1 << 20)), ask(5), frame(h2.WINDOW_UPDATE, 0, 5, u32(1))], { wait: 5000, port: wrist.plainPort });
  const dataOf = (stream) => Buffer.concat(h2.framesOf(answer.bytes).filter((f) => f.type === h2.DATA && f.stream === stream).map((f) => f.payload));
  assert.equal(dataOf(1).length, 0);
  assert.match(dataOf(3).toString(), /"tools":/, "the stream with a window got its answer");
  assert.equal(dataOf(5).length, 1);
  for (const stream of [1, 5]) assert.deepEqual(h2.resets(answer.bytes, stream), [ENHANCE_YOUR_CALM]);
  assert.deepEqual(lines().slice(from).map((line) => line.kind), ["slow_reader"]);
});

test("after all of it nothing has grown", async () => {
  await until(async () => {
    const m = await wrist.metrics();
    return m.wrist_exchanges === 0 && m.wrist_buffered_bytes === 0 && m.wrist_connections <= 3;
  }, "gauges back to zero", { timeout: 10_000 });
  const rss = Number(/VmRSS:\s+(\d+)/.exec(fs.readFileSync(`/proc/${wrist.processes.get("gateway").pid}/status`, "utf8"))[1]);
  assert.ok(sanitized || rss < 40_000, `${rss} KiB`);
});
