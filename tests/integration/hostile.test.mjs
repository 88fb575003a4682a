// SPDX-License-Identifier: Apache-2.0
// Broken and hostile HTTP on a public port: each kind ends with the right status or code and one log
// line, nothing grows, and nobody else notices.
import assert from "node:assert/strict";
import fs from "node:fs";
import http2 from "node:http2";
import net from "node:net";
import tls from "node:tls";
import { after, afterEach, before, test } from "node:test";
import { Wrist, sleep, until } from "../harness/wrist.mjs";

let wrist;
let good; // somebody else's session, that must go on as if nothing were
before(async () => {
  wrist = await Wrist.start({
    gateway: {
      timeouts: { head: "1s", body: "1s", idle: "3s", write: "2s" },
      limits: { connections_per_address: 60, connections: 80, head: "40KiB" },
    },
  });
  good = await wrist.session();
});
after(() => wrist?.stop());
afterEach(async () => {
  assert.equal((await good.call("ping")).status, 200, "the well-behaved client is served");
});

const auth = () => `authorization: Bearer ${wrist.token}\r\n`;
const ping = '{"jsonrpc":"2.0","id":1,"method":"ping"}';
const json = "content-type: application/json\r\naccept: application/json\r\n";
const post = (headers, body = ping) => `POST /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\n${auth()}${json}mcp-session-id: ${good.id}\r\n${headers}\r\n${body}`;
const whole = () => post(`content-length: ${ping.length}\r\n`);

// Sends pieces with pauses and collects what comes until the peer ends or `wait` is over.
function raw(pieces, { wait = 4000, port = wrist.plainPort, secure = false, pause = 0, hold = false } = {}) {
  return new Promise((resolve) => {
    const started = Date.now();
    const socket = secure ? tls.connect({ port, host: "127.0.0.1", servername: "localhost", ALPNProtocols: ["http/1.1"] })
      : net.connect({ port, host: "127.0.0.1" });
    let text = "";
    let finished = false;
    const done = (why) => {
      if (finished) return;
      finished = true;
      if (!hold) socket.destroy();
      resolve({ text, status: Number(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1]), why, ms: Date.now() - started, socket });
    };
    socket.on("data", (part) => (text += part.toString("latin1")));
    socket.on("end", () => done("end"));
    socket.on("error", () => done("error"));
    socket.on("close", () => done("close"));
    setTimeout(() => done("wait"), wait);
    socket.on(secure ? "secureConnect" : "connect", async () => {
      for (const piece of [pieces].flat()) {
        if (socket.destroyed) return;
        socket.write(piece);
        if (pause) await sleep(pause);
      }
    });
  });
}

const lines = () => wrist.logs.gateway.filter((line) => line.event === "http.hostile");
async function logsOne(kind, action) {
  const from = lines().length;
  const result = await action();
  await until(() => lines().length > from, `a log line of kind ${kind}`, { timeout: 5000 });
  const fresh = lines().slice(from);
  assert.deepEqual([...new Set(fresh.map((line) => line.kind))], [kind]);
  assert.ok(fresh.every((line) => line.peer === "127.0.0.1"));
  return { result, lines: fresh.length };
}

test("a whole request in one piece and byte by byte is served", async () => {
  assert.equal((await raw(whole(), { wait: 500 })).status, 200);
  assert.equal((await raw([...whole()].map((byte) => byte), { wait: 900 })).status, 200);
  assert.equal((await raw(whole(), { secure: true, port: wrist.port, wait: 500 })).status, 200);
});

test("a head of 32 KiB is served, one over the limit is 431", async () => {
  assert.equal((await raw(post(`x-long: ${"a".repeat(31 << 10)}\r\ncontent-length: ${ping.length}\r\n`), { wait: 600 })).status, 200);
  const { result } = await logsOne("head_too_large", () => raw(post(`x-long: ${"a".repeat(60 << 10)}\r\ncontent-length: ${ping.length}\r\n`)));
  assert.equal(result.status, 431);
});

