// SPDX-License-Identifier: Apache-2.0
// What a live session costs the gateway, from 100 of them to 10,000. The workers are the bench's
// upstream: it answers binds and calls as workers do, each on its own socket, without a container.
import http from "node:http";

import { sleep } from "../harness/wrist.mjs";
import { startWrist } from "./gateway.mjs";
import { cpuTime, memory } from "./measure.mjs";

const FEW = 100;
const LANES = 16;
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

export async function measureSessions({ many, say }) {
  say(`${many} sessions`);
  const wrist = await startWrist({ warm: 32, maximum: 20_000, per_principal: 20_000, parallel_starts: 32, refill_rate: 100_000 });
  const agent = new http.Agent({ keepAlive: true, maxSockets: LANES });
  const sessions = [];
  try {
    await openTo(wrist, sessions, FEW, agent);
    const few = await measure(wrist, sessions, agent);
    await openTo(wrist, sessions, many, agent);
    const all = await measure(wrist, sessions, agent);
    const metrics = await wrist.metrics();
    if (metrics.wrist_bindings !== many) throw new Error(`${metrics.wrist_bindings} of ${many} sessions are bound`);
    return { few, all, each: (all.bytes - few.bytes) / (all.count - few.count) };
  } finally {
    agent.destroy();
    await wrist.stop();
  }
}
