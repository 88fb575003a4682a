// SPDX-License-Identifier: Apache-2.0
// Broken and hostile HTTP/1.1 and TLS on a public port: each kind ends with the right status and one
// log line, nothing grows, and nobody else notices. HTTP/2 is in hostile-http2.test.mjs.
import assert from "node:assert/strict";
import fs from "node:fs";
import http from "node:http";
import net from "node:net";
import tls from "node:tls";
import { after, afterEach, before, test } from "node:test";
import { raw as send } from "../harness/raw.mjs";
import { Wrist, sanitized, sleep, until } from "../harness/wrist.mjs";

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

const raw = (pieces, options = {}) => send(pieces, { port: wrist.plainPort, ...options });

const lines = () => wrist.logs.gateway.filter((line) => line.event === "http.hostile");
// What `action` gives, after exactly one log line of that kind for each connection it opened.
async function logsOne(kind, action, connections = 1) {
  const from = lines().length;
  const result = await action();
  await until(() => lines().length >= from + connections, `a log line of kind ${kind}`, { timeout: 5000 });
  const fresh = lines().slice(from);
  assert.deepEqual(fresh.map((line) => line.kind), Array(connections).fill(kind));
  assert.ok(fresh.every((line) => line.peer === "127.0.0.1"));
  return result;
}

test("a whole request in one piece and byte by byte is served", async () => {
  assert.equal((await raw(whole(), { wait: 500 })).status, 200);
  assert.equal((await raw([...whole()].map((byte) => byte), { wait: 900 })).status, 200);
  assert.equal((await raw(whole(), { secure: true, port: wrist.port, wait: 500 })).status, 200);
});

test("a flood of bad tokens is counted whole and logged in part", async () => {
  const audits = () => wrist.logs.gateway.filter((line) => line.event === "audit" && line.status === 401);
  const agent = new http.Agent({ keepAlive: true, maxSockets: 20 });
  const bad = (i) => wrist.request("POST", "/mcp", { token: `bad-${i}`, plain: true, agent, json: JSON.parse(ping) });
  const began = Date.now();
  const before = audits().length;
  assert.ok((await Promise.all(Array.from({ length: 500 }, (_, i) => bad(i)))).every((answer) => answer.status === 401));
  const seconds = Math.ceil((Date.now() - began) / 1000) + 1;
  await sleep(1100);
  assert.equal((await bad(500)).status, 401);
  agent.destroy();
  const counted = () => audits().slice(before).reduce((sum, line) => sum + 1 + line.not_logged, 0);
  await until(() => counted() === 501, "all of them to be counted", { timeout: 5000 });
  const count = audits().length - before;
  assert.ok(count <= 20 * (seconds + 2), `${count} lines in ${seconds} s`);
});

test("a head of 32 KiB is served, one over the limit is 431", async () => {
  assert.equal((await raw(post(`x-long: ${"a".repeat(31 << 10)}\r\ncontent-length: ${ping.length}\r\n`), { wait: 600 })).status, 200);
  const result = await logsOne("head_too_large", () => raw(post(`x-long: ${"a".repeat(60 << 10)}\r\ncontent-length: ${ping.length}\r\n`)));
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
    const result = await logsOne("malformed", () => raw(bytes()));
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

test("absolute-form is understood, CONNECT is refused, upgrades are answered as if they were not asked for", async () => {
  assert.equal((await raw(whole().replace("POST /mcp", "POST http://127.0.0.1/mcp"), { wait: 600 })).status, 200);
  assert.equal((await raw(whole().replace("POST /mcp", "POST http://evil.example/mcp"), { wait: 600 })).status, 403, "its host counts");
  const connect = await logsOne("malformed", () => raw("CONNECT 127.0.0.1:80 HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n", { wait: 600 }));
  assert.equal(connect.status, 501);
  for (const upgrade of ["connection: Upgrade, HTTP2-Settings\r\nupgrade: h2c\r\nhttp2-settings: AAMAAABkAAQAAP__\r\n",
    "connection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n"]) {
    const answer = await raw(post(`${upgrade}content-length: ${ping.length}\r\n`), { wait: 600 });
    assert.equal(answer.status, 200);
    assert.doesNotMatch(answer.text, /^upgrade:/im);
  }
});

test("a second request hidden behind a first body is not served as another's", async () => {
  const smuggled = post(`content-length: ${ping.length}\r\n`) + "GET /healthz HTTP/1.1\r\nhost: evil\r\n\r\n";
  const answer = await raw(smuggled, { wait: 800 });
  assert.equal(answer.status, 200);
  assert.match(answer.text.split("HTTP/1.1").at(-1), /^ (401|403|404|421)/);
});

test("a body over its limit is 413, announced or not", async () => {
  const big = 5 << 20;
  const result = await logsOne("body_too_large", () => raw([post(`content-length: ${big}\r\n`, ""), Buffer.alloc(1 << 20, 32)]));
  assert.equal(result.status, 413);
  const chunk = Buffer.concat([Buffer.from("100000\r\n"), Buffer.alloc(1 << 20, 32), Buffer.from("\r\n")]);
  const chunked = await logsOne("body_too_large", () => raw([post("transfer-encoding: chunked\r\n", ""), chunk, chunk, chunk, chunk, chunk], { pause: 20 }));
  assert.equal(chunked.status, 413);
});

test("a slow head is 408, a slow body too, a connection that says nothing is closed", async () => {
  const head = await logsOne("slow_head", () => raw([..."POST /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\n"], { pause: 60, wait: 6000 }));
  assert.equal(head.status, 408);
  const body = await logsOne("slow_body", () => raw(post("content-length: 100\r\n", '{"json')));
  assert.equal(body.status, 408);
  const silent = await raw([], { wait: 6000 });
  assert.ok(["end", "close", "error"].includes(silent.why));
  assert.ok(silent.ms < 5000);
});

test("a reader that never reads is ended; its sandbox's stream is held back meanwhile", async () => {
  await good.tool("Bash", { command: "head -c 250000 /dev/zero | tr '\\0' x | fold -w 100 > big.txt" });
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "Read", arguments: { file_path: "big.txt", limit: 5000 } } });
  const request = post(`content-length: ${body.length}\r\n`, body);
  let socket;
  await logsOne("slow_reader", async () => {
    socket = net.connect({ port: wrist.plainPort, host: "127.0.0.1" }, () => socket.write(request.repeat(60)));
    socket.on("error", () => {}).pause();
    for (let i = 0; i < 10; i++) {
      assert.ok((await wrist.metrics()).wrist_buffered_bytes < 8 << 20, "bounded buffers");
      assert.equal((await good.call("ping")).status, 200);
      await sleep(100);
    }
  });
  await until(async () => (await wrist.metrics()).wrist_buffered_bytes === 0, "buffers to be empty again");
  socket.destroy();
});