for (const [name, bytes] of [
  ["Content-Length with Transfer-Encoding", () => post("content-length: 5\r\ntransfer-encoding: chunked\r\n", "0\r\n\r\n")],
  ["two different Content-Lengths", () => post("content-length: 5\r\ncontent-length: 6\r\n", "hello")],
  ["a bare LF in the head", () => whole().replace("host: 127.0.0.1\r\n", "host: 127.0.0.1\n")],
  ["two Host headers", () => post(`host: other\r\ncontent-length: ${ping.length}\r\n`)],
  ["no Host header", () => whole().replace("host: 127.0.0.1\r\n", "")],
  ["a folded header", () => post(`x-folded: a\r\n b\r\ncontent-length: ${ping.length}\r\n`)],
  ["a space before the colon", () => post(`x-space : a\r\ncontent-length: ${ping.length}\r\n`)],
  ["a NUL in a header", () => post(`x-nul: a\0b\r\ncontent-length: ${ping.length}\r\n`)],
  ["a negative length", () => post("content-length: -1\r\n")],
  ["a chunk size that is no number", () => post("transfer-encoding: chunked\r\n", "zz\r\nhello\r\n0\r\n\r\n")],
  ["garbage", () => "\x16\x03\x01\x02\x00\x01garbage\r\n\r\n"],
  ["HTTP/3.7", () => whole().replace("HTTP/1.1", "HTTP/3.7")],
  ["a method of garbage", () => whole().replace("POST", "P\x01ST")],
]) {
  test(`refused with 400 and closed: ${name}`, async () => {
    const { result } = await logsOne("malformed", () => raw(bytes()));
    assert.ok([400, 501, 505].includes(result.status), `${result.status} ${result.text.slice(0, 80)}`);
    assert.notEqual(result.why, "wait");
  });
}

test("headers that decide twice are refused", async () => {
  for (const header of [`mcp-session-id: other\r\n`, `authorization: Bearer other\r\n`]) {
    const answer = await raw(post(`${header}content-length: ${ping.length}\r\n`), { wait: 600 });
    assert.ok([400, 401].includes(answer.status), `${header} ${answer.status}`);
  }
  const answer = await raw(post(`mcp-protocol-version: 2025-11-25\r\nmcp-protocol-version: 2025-06-18\r\ncontent-length: ${ping.length}\r\n`), { wait: 600 });
  assert.equal(answer.status, 400);
});

test("absolute-form is understood, CONNECT and upgrades are not acted on", async () => {
  assert.equal((await raw(whole().replace("POST /mcp", "POST http://127.0.0.1/mcp"), { wait: 600 })).status, 200);
  const connect = await raw(`CONNECT 127.0.0.1:80 HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n`, { wait: 600 });
  assert.ok(connect.status >= 400 && connect.status < 600, `${connect.status}`);
  const upgraded = await raw(post(`connection: Upgrade, HTTP2-Settings\r\nupgrade: h2c\r\nhttp2-settings: AAMAAABkAAQAAP__\r\ncontent-length: ${ping.length}\r\n`), { wait: 600 });
  assert.notEqual(upgraded.status, 101);
});

test("a second request hidden behind a first body is not served as another's", async () => {
  const smuggled = post(`content-length: ${ping.length}\r\n`) + "GET /healthz HTTP/1.1\r\nhost: evil\r\n\r\n";
  const answer = await raw(smuggled, { wait: 800 });
  assert.equal(answer.status, 200);
  assert.match(answer.text.split("HTTP/1.1").at(-1), /^ (401|403|404|421)/);
});

test("a body over its limit is 413, announced or not", async () => {
  const big = 5 << 20;
  const { result } = await logsOne("body_too_large", () => raw([post(`content-length: ${big}\r\n`, ""), Buffer.alloc(1 << 20, 32)]));
  assert.equal(result.status, 413);
  const chunk = Buffer.concat([Buffer.from("100000\r\n"), Buffer.alloc(1 << 20, 32), Buffer.from("\r\n")]);
  const chunked = await raw([post("transfer-encoding: chunked\r\n", ""), chunk, chunk, chunk, chunk, chunk], { pause: 20 });
  assert.equal(chunked.status, 413);
});

test("a slow head is 408, a slow body too, a connection that says nothing is closed", async () => {
  const head = await logsOne("slow_head", () => raw([..."POST /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\n"], { pause: 60, wait: 6000 }));
  assert.equal(head.result.status, 408);
  const body = await logsOne("slow_body", () => raw(post("content-length: 100\r\n", '{"json')));
  assert.equal(body.result.status, 408);
  const silent = await raw([], { wait: 6000 });
  assert.ok(["end", "close", "error"].includes(silent.why));
  assert.ok(silent.ms < 5000);
});

