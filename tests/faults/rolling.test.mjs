// SPDX-License-Identifier: Apache-2.0
// A rolling restart under load, with the listening sockets passed on as a service manager does: no
// request is lost, over HTTP/1.1 and HTTP/2, and held streams end at once and cleanly.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import fs from "node:fs";
import http2 from "node:http2";
import https from "node:https";
import path from "node:path";
import { after, before, test } from "node:test";
import { openStream } from "../harness/stream.mjs";
import { Wrist, messagesOf, root, sleep, textOf, until } from "../harness/wrist.mjs";

const sockets = path.join(root, "tests/harness/sockets.py");

class Handed extends Wrist {
  writeConfig() {
    super.writeConfig();
    this.gatewayConfig.listen[0].address = "fd:3";
    this.gatewayConfig.listen[1].address = "fd:4";
    fs.writeFileSync(path.join(this.folder, "gateway.yaml"), JSON.stringify(this.gatewayConfig));
  }

  async prepare() {
    await super.prepare();
    this.control = path.join(this.folder, "sockets");
    this.holder = spawn("python3", [sockets, "hold", this.control, String(this.port), String(this.plainPort)], { stdio: ["ignore", "pipe", "inherit"] });
    this.options.launch = { gateway: ["/usr/bin/python3", sockets, "take", this.control, "2"] };
    await new Promise((resolve) => this.holder.stdout.once("data", resolve));
  }

  async stop() {
    await super.stop();
    this.holder?.kill();
  }

  async roll() {
    const ended = this.kill("gateway", "SIGTERM");
    await ended;
    await this.startGateway({ ready: false });
  }
}

let wrist;
before(async () => {
  wrist = await Handed.start({ profiles: { trial: {} }, gateway: { timeouts: { drain: "20s" } } });
});
after(() => wrist.stop());

const message = (id) => ({ jsonrpc: "2.0", id, method: "tools/call", params: { name: "Bash", arguments: { command: `echo ${id}` } } });

// Requests one after the other on a connection that is kept as long as the gateway keeps it.
async function loadH1(session, state) {
  const agent = new https.Agent({ keepAlive: true, maxSockets: 1 });
  for (let id = 1; !state.over; id++) {
    const answer = await session.send(message(id), { agent }).catch((error) => ({ error }));
    if (answer.error || !textOf(answer).startsWith(`${id}\n`)) state.lost.push(answer.error?.message ?? textOf(answer));
    state.h1++;
  }
  agent.destroy();
}

// A client that honours GOAWAY: what comes after it goes to a new connection.
class H2 {
  open() {
    this.client = http2.connect(wrist.url);
    const mine = this.client;
    mine.on("goaway", () => {
      if (this.client === mine) this.client = null;
    });
    mine.on("close", () => {
      if (this.client === mine) this.client = null;
    });
    mine.on("error", () => {});
  }

  send(session, body) {
    if (!this.client || this.client.closed || this.client.destroyed) this.open();
    return new Promise((resolve, reject) => {
      const stream = this.client.request({ ":method": "POST", ":path": "/mcp", authorization: `Bearer ${wrist.token}`,
        "content-type": "application/json", accept: "application/json, text/event-stream", "mcp-session-id": session.id, "mcp-protocol-version": "2025-11-25" });
      let text = "";
      stream.setEncoding("utf8").on("data", (part) => (text += part)).on("end", () => resolve(text)).on("error", reject);
      stream.on("close", () => reject(new Error(`closed with ${stream.rstCode} after ${JSON.stringify(text)}`)));
      stream.end(JSON.stringify(body));
    });
  }
}

async function loadH2(session, state) {
  const client = new H2();
  for (let id = 1; !state.over; id++) {
    const text = await client.send(session, message(id)).catch((error) => error.message);
    if (!text.includes(`"${id}\\n`)) state.lost.push(text);
    state.h2++;
  }
  client.client?.close();
}

// PI-239, PI-240
test("restarts under load lose no request, and held streams end within a second", async (t) => {
  const sessions = await Promise.all(Array.from({ length: 12 }, () => wrist.session()));
  const state = { over: false, lost: [], h1: 0, h2: 0 };
  const clients = sessions.map((session, at) => (at % 2 ? loadH1 : loadH2)(session, state));
  for (let round = 0; round < 3; round++) {
    await sleep(1000);
    const streams = await Promise.all(sessions.slice(0, 6).map((session) => openStream(wrist, "GET", { session })));
    const long = openStream(wrist, "POST", { session: sessions[0], json: { ...message(900 + round), params: { name: "Bash", arguments: { command: "sleep 3.5; echo long" } } } });
    await sleep(500);
    const before = [state.h1, state.h2];
    const asked = Date.now();
    const rolled = wrist.roll();
    await until(() => streams.every((stream) => stream.ended), "the held streams to end", { timeout: 1000 });
    for (const stream of streams) assert.match(stream.text, /retry: \d+\n\n$/);
    const last = await long;
    await until(() => last.ended, "the long call's answer");
    assert.match(messagesOf(last.text)[0].result.content[0].text, /^long/);
    await rolled;
    t.diagnostic(`figure: round ${round}: the next process serves after ${Date.now() - asked} ms`);
    await until(() => state.h1 > before[0] + 6 && state.h2 > before[1] + 6, "requests after the restart");
  }
  state.over = true;
  await Promise.all(clients);
  t.diagnostic(`figure: ${state.h1} requests over HTTP/1.1 and ${state.h2} over HTTP/2 in three restarts, ${state.lost.length} lost`);
  assert.deepEqual(state.lost, []);
  assert.ok(state.h1 > 50 && state.h2 > 50);
  await Promise.all(sessions.map((session) => session.close()));
});
