// SPDX-License-Identifier: Apache-2.0
// What a live session costs the gateway and Redis, from 100 of them to 10,000. The workers are the
// bench's upstream: it answers binds and calls as workers do, each on its own socket, without a
// container.
import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import fs from "node:fs";
import http from "node:http";
import os from "node:os";
import path from "node:path";

import { RedisServer } from "../harness/replicas.mjs";
import { bin, isRoot, sleep, until } from "../harness/wrist.mjs";
import { startWrist } from "./gateway.mjs";
import { cpuTime, median, memory } from "./measure.mjs";

const FEW = 100;
const LANES = 16;
const WARM = 32;
const CALLS = 4000;

async function lanes(count, one) {
  let next = 0;
  await Promise.all(Array.from({ length: LANES }, async () => {
    while (next < count) await one(next++);
  }));
}

async function openTo(wrist, sessions, count, agent) {
  await lanes(count - sessions.length, async () => {
    const session = await wrist.session({ agent, plain: true });
    const answer = await session.tool("payload", { bytes: 1 });
    if (answer.status !== 200 || answer.json?.error) throw new Error(`first call: ${answer.status} ${answer.text}`);
    sessions.push(session);
  });
}

// A server of the bench's own, and what a gateway on it needs.
async function startRedis() {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "wrist-bench-"));
  fs.chmodSync(folder, 0o755);
  const keyring = path.join(folder, "keyring");
  execFileSync(path.join(bin, "wristctl"), ["keyring", "new", keyring], { stdio: "ignore" });
  if (isRoot) fs.chownSync(keyring, 65534, 65534);
  const redis = new RedisServer(folder);
  await redis.start();
  redis.settings = { store: { url: `unix://${redis.socket}` }, keyring, fleet: randomBytes(16).toString("hex") };
  redis.info = async (section, name) => Number((await redis.text("INFO", section)).match(new RegExp(`^${name}:(\\d+)`, "m"))[1]);
  redis.stop = async () => {
    await redis.kill();
    fs.rmSync(folder, { recursive: true, force: true });
  };
  return redis;
}

// Commands that the gateway's requests cost, without those that time brings.
async function commandsOf(redis, action) {
  const count = () => redis.info("stats", "total_commands_processed");
  let before = await count();
  let began = performance.now();
  await sleep(3000);
  const idle = ((await count()) - before) / (performance.now() - began);
  before = await count();
  began = performance.now();
  await action();
  return (await count()) - before - idle * (performance.now() - began);
}

// A round trip as a C client on the same machine has it, in µs.
function roundTrip(redis) {
  const out = execFileSync("redis-benchmark", ["-s", redis.socket, "-c", "1", "-n", "20000", "-t", "ping_mbulk", "--csv"], { encoding: "utf8" });
  const [head, row] = out.trim().split("\n").slice(-2).map((line) => line.split(",").map((word) => word.replaceAll('"', "")));
  return Number(row[head.indexOf("p50_latency_ms")]) * 1000;
}

// The same number of sessions is called, of however many there are, so that only what has to be
// looked through differs.
async function measure(wrist, sessions, agent) {
  const pid = wrist.gatewayPid;
  const step = sessions.length / FEW;
  await sleep(2000); // links of sandboxes that nobody uses are closed by then
  const bytes = memory(pid).now;
  const before = cpuTime(pid);
  await lanes(CALLS, async (i) => {
    const answer = await sessions[Math.floor((i % FEW) * step)].tool("payload", { bytes: 1024 });
    if (answer.status !== 200) throw new Error(`call: ${answer.status} ${answer.text}`);
  });
  return { count: sessions.length, bytes, cpu: (cpuTime(pid) - before) / CALLS / 1000 };
}

// One after the other on a full pool: what a session's first call takes longer than its second, in
// µs. The pool is filled up between them, so that nothing else goes on.
async function bindsApart(wrist, agent) {
  const full = () => until(async () => (await wrist.metrics())['wrist_sandboxes{profile="trial",state="warm"}'] >= WARM, "a full pool");
  const first = [], second = [];
  for (let i = 0; i < 60; i++) {
    const session = await wrist.session({ agent, plain: true });
    await full();
    for (const times of [first, second]) {
      const began = performance.now();
      await session.tool("payload", { bytes: 1 });
      times.push((performance.now() - began) * 1000);
    }
    await session.close();
  }
  return median(first) - median(second);
}

export async function measureSessions({ many, say }) {
  say(`${many} sessions`);
  const redis = await startRedis();
  const wrist = await startWrist({ warm: WARM, maximum: 20_000, per_principal: 20_000, parallel_starts: 32, refill_rate: 100_000 }, redis.settings);
  const agent = new http.Agent({ keepAlive: true, maxSockets: LANES });
  const sessions = [];
  try {
    await openTo(wrist, sessions, FEW, agent);
    const few = await measure(wrist, sessions, agent);
    const kept = { few: await redis.info("memory", "used_memory") };
    const roundTripUs = roundTrip(redis);
    await openTo(wrist, sessions, many, agent);
    let all;
    const commands = await commandsOf(redis, async () => {
      all = await measure(wrist, sessions, agent);
    });
    kept.all = await redis.info("memory", "used_memory");
    const binds = await bindsApart(wrist, agent);
    const metrics = await wrist.metrics();
    if (metrics.wrist_bindings !== many) throw new Error(`${metrics.wrist_bindings} of ${many} sessions are bound`);
    const each = (what) => what / (all.count - few.count);
    return { few, all, each: each(all.bytes - few.bytes), redis: each(kept.all - kept.few), commands: commands / CALLS, roundTripUs, bindUs: binds };
  } finally {
    agent.destroy();
    await wrist.stop();
    await redis.stop();
  }
}
