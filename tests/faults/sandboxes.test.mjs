// SPDX-License-Identifier: Apache-2.0
// Sandboxes killed under a call, and sessions that are opened, used and abandoned.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { execFileSync } from "node:child_process";
import https from "node:https";
import { Wrist, full, isRoot, sleep, textOf, until } from "../harness/wrist.mjs";
import { leaked, remains, row } from "../harness/faults.mjs";

const ABANDONED = Number(process.env.WRIST_ABANDONED ?? (full ? 3000 : 100));
const AT_ONCE = 20;

let wrist;
before(async () => {
  wrist = await Wrist.start({ profiles: { trial: { gateway: { warm: 1 }, driver: { limits: { disk: "16MiB", inodes: 1024, memory: "64MiB", pids: 64 } } } } });
});
after(() => wrist?.stop());

// A session whose sandbox is known: the one that was noted since.
async function bound(options) {
  const before = new Set((await wrist.sandboxes()).filter((r) => r.note).map((r) => r.id));
  const session = await wrist.session(options);
  await session.tool("Bash", { command: "echo here > file" });
  const record = await until(async () => (await wrist.sandboxes()).find((r) => r.note && !before.has(r.id)), "the sandbox to be noted");
  return { session, record };
}

// The call that was cut says that it may have run; the next one that nothing ran; the one after works.
async function recovers(session, call, started) {
  const cut = await call;
  assert.equal(cut.status, 200);
  assert.match(cut.json.error?.message ?? textOf(cut), /may have run/);
  // While the kernel still takes the sandbox down, a call can meet it: refused, or cut as well.
  let told = await session.tool("Bash", { command: "echo ran > proof" });
  for (let tries = 0; tries < 3 && told.json.result === undefined; tries++) {
    assert.ok(told.status === 503 ? Number(told.headers["retry-after"]) >= 1 : /may have run/.test(told.json.error.message), told.text);
    told = await session.tool("Bash", { command: "echo ran > proof" });
  }
  assert.equal(told.json.result?.isError, true, told.text);
  assert.match(textOf(told), /gone/);
  assert.match(textOf(await session.tool("Bash", { command: "ls -A | wc -l" })), /^0/);
  return performance.now() - started;
}

// PI-203
test("runc kill under a call", { skip: !isRoot && "needs root" }, async () => {
  const { session, record } = await bound();
  const call = session.tool("Bash", { command: "echo started > proof; sleep 60" });
  await sleep(300);
  const started = performance.now();
  execFileSync("runc", ["--root", `${wrist.run}/driver/runtime`, "kill", record.id, "KILL"]);
  const recovered = await recovers(session, call, started);
  await session.close();
  row("runc kill under a call", { sessions: 1, recovered, leaked: await leaked(wrist, 1) });
});

test("out of memory under a call: the command dies, or the sandbox is lost and told as such", { skip: !isRoot && "needs root" }, async () => {
  const { session, record } = await bound();
  const started = performance.now();
  const answer = await session.tool("Bash", { command: "head -c 200m /dev/zero | tail -c 199m | wc -c; echo status $?" });
  const lost = answer.json.error !== undefined;
  if (lost) {
    assert.match(answer.json.error.message, /may have run/);
    assert.equal((await session.tool("Bash", { command: "true" })).json.result.isError, true);
  } else {
    // Commands are the first to go: the worker and the workspace stay.
    assert.doesNotMatch(textOf(answer), /^208666624/);
    assert.match(textOf(await session.tool("Bash", { command: "cat file" })), /^here/);
    assert.ok((await wrist.sandboxes()).some((r) => r.id === record.id));
  }
  assert.equal((await session.tool("Bash", { command: "true" })).json.result.isError ?? false, false);
  row(`out of memory under a call (${lost ? "sandbox lost" : "command killed"})`, { sessions: 1, recovered: performance.now() - started, leaked: 0 });
  await session.close();
  assert.equal(await leaked(wrist, 1), 0);
});

