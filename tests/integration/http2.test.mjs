// SPDX-License-Identifier: Apache-2.0
// HTTP/2 by Node's http2, curl and h2load.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import http2 from "node:http2";
import { after, before, test } from "node:test";
import { Wrist } from "../harness/wrist.mjs";

let wrist;
before(async () => {
  wrist = await Wrist.start();
});
after(() => wrist?.stop());

function post(connection, message, headers = {}) {
  return new Promise((resolve, reject) => {
    const stream = connection.request({ ":method": "POST", ":path": "/mcp", authorization: `Bearer ${wrist.token}`,
      "content-type": "application/json", accept: "application/json, text/event-stream", ...headers });
    let head;
    let text = "";
    stream.on("response", (headers) => (head = headers));
    stream.setEncoding("utf8").on("data", (part) => (text += part));
    stream.on("error", reject);
    stream.on("end", () => resolve({ status: head[":status"], headers: head, text,
      json: JSON.parse(text.startsWith("{") ? text : text.split("\n").find((line) => line.startsWith("data:")).slice(5)) }));
    stream.end(JSON.stringify(message));
  });
}

const initialize = { jsonrpc: "2.0", id: 1, method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "h2", version: "1" } } };

for (const [name, address] of [["TLS with ALPN", () => wrist.url], ["prior knowledge in cleartext", () => wrist.plainUrl]]) {
  test(`twenty parallel first calls of one session get one sandbox (${name})`, async () => {
    const connection = http2.connect(address(), { ca: fs.readFileSync(wrist.tls.cert) });
    const opened = await post(connection, initialize);
    assert.equal(opened.status, 200);
    const session = { "mcp-session-id": opened.headers["mcp-session-id"], "mcp-protocol-version": "2025-11-25" };
    const answers = await Promise.all(Array.from({ length: 20 }, (_, i) => post(connection, { jsonrpc: "2.0", id: i, method: "tools/call",
      params: { name: "Bash", arguments: { command: `echo $RANDOM >> all; echo ${i}` } } }, session)));
    answers.forEach((answer, i) => {
      assert.equal(answer.json.id, i);
      assert.match(answer.json.result.content[0].text, new RegExp(`^${i}\\n`));
    });
    const count = await post(connection, { jsonrpc: "2.0", id: 99, method: "tools/call", params: { name: "Bash", arguments: { command: "wc -l < all" } } }, session);
    assert.match(count.json.result.content[0].text, /^20\n/);
    connection.close();
  });
}

test("curl speaks h2 and h1 to the same port", () => {
  for (const [flag, version] of [["--http2", "2"], ["--http1.1", "1.1"]]) {
    const out = execFileSync("curl", ["-sS", flag, "--cacert", wrist.tls.cert, "-H", `authorization: Bearer ${wrist.token}`,
      "-H", "content-type: application/json", "-d", JSON.stringify(initialize), "-o", "/dev/null", "-w", "%{http_version} %{http_code}", `${wrist.url}/mcp`], { encoding: "utf8" });
    assert.equal(out, `${version} 200`);
  }
});

test("h2load: 20,000 pings over 8 connections all succeed", async () => {
  const session = await wrist.session();
  const body = `${wrist.folder}/ping.json`;
  fs.writeFileSync(body, JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" }));
  const out = execFileSync("h2load", ["-n", "20000", "-c", "8", "-m", "8", "-d", body, "-H", `authorization: Bearer ${wrist.token}`,
    "-H", "content-type: application/json", "-H", `mcp-session-id: ${session.id}`, `${wrist.url}/mcp`], { encoding: "utf8" });
  assert.match(out, /status codes: 20000 2xx/);
});
