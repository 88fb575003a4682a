// SPDX-License-Identifier: Apache-2.0
// Many first calls at once on a warm pool of real sandboxes; warm sandboxes that are not what they were.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { randomBytes } from "node:crypto";
import fs from "node:fs";
import http from "node:http";
import https from "node:https";
import { Wrist, full, isRoot, textOf, until } from "../harness/wrist.mjs";
import { leaked, percentile, row } from "../harness/faults.mjs";

const COUNT = Number(process.env.WRIST_WARM ?? (full ? 300 : 40));
const newId = () => randomBytes(16).toString("hex");
const small = { limits: { disk: "8MiB", inodes: 1024, memory: "128MiB" } };

let wrist;
before(async () => {
  wrist = await Wrist.start({
    profiles: { trial: { gateway: { warm: COUNT, maximum: 2 * COUNT, per_principal: 2 * COUNT, parallel_starts: 4, refill_rate: 100_000, on_loss: "end" }, driver: small } },
    driver: { sandboxes: 4 * COUNT },
  });
});
after(() => wrist?.stop());

const records = async (state) => (await wrist.sandboxes()).filter((r) => r.state === "running" && (state === "warm") === !r.note);
const warmPool = (count) => until(async () => (await records("warm")).length >= count && (await wrist.metrics())['wrist_sandboxes{profile="trial",state="warm"}'] >= count,
  `${count} warm sandboxes`, { timeout: 300_000, every: 100 });

// What as many binds take by themselves: sandboxes made through the driver, bound over their links
// one after the other. (The pop is a step of the gateway's own memory store: nothing is added for it.)
async function bindsAlone(count) {
  const made = [];
  for (let i = 0; i < count; i += 4)
    made.push(...await Promise.all(Array.from({ length: Math.min(4, count - i) }, async () => {
      const id = newId();
      const secret = randomBytes(32).toString("hex");
      const { json, status, text } = await wrist.driver("POST", "/v1/sandboxes", { id, fleet: "f".repeat(32), profile: "trial", generation: 1, secret, orphan_ms: 600_000 });
      assert.equal(status, 201, text);
      return { id, secret, path: json.endpoint.slice("unix:".length) };
    })));
  const bind = ({ path, secret }) => new Promise((resolve, reject) => {
    const request = http.request({ socketPath: path, method: "POST", path: "/bind", headers: { authorization: `Bearer ${secret}`, "content-type": "application/json" } },
      (response) => response.resume().on("end", () => (response.statusCode === 200 ? resolve() : reject(new Error(`bind: ${response.statusCode}`)))));
    request.on("error", reject);
    request.end(JSON.stringify({ principal: "a".repeat(64), session: newId(), generation: 1, idle_ms: 60_000, absolute_ms: 60_000 }));
  });
  const started = performance.now();
  for (const sandbox of made) await bind(sandbox);
  const took = performance.now() - started;
  for (const { id } of made) await wrist.driver("DELETE", `/v1/sandboxes/${id}?generation=1`);
  return took;
}

test(`${COUNT} simultaneous first calls on ${COUNT} warm sandboxes: one each, none waits for the driver`, async (t) => {
  await warmPool(COUNT);
  const alone = await bindsAlone(COUNT);
  await warmPool(COUNT);
  const agent = new https.Agent({ keepAlive: true, maxSockets: COUNT });
  const sessions = await Promise.all(Array.from({ length: COUNT }, () => wrist.session({ agent })));
  const before = await wrist.metrics();
  const wide = [];
  const tookEach = await Promise.all(sessions.map(async (session) => {
    const started = performance.now();
    // The worker answers this by itself, so that what is measured is the way to it.
    const answer = await session.tool("BashOutput", { shell_id: "none" });
    wide.push(answer);
    return performance.now() - started;
  }));
  for (const answer of wide) assert.match(textOf(answer), /no background shell/);
  const binds = await wrist.metrics();
  const found = (kind) => binds[`wrist_pool_binds_total{profile="trial",found="${kind}"}`] - before[`wrist_pool_binds_total{profile="trial",found="${kind}"}`];
  assert.equal(found("warm"), COUNT);
  assert.equal(found("cold"), 0);
  const p90 = percentile(tookEach, 0.9);
  t.diagnostic(`figure: ${COUNT} first calls at once: p90 ${p90.toFixed(1)} ms; ${COUNT} binds by themselves ${alone.toFixed(1)} ms in all (${(p90 / alone).toFixed(2)} x)`);
  assert.ok(p90 <= 3 * alone, `p90 ${p90} ms, ${COUNT} binds alone ${alone} ms`);
  const bound = new Set((await records("bound")).map((r) => r.id));
  await until(async () => (await records("bound")).length >= COUNT, "each to be noted as bound");
  assert.ok(bound.size <= COUNT);
  const gone = performance.now();
  for (const session of sessions) assert.equal((await session.close()).status, 204);
  agent.destroy();
  const rest = await leaked(wrist, COUNT, { timeout: 240_000 });
  row(`${COUNT} first calls at once`, { sessions: COUNT, recovered: performance.now() - gone, leaked: rest });
  assert.equal(rest, 0);
});

test("twenty parallel first calls of one session: one sandbox", async () => {
  await warmPool(2);
  const session = await wrist.session();
  const before = (await wrist.metrics())['wrist_pool_binds_total{profile="trial",found="warm"}'];
  const answers = await Promise.all(Array.from({ length: 20 }, (_, i) => session.tool("Bash", { command: `echo ${i} >> calls; cat /proc/sys/kernel/random/boot_id >/dev/null; stat -c %i .` })));
  assert.equal(new Set(answers.map((answer) => textOf(answer))).size, 1);
  assert.match(textOf(await session.tool("Bash", { command: "wc -l < calls" })), /^20/);
  assert.equal((await wrist.metrics())['wrist_pool_binds_total{profile="trial",found="warm"}'] - before, 1);
  await session.close();
});

test("warm sandboxes whose workers hang are not handed out; the call is served by another", { skip: !isRoot && "needs root" }, async () => {
  const hung = await Wrist.start({ profiles: { trial: { gateway: { warm: 2 }, driver: small } } });
  try {
    const rows = await until(async () => {
      const all = (await hung.sandboxes()).filter((r) => r.state === "running");
      return all.length === 2 && (await hung.metrics())['wrist_sandboxes{profile="trial",state="warm"}'] === 2 ? all : null;
    }, "two warm sandboxes");
    // The worker and all of its threads stop, as in a frozen cgroup; its socket still takes connections.
    const pid = Number(fs.readFileSync(`${hung.run}/driver/sandboxes/${rows[0].id}/pid`, "utf8"));
    const other = Number(fs.readFileSync(`${hung.run}/driver/sandboxes/${rows[1].id}/pid`, "utf8"));
    process.kill(pid, "SIGSTOP");
    process.kill(other, "SIGSTOP");
    const started = performance.now();
    const session = await hung.session();
    const answer = await session.tool("Bash", { command: "echo served" });
    assert.match(textOf(answer), /^served/);
    await until(async () => (await hung.sandboxes()).every((r) => !rows.some((old) => old.id === r.id)), "the hung ones to be removed");
    row("both warm sandboxes hang", { sessions: 1, recovered: performance.now() - started, leaked: await leaked(hung, 3) });
    await session.close();
  } finally {
    await hung.stop();
  }
});
