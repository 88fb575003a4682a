// SPDX-License-Identifier: Apache-2.0
// Many sessions on real sandboxes, at least twenty at once, dropped in every way, with the gateway and
// the driver killed in between: nothing may be left.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import { test } from "node:test";
import { Wrist, full, residue, sleep, textOf, until } from "../harness/wrist.mjs";

const TOTAL = Number(process.env.WRIST_SESSIONS ?? (full ? 1000 : 80));
const PARALLEL = 20;

function rssKiB(pid) {
  return Number(/VmRSS:\s+(\d+)/.exec(fs.readFileSync(`/proc/${pid}/status`, "utf8"))[1]);
}

// How a session is left; each returns once the client is done with it.
const ways = {
  async delete(session) {
    await session.close();
  },
  async idle() {},
  async "cut in a call"(session, wrist) {
    const controller = new AbortController();
    const call = fetch(`${wrist.url}/mcp`, { method: "POST", signal: controller.signal, headers: { authorization: `Bearer ${wrist.token}`,
      "content-type": "application/json", accept: "application/json, text/event-stream", "mcp-session-id": session.id },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "Bash", arguments: { command: "sleep 600 & setsid sleep 600", timeout: 5 } } }) })
      .catch(() => {}); // that is the cut
    await sleep(100);
    controller.abort();
    await call;
  },
  async "background children"(session) {
    await session.tool("Bash", { command: "(setsid sleep 600 &) ; nohup sleep 600 >/dev/null 2>&1 & echo left" });
  },
};

test(`${TOTAL} sessions leave nothing behind`, async (t) => {
  const wrist = await Wrist.start({
    profiles: { trial: { gateway: { warm: 4, maximum: 400, per_principal: 400, parallel_starts: 4, idle: "4s", absolute: "45s" },
      driver: { limits: { disk: "16MiB", inodes: 1024 } } } },
    gateway: { timeouts: { drain: "2s" } },
  });
  const names = Object.keys(ways);
  const counts = Object.fromEntries(names.map((name) => [name, 0]));
  let opened = 0;
  let failed = 0;
  let restarting = Promise.resolve();
  const memory = [];

  async function one(number) {
    const way = names[number % names.length];
    for (let attempt = 0; attempt < 5; attempt++) {
      await restarting;
      try {
        const session = await wrist.session();
        const answer = await session.tool("Bash", { command: `echo ${number} > n; cat n` });
        if ([429, 503].includes(answer.status) && answer.headers["retry-after"]) {
          // The driver is away, or all is full: what a client does with Retry-After.
          await sleep(1000 * Number(answer.headers["retry-after"]));
          throw new Error(textOf(answer));
        }
        if (!textOf(answer).startsWith(`${number}\n`)) throw new Error(textOf(answer));
        await ways[way](session, wrist);
        counts[way]++;
        return;
      } catch (error) {
        if (attempt === 4) {
          failed++;
          t.diagnostic(`figure: session ${number}: ${error.message.slice(0, 200)}`);
        }
        await sleep(200);
      }
    }
  }

  try {
    const clients = Array.from({ length: PARALLEL }, async () => {
      while (opened < TOTAL) {
        const number = opened++;
        await one(number);
        if (number % Math.ceil(TOTAL / 8) === 5) memory.push(rssKiB(wrist.processes.get("gateway")?.pid ?? process.pid));
      }
    });
    const killer = (async () => {
      for (const [at, name] of [[0.25, "gateway"], [0.45, "driver"], [0.65, "gateway"], [0.8, "driver"]]) {
        await until(() => opened >= TOTAL * at, "the next kill", { timeout: 3_600_000 });
        restarting = (async () => {
          await wrist.kill(name);
          await (name === "driver" ? wrist.startDriver() : wrist.startGateway());
        })();
        await restarting;
      }
    })();
    await Promise.all([...clients, killer]);
    t.diagnostic(`table: ${JSON.stringify(counts)}, failed ${failed}, gateway RSS over time ${memory.join(" ")} KiB`);
    assert.equal(failed, 0);
    // Everything but the warm ones goes by itself: the idle life is 4 s.
    const left = await until(async () => {
      const rows = await wrist.sandboxes();
      return rows.length <= 4 ? rows : null;
    }, "all but the warm sandboxes to be gone", { timeout: 120_000 });
    assert.ok(left.length <= 4);
    await wrist.kill("gateway", "SIGTERM");
    await wrist.deleteAll();
    await until(() => Object.values(residue(wrist)).every((rows) => rows.length === 0), "nothing to be left", { timeout: 20_000 })
      .catch(() => assert.deepEqual(residue(wrist), { workers: [], mounts: [], loops: [], cgroups: [] }));
    assert.equal(execFileSync("sh", ["-c", `ls -A ${wrist.run}/driver 2>/dev/null | grep -cE '^[0-9a-f]{32}$' || true`], { encoding: "utf8" }).trim(), "0");
  } finally {
    await wrist.stop();
  }
});
