// SPDX-License-Identifier: Apache-2.0
// The worker's rows on real runc containers: calls straight over the link, and binds through Wrist.
import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";

import { bin, until, Wrist } from "../harness/wrist.mjs";
import { load, median, memory } from "./measure.mjs";

const WARM = 4;
const call = (name, args) => JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: args } });

// A sandbox of our own, so that its link secret is known.
async function openSandbox(wrist) {
  const secret = randomBytes(32).toString("hex");
  const id = randomBytes(16).toString("hex");
  const session = randomBytes(16).toString("hex");
  const made = await wrist.driver("POST", "/v1/sandboxes",
    { id, fleet: randomBytes(16).toString("hex"), profile: "trial", generation: 1, secret, orphan_ms: 600_000 });
  if (made.status !== 201) throw new Error(`create: ${made.status} ${made.text}`);
  const socket = made.json.endpoint.replace(/^unix:/, "");
  const headers = { authorization: `Bearer ${secret}`, "wrist-session": session, "wrist-reader": session, "mcp-protocol-version": "2025-11-25" };
  const post = async (target, body) => {
    const file = path.join(wrist.folder, "post.json");
    fs.writeFileSync(file, body);
    const lines = Object.entries({ ...headers, "content-type": "application/json", accept: "application/json, text/event-stream",
      "wrist-call": randomBytes(16).toString("hex") }).flatMap(([name, value]) => ["-H", `${name}: ${value}`]);
    return execFileSync("curl", ["-sS", "--unix-socket", socket, ...lines, "--data-binary", `@${file}`, `http://localhost${target}`], { encoding: "utf8" });
  };
  await post("/bind", JSON.stringify({ principal: "a".repeat(64), session, generation: 1, idle_ms: 600_000, absolute_ms: 3_600_000 }));
  const pid = Number(fs.readFileSync(path.join(path.dirname(socket), "pid"), "utf8"));
  return { post, pid, target: { name: "worker", unix: socket, url: "http://localhost/mcp", h1: true, headers } };
}

async function latency({ post, target }, body, requests, count) {
  const sample = await post("/mcp", body);
  if (!/"isError":false/.test(sample)) throw new Error(`worker: ${sample.slice(0, 300)}`);
  const all = [];
  for (let i = 0; i < count; i++)
    all.push(await load(target, { requests, connections: 1, body, latencies: true, answerBytes: sample.length }));
  return { p50: median(all.map((r) => r.p50)), p99: median(all.map((r) => r.p99)) };
}

async function timeBind(wrist) {
  const begin = process.hrtime.bigint();
  const session = await wrist.session({ plain: true });
  const answer = await session.tool("Glob", { pattern: "*" });
  const time = Number(process.hrtime.bigint() - begin) / 1000;
  if (answer.status !== 200 || answer.json?.result?.isError !== false) throw new Error(`bind: ${answer.text}`);
  return { time, session };
}

// The first binds take what is warm, up to `spare`; those after it find none.
async function timeBinds(wrist, count, spare) {
  const times = [];
  for (let i = 0; i < spare + count; i++) {
    const { time, session } = await timeBind(wrist);
    times.push(time);
    if (spare > 0) await session.close();
  }
  return median(times.slice(spare));
}

const ready = async (wrist) => (await wrist.sandboxes()).filter((s) => s.state === "running").length;

// The runtime's own create and start, of the same static binary in a bundle as `runc spec` makes it.
function timeRuntime(count) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "wrist-bench-"));
  const runc = (...args) => execFileSync("runc", ["--root", path.join(folder, "state"), ...args], { cwd: folder, stdio: "ignore" });
  try {
    fs.mkdirSync(path.join(folder, "rootfs"));
    fs.copyFileSync(path.join(bin, "wrist-worker"), path.join(folder, "rootfs/worker"));
    fs.chmodSync(path.join(folder, "rootfs/worker"), 0o755);
    runc("spec");
    const file = path.join(folder, "config.json");
    const spec = JSON.parse(fs.readFileSync(file));
    spec.process.terminal = false;
    spec.process.args = ["/worker", "--help"];
    fs.writeFileSync(file, JSON.stringify(spec));
    return median(Array.from({ length: count }, (_, i) => {
      const begin = process.hrtime.bigint();
      runc("create", `bench-${process.pid}-${i}`);
      runc("start", `bench-${process.pid}-${i}`);
      const time = Number(process.hrtime.bigint() - begin) / 1000;
      runc("delete", "--force", `bench-${process.pid}-${i}`);
      return time;
    }));
  } finally {
    fs.rmSync(folder, { recursive: true });
  }
}

export async function measureWorker({ count, say }) {
  const results = {};
  const start = (warm) => Wrist.start({ profiles: { trial: { gateway: { warm, per_principal: 64 } } }, gateway: { log_level: "warn" } });
  say("worker");
  let wrist = await start(WARM);
  try {
    const sandbox = await openSandbox(wrist);
    const lines = Array.from({ length: 50 }, (_, i) => `line ${i + 1} of a file that is read`).join("\n");
    await sandbox.post("/mcp", call("Write", { file_path: "/workspace/fifty.txt", content: lines }));
    results.read = await latency(sandbox, call("Read", { file_path: "/workspace/fifty.txt" }), 2000, count);
    results.bash = await latency(sandbox, call("Bash", { command: "true" }), 500, count);
    const answer = await sandbox.post("/mcp", call("Bash", { command: "head -c 400000000 /dev/zero | tr '\\0' x" }));
    if (!/"output_bytes":400000000/.test(answer)) throw new Error(`400 MB: ${answer.slice(0, 300)}`);
    results.peak = memory(sandbox.pid).peak;
    say("warm bind");
    await until(async () => (await ready(wrist)) >= WARM, "the warm sandboxes");
    results.warm = await timeBinds(wrist, 3, 0);
  } finally {
    await wrist.stop();
  }
  say("cold bind");
  wrist = await start(0);
  try {
    // One was started for the card.
    results.cold = await timeBinds(wrist, Math.max(count, 3), await ready(wrist));
    results.bare = timeRuntime(Math.max(count, 3));
  } finally {
    await wrist.stop();
  }
  return results;
}