test("a reader that never reads is ended; its sandbox's stream is held back meanwhile", async () => {
  await good.tool("Bash", { command: "head -c 250000 /dev/zero | tr '\\0' x | fold -w 100 > big.txt" });
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "Read", arguments: { file_path: "big.txt", limit: 5000 } } });
  const request = post(`content-length: ${body.length}\r\n`, body);
  const { socket } = await raw([request.repeat(60)], { wait: 200, hold: true });
  socket.pause();
  await until(async () => (await wrist.metrics()).wrist_buffered_bytes < 8 << 20, "bounded buffers");
  await sleep(2500);
  socket.destroy();
  await until(async () => (await wrist.metrics()).wrist_buffered_bytes === 0, "buffers to be empty again");
});

test("more connections of one address than allowed are closed at once", async () => {
  const sockets = [];
  try {
    const { lines: count } = await logsOne("too_many_connections", async () => {
      for (let i = 0; i < 70; i++) sockets.push(net.connect({ port: wrist.plainPort, host: "127.0.0.1" }).on("error", () => {}));
      await sleep(300);
    });
    assert.ok(count >= 1);
  } finally {
    sockets.forEach((socket) => socket.destroy());
  }
  await until(async () => (await wrist.metrics()).wrist_connections < 20, "connections to be gone");
});

test("TLS: garbage, half handshakes and renegotiation end that connection only", async () => {
  const told = await logsOne("broken_tls", () => raw("GET / HTTP/1.1\r\nhost: x\r\n\r\n", { port: wrist.port }));
  assert.equal(told.lines, 1);
  const garbage = told.result;
  assert.notEqual(garbage.status, 200);
  assert.notEqual(garbage.why, "wait");
  const half = await raw(Buffer.from("16030100", "hex"), { port: wrist.port, wait: 4000 });
  assert.ok(["end", "close", "error"].includes(half.why));
  await new Promise((resolve) => {
    const socket = tls.connect({ port: wrist.port, host: "127.0.0.1", servername: "localhost", maxVersion: "TLSv1.2" }, () => {
      socket.renegotiate({}, (error) => {
        assert.ok(error, "renegotiation is refused");
        socket.destroy();
        resolve();
      });
    });
    socket.on("error", () => resolve());
  });
});

// HTTP/2 by hand: preface, then frames.
const preface = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
function frame(type, flags, stream, payload = Buffer.alloc(0)) {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}
const literal = (name, value) => Buffer.concat([Buffer.from([0, name.length]), Buffer.from(name), Buffer.from([value.length]), Buffer.from(value)]);
const requestHead = () => Buffer.concat([[":method", "GET"], [":scheme", "http"], [":path", "/"], [":authority", "127.0.0.1"]].map(([n, v]) => literal(n, v)));
const goneAway = (text) => {
  const bytes = Buffer.from(text, "latin1");
  for (let at = 0; at + 9 <= bytes.length;) {
    const size = bytes.readUIntBE(at, 3);
    if (bytes[at + 3] === 7 && size >= 8) {
      const code = bytes.readUInt32BE(at + 13);
      if (code !== 0) return code;
    }
    at += 9 + size;
  }
  return 0;
};