test("more connections of one address than allowed are closed at once, each with a line, up to a bound", async () => {
  const from = lines().length;
  const sockets = [];
  try {
    for (let i = 0; i < 160; i++) sockets.push(net.connect({ port: wrist.plainPort, host: "127.0.0.1" }).on("error", () => {}).on("close", function () {
      this.gone = true;
    }));
    await until(() => sockets.filter((socket) => socket.gone).length >= 100, "a hundred of them to be closed");
    const fresh = lines().slice(from);
    assert.deepEqual([...new Set(fresh.map((line) => line.kind))], ["too_many_connections"]);
    assert.ok(fresh.length <= 60, `${fresh.length} lines; twenty a second are the most`);
  } finally {
    sockets.forEach((socket) => socket.destroy());
  }
  await until(async () => (await wrist.metrics()).wrist_connections < 20, "connections to be gone");
  await sleep(1100); // the next second's lines are its own
});

test("TLS: plain text, garbage and handshakes that stop end with that connection, and one line each", async () => {
  const port = wrist.port;
  for (const bytes of ["GET / HTTP/1.1\r\nhost: x\r\n\r\n", Buffer.alloc(300, 0x16), Buffer.from("1603010005010000ffff", "hex")]) {
    const garbage = await logsOne("broken_tls", () => raw(bytes, { port }));
    assert.ok(Number.isNaN(garbage.status));
    assert.notEqual(garbage.why, "wait");
  }
  const half = await logsOne("broken_tls", () => Promise.all(Array.from({ length: 15 }, () => raw(Buffer.from("16030100", "hex"), { port, wait: 6000 }))), 15);
  assert.ok(half.every((one) => one.why !== "wait" && one.ms < 4000));
});

test("TLS: renegotiation is refused", async () => {
  const error = await new Promise((resolve, reject) => {
    const socket = tls.connect({ port: wrist.port, host: "127.0.0.1", servername: "localhost", maxVersion: "TLSv1.2" }, () => {
      assert.equal(socket.getProtocol(), "TLSv1.2");
      socket.removeListener("error", reject);
      socket.on("error", resolve); // the refusal may come as an alert
      socket.renegotiate({}, (why) => resolve(why ?? "it was not refused"));
    });
    socket.on("error", reject);
  });
  assert.ok(error instanceof Error, `${error}`);
});

test("a name that was bound to us anew, and pages of other origins, are refused", async () => {
  const as = (host, more = "") => whole().replace("host: 127.0.0.1\r\n", `host: ${host}\r\n${more}`);
  for (const host of ["evil.example", "127.0.0.1.evil.example", "127.0.0.1:80@evil.example", "localhost.evil.example"])
    assert.ok([400, 403].includes((await raw(as(host), { wait: 600 })).status), host);
  assert.equal((await raw(as("evil.example", "origin: http://evil.example\r\n"), { wait: 600 })).status, 403, "equal to Host, yet not ours");
  for (const origin of ["https://evil.example", "null", "http://localhost.evil.example", "file://"])
    assert.equal((await raw(as("127.0.0.1", `origin: ${origin}\r\n`), { wait: 600 })).status, 403, origin);
  assert.equal((await raw(as("localhost", "origin: http://localhost:3000\r\n"), { wait: 600 })).status, 200);
});

test("CORS: a preflight needs no token, and only origins that may call are let in", async () => {
  const ask = (origin) => wrist.request("OPTIONS", "/mcp", { token: null, headers: { origin, "access-control-request-method": "POST", "access-control-request-headers": "authorization, mcp-session-id" } });
  const foreign = await ask("https://evil.example");
  assert.equal(foreign.status, 403);
  assert.equal(foreign.headers["access-control-allow-origin"], undefined);
  const own = await ask("http://localhost:3000");
  assert.equal(Math.floor(own.status / 100), 2);
  assert.equal(own.headers["access-control-allow-origin"], "http://localhost:3000");
  assert.match(own.headers["access-control-allow-headers"], /authorization/i);
  assert.match(own.headers.vary ?? "", /origin/i);
});

test("after all of it nothing has grown", async () => {
  await until(async () => {
    const m = await wrist.metrics();
    return m.wrist_exchanges === 0 && m.wrist_buffered_bytes === 0 && m.wrist_connections <= 3;
  }, "gauges back to zero", { timeout: 10_000 });
  const rss = Number(/VmRSS:\s+(\d+)/.exec(fs.readFileSync(`/proc/${wrist.processes.get("gateway").pid}/status`, "utf8"))[1]);
  assert.ok(sanitized || rss < 40_000, `${rss} KiB`);
});
