// SPDX-License-Identifier: Apache-2.0
// The gateway's rows: Wrist before the bench's upstream, beside the others.
import fs from "node:fs";
import http from "node:http";
import http2 from "node:http2";
import path from "node:path";
import tls from "node:tls";

import { bin, until, Wrist } from "../harness/wrist.mjs";
import { GENERATOR_CORE, handshakes, load, loadWithIds, median, memory, PROXY_CORE, pin, start } from "./measure.mjs";
import { haproxy, mcpProxy, nghttpx, supergateway, ways } from "./peers.mjs";

export const upstreamProgram = path.join(bin, "../bench/upstream");
const sizes = { "1 KiB": 1024, "64 KiB": 65536 };
const bodyOf = (bytes) => JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "payload", arguments: { bytes } } });

// Wrist with the upstream in wrist-driver's place.
class Bench extends Wrist {
  async startDriver() {
    this.upstream = start(GENERATOR_CORE, upstreamProgram, [this.run]);
    this.processes.set("driver", this.upstream);
    this.upstream.ended.then(() => this.processes.delete("driver"));
    fs.chmodSync(this.run, 0o777);
    const line = await until(() => this.upstream.text.match(/127\.0\.0\.1:(\d+)/), "the upstream's port");
    this.upstreamPort = Number(line[1]);
  }

  async deleteAll() {}

  get gatewayPid() {
    return this.processes.get("gateway").pid;
  }
}

export async function startWrist(profile = { warm: 1, bind: "principal", per_principal: 100 }, store = {}) {
  const wrist = await Bench.start({
    profiles: { trial: { gateway: profile } },
    gateway: {
      ...store,
      log_level: "warn", // the others write no line for a request either
      limits: { connections: 20000, connections_per_address: 20000, streams: 6000 },
    },
  });
  pin(wrist.gatewayPid, PROXY_CORE);
  return wrist;
}

async function rounds(targets, count) {
  const results = targets.map(() => ({}));
  for (let round = 0; round < count; round++)
    for (const [size, bytes] of Object.entries(sizes))
      for (const [i, target] of targets.entries()) {
        const requests = Math.round((target.slow ? 1500 : bytes > 10000 ? 4000 : 20000) / (count < 3 ? 4 : 1));
        ((results[i][size] ??= []).push(await (target.slow ? loadWithIds : load)(target, { requests, connections: 32, body: bodyOf(bytes) })));
      }
  return targets.map((target, i) => Object.assign({ target }, ...Object.entries(results[i]).map(([size, all]) => (
    { [size]: { rate: median(all.map((r) => r.rate)), cpu: median(all.map((r) => r.cpu)) } }))));
}

async function latencies(targets, count) {
  const results = targets.map(() => []);
  for (let round = 0; round < count; round++)
    for (const [i, target] of targets.entries())
      results[i].push(await (target.slow ? loadWithIds : load)(target, { requests: target.slow ? 500 : 3000, connections: 1, body: bodyOf(1024), latencies: true }));
  return targets.map((target, i) => ({ target, p50: median(results[i].map((r) => r.p50)), p99: median(results[i].map((r) => r.p99)) }));
}

// --- memory of held streams ------------------------------------------------------------------------

const headersOf = (wrist, session) => ({ authorization: `Bearer ${wrist.token}`, accept: "text/event-stream", "mcp-session-id": session });

async function openSessions(wrist, count) {
  const agent = new http.Agent({ keepAlive: true, maxSockets: 8 });
  const ids = [];
  const one = async () => {
    while (ids.length < count) {
      const place = ids.push("") - 1;
      ids[place] = (await wrist.session({ agent, plain: true })).id;
    }
  };
  await Promise.all(Array.from({ length: 8 }, one));
  agent.destroy();
  return ids;
}

// Opens with `open` one stream for each session, and checks that all are held.
async function memoryOf(wrist, sessions, open) {
  const before = memory(wrist.gatewayPid).now;
  const close = await open();
  const held = Object.entries(await wrist.metrics()).filter(([name]) => /streams/.test(name)).map(([, value]) => value);
  if (!held.some((value) => value >= sessions.length)) throw new Error(`of ${sessions.length} streams ${held} are held`);
  const after = memory(wrist.gatewayPid).now;
  await close();
  return (after - before) / sessions.length;
}

export async function multiplexed(wrist, sessions) {
  return memoryOf(wrist, sessions, async () => {
    const client = http2.connect(wrist.url, { rejectUnauthorized: false });
    await Promise.all(sessions.map((session) => new Promise((resolve, reject) => {
      const stream = client.request({ ":path": "/mcp", ...headersOf(wrist, session) });
      stream.on("response", (head) => (head[":status"] === 200 ? resolve() : reject(new Error(`a stream got ${head[":status"]}`))));
      stream.on("error", () => {});
    })));
    return () => client.destroy();
  });
}

export async function singleConnections(wrist, sessions) {
  return memoryOf(wrist, sessions, async () => {
    const sockets = [];
    const one = (session) => new Promise((resolve, reject) => {
      const socket = tls.connect({ port: wrist.port, host: "127.0.0.1", rejectUnauthorized: false, ALPNProtocols: ["http/1.1"] }, () => {
        const lines = Object.entries(headersOf(wrist, session)).map(([name, value]) => `${name}: ${value}\r\n`).join("");
        socket.write(`GET /mcp HTTP/1.1\r\nhost: localhost\r\n${lines}\r\n`);
      });
      sockets.push(socket);
      socket.once("data", (data) => (/ 200 /.test(String(data)) ? resolve() : reject(new Error(String(data)))));
      socket.on("error", reject);
    });
    for (let i = 0; i < sessions.length; i += 50) await Promise.all(sessions.slice(i, i + 50).map(one));
    return () => sockets.forEach((socket) => socket.destroy());
  });
}

// --- everything ------------------------------------------------------------------------------------

export async function measureGateway({ count, streams, say }) {
  const wrist = await startWrist();
  const peers = [];
  try {
    const session = await wrist.session({ plain: true });
    await session.tool("payload", { bytes: 1 });
    const headers = { authorization: `Bearer ${wrist.token}`, "mcp-session-id": session.id, "mcp-protocol-version": "2025-11-25" };
    const ports = { plain: wrist.plainPort, secure: wrist.port };
    for (const peer of [haproxy, nghttpx]) peers.push(await peer(wrist.run, wrist.tls));
    if (process.env.WRIST_BENCH_NODE !== "0")
      for (const peer of [mcpProxy, supergateway]) peers.push(await peer(upstreamProgram));
    const direct = { name: "direct", way: "h1", url: `http://127.0.0.1:${wrist.upstreamPort}/mcp`, h1: true, headers: {} };
    const targets = [direct, ...ways("Wrist", wrist.gatewayPid, ports, headers), ...peers.flatMap((peer) => peer.targets)];
    const results = {};
    say("throughput");
    results.throughput = await rounds(targets, count);
    say("latency");
    results.latency = await latencies(targets, count);
    say("handshakes");
    results.handshakes = [];
    for (const target of targets.filter((t) => t.way === "TLS h2"))
      results.handshakes.push({ target, ...(await handshakes(target, count < 3 ? 1 : 3)) });
    say("memory");
    const sessions = await openSessions(wrist, streams);
    results.multiplexed = await multiplexed(wrist, sessions);
    results.single = await singleConnections(wrist, sessions);
    return results;
  } finally {
    for (const { child } of peers) child.kill("SIGKILL");
    await wrist.stop();
  }
}