for (const [name, kind, make] of [
  ["rapid reset", "rapid_reset", () => {
    const frames = [];
    for (let i = 0; i < 4000; i++) frames.push(frame(1, 5, 2 * i + 1, requestHead()), frame(3, 0, 2 * i + 1, Buffer.from([0, 0, 0, 8])));
    return Buffer.concat(frames);
  }],
  ["SETTINGS flood", "control_flood", () => Buffer.concat(Array.from({ length: 20000 }, () => frame(4, 0, 0)))],
  ["PING flood", "control_flood", () => Buffer.concat(Array.from({ length: 20000 }, () => frame(6, 0, 0, Buffer.alloc(8))))],
  ["WINDOW_UPDATE flood", "control_flood", () => Buffer.concat(Array.from({ length: 50000 }, () => frame(8, 0, 0, Buffer.from([0, 0, 0, 1]))))],
  ["empty DATA frames", "empty_flood", () => Buffer.concat([frame(1, 4, 1, Buffer.concat([literal(":method", "POST"), literal(":scheme", "http"), literal(":path", "/mcp"), literal(":authority", "127.0.0.1"), literal("authorization", `Bearer ${wrist.token}`), literal("content-type", "application/json")])),
    ...Array.from({ length: 50000 }, () => frame(0, 0, 1))])],
  ["CONTINUATION flood", "continuation_flood", () => Buffer.concat([frame(1, 0, 1, requestHead()), ...Array.from({ length: 20000 }, () => frame(9, 0, 1, literal("x-a", "b")))])],
]) {
  test(`HTTP/2 ${name} ends in GOAWAY, and that connection only`, async () => {
    const from = lines().length;
    const answer = await raw([Buffer.concat([preface, frame(4, 0, 0)]), make()], { wait: 8000 });
    assert.notEqual(answer.why, "wait", "the connection was ended");
    await until(() => lines().length > from, "a log line");
    const kinds = new Set(lines().slice(from).map((line) => line.kind));
    assert.ok([...kinds].every((seen) => [kind, "protocol_error", "head_too_large"].includes(seen)), [...kinds].join());
    assert.ok(lines().length - from <= 25, `${lines().length - from} log lines`);
    assert.ok([0, 1, 11].includes(goneAway(answer.text)), `GOAWAY code ${goneAway(answer.text)}`);
  });
}

for (const [name, headers] of [
  ["an upper-case header name", [["X-Upper", "a"]]],
  ["connection-specific headers", [["connection", "close"]]],
  ["a second :path", [[":path", "/other"]]],
  ["a pseudo-header after a header", [["x-a", "b"], [":scheme", "https"]]],
  ["an unknown pseudo-header", [[":unknown", "x"]]],
  ["te other than trailers", [["te", "gzip"]]],
]) {
  test(`HTTP/2 refused: ${name}`, async () => {
    const head = Buffer.concat([requestHead(), ...headers.map(([n, v]) => literal(n, v))]);
    const answer = await raw([Buffer.concat([preface, frame(4, 0, 0), frame(1, 5, 1, head)])], { wait: 700 });
    const bytes = Buffer.from(answer.text, "latin1");
    let ended = answer.why !== "wait";
    for (let at = 0; at + 9 <= bytes.length; at += 9 + bytes.readUIntBE(at, 3))
      if ([3, 7].includes(bytes[at + 3]) || (bytes[at + 3] === 1 && bytes.includes("400", at))) ended = true; // RST_STREAM, GOAWAY, or 400
    assert.ok(ended, answer.text.length ? bytes.toString("hex").slice(0, 200) : "nothing came");
  });
}

test("zero and one-byte windows hold back one stream and nothing else", async () => {
  const connection = http2.connect(wrist.plainUrl, { settings: { initialWindowSize: 0 } });
  const stuck = connection.request({ ":method": "POST", ":path": "/mcp", authorization: `Bearer ${wrist.token}`, "content-type": "application/json", "mcp-session-id": good.id });
  stuck.on("error", () => {});
  stuck.end(JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" }));
  await sleep(300);
  assert.equal((await good.call("tools/list")).status, 200);
  await sleep(5000); // twice the write time-out
  connection.destroy();
  await until(async () => (await wrist.metrics()).wrist_exchanges === 0, "its exchange to be gone");
});

test("CORS preflight is answered without a token, for allowed origins only", async () => {
  const preflight = await wrist.request("OPTIONS", "/mcp", { token: null, headers: { origin: "https://evil.example", "access-control-request-method": "POST" } });
  assert.equal(preflight.headers["access-control-allow-origin"], undefined);
});

test("after all of it nothing has grown", async () => {
  await until(async () => {
    const m = await wrist.metrics();
    return m.wrist_exchanges === 0 && m.wrist_buffered_bytes === 0 && m.wrist_connections <= 3;
  }, "gauges back to zero", { timeout: 10_000 });
  const rss = Number(/VmRSS:\s+(\d+)/.exec(fs.readFileSync(`/proc/${wrist.processes.get("gateway").pid}/status`, "utf8"))[1]);
  assert.ok(rss < 40_000, `${rss} KiB`);
});
