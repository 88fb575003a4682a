// SPDX-License-Identifier: Apache-2.0
// What has gone wrong in other gateways between HTTP and the tools: streams that are held back, cut,
// or left; one reader that holds up the rest; one client's failures that lock out another.
import assert from "node:assert/strict";
import { once } from "node:events";
import fs from "node:fs";
import http2 from "node:http2";
import https from "node:https";
import { after, before, test } from "node:test";
import { raw } from "../harness/raw.mjs";
import { openStream } from "../harness/stream.mjs";
import { Wrist, full, messagesOf, sanitized, sleep, textOf, until } from "../harness/wrist.mjs";

let wrist;
let session;
before(async () => {
  wrist = await Wrist.start({ profiles: { trial: { driver: { limits: { disk: "512MiB" } } } } });
  session = await wrist.session();
  await session.tool("Bash", { command: "head -c 230000 /dev/zero | tr '\\0' x | fold -w 100 > big" });
});
after(() => wrist?.stop());

const processOf = (name) => fs.readFileSync(`/proc/${wrist.processes.get("gateway").pid}/${name}`, "utf8");
const rssKiB = () => Number(/VmRSS:\s+(\d+)/.exec(processOf("status"))[1]);
function cpuMs() {
  const fields = processOf("stat").split(") ")[1].split(" ");
  return (Number(fields[11]) + Number(fields[12])) * 10; // in ticks of 1/100 s
}
const connect = () => http2.connect(wrist.url, { ca: fs.readFileSync(wrist.tls.cert) });
const headersFor = (method, more = {}) => ({ ":method": method, ":path": "/mcp", authorization: `Bearer ${wrist.token}`, "content-type": "application/json",
  accept: "application/json, text/event-stream", "mcp-session-id": session.id, "mcp-protocol-version": "2025-11-25", ...more });
const readBig = (id) => JSON.stringify({ jsonrpc: "2.0", id, method: "tools/call", params: { name: "Read", arguments: { file_path: "big", limit: 5000 } } });

test("over HTTP/2 a held stream's head comes with a first piece of data, so that no proxy holds it back", async () => {
  const connection = connect();
  const own = await wrist.session();
  const stream = connection.request(headersFor("GET", { accept: "text/event-stream", "mcp-session-id": own.id }));
  const seen = {};
  stream.on("response", (head) => Object.assign(seen, { status: head[":status"], head: Date.now() }));
  stream.setEncoding("utf8").on("data", (part) => Object.assign(seen, { text: seen.text ?? part, data: seen.data ?? Date.now() }));
  await until(() => seen.data, "the first data");
  assert.equal(seen.status, 200);
  assert.match(seen.text, /^:/);
  assert.ok(seen.data - seen.head < 500, `${seen.data - seen.head} ms after the head`);
  connection.destroy();
});

test("a large result is one whole event to a client that takes events alone", async () => {
  const stream = await openStream(wrist, "POST", { session, json: JSON.parse(readBig(7)), headers: { accept: "text/event-stream" } });
  await until(() => stream.ended, "its answer");
  const messages = messagesOf(stream.text);
  assert.deepEqual(messages.map((message) => message.id), [7]);
  assert.ok(messages[0].result.content[0].text.length > 200_000);
  assert.equal(stream.text.match(/^data:/gm).length, 1);
});

test("one answer that is not read holds up no other of its connection", async () => {
  const connection = connect();
  await once(connection, "connect");
  connection.setLocalWindowSize(8 << 20); // the client's window for all of them; each stream has 64 KiB
  const ask = (id) => {
    const stream = connection.request(headersFor("POST"));
    stream.end(readBig(id));
    return stream;
  };
  const stuck = Array.from({ length: 5 }, (_, i) => ask(100 + i));
  stuck.forEach((stream) => stream.on("error", () => {}).pause());
  await Promise.all(stuck.map((stream) => new Promise((resolve) => stream.on("response", resolve))));
  for (let id = 1; id <= 10; id++) {
    let text = "";
    const stream = ask(id);
    for await (const part of stream.setEncoding("utf8")) text += part;
    assert.match(text, new RegExp(`"id":${id},`));
  }
  assert.ok((await wrist.metrics()).wrist_buffered_bytes < 5 * (512 << 10), "what is not read stays with the worker, but for a bound");
  connection.destroy();
  await until(async () => (await wrist.metrics()).wrist_buffered_bytes === 0, "nothing to be left");
});

test("a client's answer to a request of the server's is taken with 202", async () => {
  assert.equal((await session.send({ jsonrpc: "2.0", id: 1, result: {} })).status, 202);
  assert.equal((await session.send({ jsonrpc: "2.0", id: "x", error: { code: -32601, message: "no" } })).status, 202);
  assert.equal((await session.call("ping")).status, 200);
});