test("the whole sandbox out of memory: lost, told once and replaced", { skip: !isRoot && "needs root" }, async () => {
  const { session, record } = await bound();
  const call = session.tool("Bash", { command: "sleep 60" });
  await sleep(300);
  const started = performance.now();
  // The limit sinks under what the worker itself needs, so that the kernel takes the worker too.
  execFileSync("sh", ["-c", `for f in $(find /sys/fs/cgroup -path '*${record.id}*' \\( -name memory.max -o -name memory.limit_in_bytes \\)); do
    echo 1 > "$(dirname "$f")/memory.force_empty" 2>/dev/null || true; for try in 1 2 3; do echo 131072 > "$f" 2>/dev/null && break; done; done; true`]);
  const pid = Number(execFileSync("cat", [`${wrist.run}/driver/sandboxes/${record.id}/pid`], { encoding: "utf8" }));
  const gone = await until(() => {
    try {
      process.kill(pid, 0);
      return false;
    } catch {
      return true;
    }
  }, "the worker to be killed", { timeout: 3000 }).catch(() => false);
  if (!gone) process.kill(pid, "SIGKILL"); // a kernel that would not shrink below use: the end is the same
  const answer = await call; // the kernel may have taken the command before the worker
  assert.ok(answer.json.error === undefined || /may have run/.test(answer.json.error.message), answer.text);
  await until(() => wrist.logs.gateway.some((line) => line.event === "sandbox.ended" && line.sandbox === record.id && line.reason === "lost"), "the gateway to know");
  const told = await session.tool("Bash", { command: "echo ran > proof" });
  assert.equal(told.json.result?.isError, true, told.text);
  assert.match(textOf(told), /gone/);
  assert.match(textOf(await session.tool("Bash", { command: "ls -A | wc -l" })), /^0/);
  const recovered = performance.now() - started;
  await session.close();
  row("the whole sandbox out of memory", { sessions: 1, recovered, leaked: await leaked(wrist, 1) });
});

// PI-034, PI-182, PI-217
test(`${ABANDONED} sessions opened, used and abandoned: all end by their idle life, memory does not grow`, async (t) => {
  const left = await Wrist.start({ profiles: { trial: {
    gateway: { warm: 4, maximum: 400, per_principal: 400, parallel_starts: 4, refill_rate: 100_000, idle: "2s", absolute: "60s" },
    driver: { limits: { disk: "8MiB", inodes: 1024, memory: "64MiB" } } } } });
  try {
    let opened = 0;
    const gateway = left.processes.get("gateway").pid;
    const rss = () => Number(/VmRSS:\s+(\d+)/.exec(execFileSync("cat", [`/proc/${gateway}/status`], { encoding: "utf8" }))[1]);
    const memory = [];
    const client = async () => {
      while (opened < ABANDONED) {
        const number = opened++;
        if (number % Math.ceil(ABANDONED / 10) === 0) memory.push(rss());
        const agent = new https.Agent({ keepAlive: true });
        const session = await left.session({ agent });
        let answer;
        for (let tries = 0; tries < 20; tries++) {
          answer = await session.tool("Bash", { command: `echo ${number}` });
          if (![429, 503].includes(answer.status)) break;
          await sleep(1000 * Number(answer.headers["retry-after"] ?? 1));
        }
        assert.match(textOf(answer), new RegExp(`^${number}\n`));
        agent.destroy(); // the client is gone without a word
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, client));
    const started = performance.now();
    const rest = await leaked(left, 4, { timeout: 60_000 });
    const recovered = performance.now() - started;
    assert.equal(rest, 0);
    const metrics = await left.metrics();
    assert.equal(metrics.wrist_bindings, 0);
    assert.equal(metrics['wrist_sandboxes_ended_total{profile="trial",reason="idle"}'], ABANDONED);
    memory.push(rss());
    t.diagnostic(`table: gateway RSS over ${ABANDONED} sessions: ${memory.join(" ")} KiB`);
    const later = Math.max(...memory.slice(3, -1));
    assert.ok(memory.at(-1) <= later + 8192, `memory grew: ${memory.join(" ")} KiB`);
    assert.deepEqual(await remains(left), []);
    row(`${ABANDONED} sessions abandoned`, { sessions: ABANDONED, recovered, leaked: rest });
  } finally {
    await left.stop();
  }
});