test("a hundred clients that vanish in the middle of a stream leave nothing behind, and nothing spins", async () => {
  const streams = [];
  for (let i = 0; i < 50; i++) {
    const own = await wrist.session();
    streams.push(await openStream(wrist, "GET", { session: own }));
  }
  const connection = connect();
  for (let i = 0; i < 50; i++)
    connection.request(headersFor("POST")).on("error", () => {}).end(JSON.stringify({ jsonrpc: "2.0", id: i, method: "tools/call", params: { name: "Bash", arguments: { command: "sleep 30" } } }));
  await until(async () => (await wrist.metrics()).wrist_exchanges >= 60, "the streams to be open");
  streams.forEach((stream) => stream.cut());
  connection.destroy();
  await until(async () => (await wrist.metrics()).wrist_exchanges === 0, "their exchanges to be gone");
  const before = cpuMs();
  await sleep(full ? 60_000 : 2000);
  assert.ok(cpuMs() - before <= (full ? 600 : 100), `${cpuMs() - before} ms of CPU while nothing happens`);
  assert.equal((await wrist.session()).opened.status, 200);
});

test("a body without a length is taken as one with it", async () => {
  const head = `POST /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${wrist.token}\r\ncontent-type: application/json\r\nmcp-session-id: ${session.id}\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n`;
  const chunk = (text) => `${text.length.toString(16)}\r\n${text}\r\n`;
  const answer = await raw([head + chunk('{"jsonrpc":"2.0","id":"who'), chunk('l'), chunk('e","method":"ping"}') + chunk("")], { port: wrist.plainPort, pause: 20 });
  assert.equal(answer.status, 200);
  assert.match(answer.text, /"id":"whole"/);
});

test("uploads and downloads pass through: the gateway's memory stays as it is", async () => {
  const created = await wrist.request("POST", "/v1/sandboxes", { json: { profile: "trial" } });
  const { handle } = created.json;
  const size = (full ? 400 : 64) << 20;
  const file = `${wrist.folder}/upload.tar`;
  const header = Buffer.alloc(512);
  header.write("large.bin", 0);
  header.write("0000644\0", 100);
  header.write("0000000\0", 108);
  header.write("0000000\0", 116);
  header.write(`${size.toString(8).padStart(11, "0")}\0`, 124);
  header.write("00000000000\0", 136);
  header.write("        0", 148);
  header.write("ustar\x0000", 257);
  header.write(`${header.reduce((sum, byte) => sum + byte, 0).toString(8).padStart(6, "0")}\0 `, 148);
  fs.writeFileSync(file, header);
  fs.truncateSync(file, 512 + size + 1024); // zeros, and the two blocks that end it
  const before = rssKiB();
  let most = before;
  const watch = setInterval(() => (most = Math.max(most, rssKiB())), 10);
  const answer = await wrist.request("PUT", `/v1/sandboxes/${handle}/files?root=workspace`, { body: fs.createReadStream(file), headers: { "content-type": "application/x-tar" } });
  clearInterval(watch);
  assert.equal(answer.status, 200, answer.text);
  assert.ok(sanitized || most - before < 16 << 10, `${most - before} KiB more`);
  const own = await wrist.session({ target: new URL(created.json.mcp_url).pathname });
  assert.equal(textOf(await own.tool("Bash", { command: "stat -c %s large.bin" })).split("\n")[0], `${size}`);

  // The way out: a reader that stops reading holds back the sandbox, not the gateway's memory.
  const download = (taken) => new Promise((resolve, reject) => {
    const request = https.get(`${wrist.url}/v1/sandboxes/${handle}/files?path=large.bin`, { headers: { authorization: `Bearer ${wrist.token}` }, servername: "localhost" }, taken);
    request.on("error", reject);
    request.on("close", resolve);
  });
  const idle = rssKiB();
  await download((response) => {
    response.once("data", () => {
      response.pause();
      setTimeout(() => {
        assert.ok(sanitized || rssKiB() - idle < 16 << 10, `${rssKiB() - idle} KiB more`);
        response.destroy();
      }, 1000);
    });
  });
  let got = 0;
  await download((response) => response.on("data", (part) => (got += part.length)));
  assert.equal(got, size);
});

test("bad tokens from an address do not lock out a good one from there", async () => {
  for (let i = 0; i < 30; i++) assert.equal((await wrist.request("POST", "/mcp", { token: `wrong-${i}`, json: { jsonrpc: "2.0", id: 1, method: "ping" } })).status, 401);
  assert.equal((await session.call("ping")).status, 200);
});
