// SPDX-License-Identifier: Apache-2.0
// How things are measured: pinned processes, their CPU time, h2load's rounds.
import { execFile, execFileSync, spawn } from "node:child_process";
import fs from "node:fs";
import http from "node:http";
import net from "node:net";
import os from "node:os";
import path from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);
export const GENERATOR_CORE = "0"; // with the upstream
export const PROXY_CORE = "1";

export const median = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];
export const percentile = (values, p) => {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * p))];
};

export const pin = (pid, core) => execFileSync("taskset", ["-acp", core, String(pid)], { stdio: "ignore" });

// Starts a program on a core. Its output is kept for the case that it fails.
export function start(core, program, args, options = {}) {
  const child = spawn("taskset", ["-c", core, program, ...args], { stdio: ["ignore", "pipe", "pipe"], ...options });
  child.text = "";
  for (const pipe of [child.stdout, child.stderr])
    pipe?.setEncoding("utf8").on("data", (text) => (child.text = (child.text + text).slice(-4000)));
  child.ended = new Promise((resolve) => child.on("exit", resolve));
  return child;
}

// CPU time in ns of all threads of a process.
export function cpuTime(pid) {
  let sum = 0;
  for (const task of fs.readdirSync(`/proc/${pid}/task`)) {
    const [ns] = fs.readFileSync(`/proc/${pid}/task/${task}/schedstat`, "utf8").split(" ");
    sum += Number(ns);
  }
  return sum;
}

export function memory(pid) {
  const kib = (name) => Number(fs.readFileSync(`/proc/${pid}/status`, "utf8").match(new RegExp(`${name}:\\s+(\\d+)`))[1]);
  return { now: kib("VmRSS") * 1024, peak: kib("VmHWM") * 1024 };
}

export async function portOpen(port) {
  return new Promise((resolve) => {
    const socket = net.connect(port, "127.0.0.1", () => resolve(socket.destroy() && true));
    socket.on("error", () => resolve(false));
  });
}

// One round: every answer must be a 2xx. target: {url, unix, h1, headers, pid}
export async function load(target, { requests, connections, body, latencies = false, answerBytes }) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "wrist-bench-"));
  const file = path.join(folder, "body");
  const log = path.join(folder, "log");
  fs.writeFileSync(file, body);
  const args = ["-c", GENERATOR_CORE, "h2load", "-n", String(requests), "-c", String(connections), "-m", "1", "-t", "1", "-d", file];
  if (target.h1) args.push("--h1");
  if (target.unix) args.push("-B", `unix:${target.unix}`);
  if (latencies) args.push(`--log-file=${log}`);
  const headers = { "content-type": "application/json", accept: "application/json, text/event-stream", ...target.headers };
  for (const [name, value] of Object.entries(headers)) args.push("-H", `${name}: ${value}`);
  try {
    const before = target.pid ? cpuTime(target.pid) : 0;
    const { stdout } = await run("taskset", [...args, target.url], { maxBuffer: 64 << 20, timeout: 120_000 });
    const cpu = target.pid ? (cpuTime(target.pid) - before) / requests / 1000 : 0;
    const good = Number(stdout.match(/status codes: (\d+) 2xx/)[1]);
    if (good !== requests) throw new Error(`${target.name}: ${good} of ${requests} requests were answered\n${stdout}`);
    const data = Number(stdout.match(/\((\d+)\) data/)[1]);
    const asked = answerBytes ?? JSON.parse(body).params.arguments.bytes;
    if (data < good * asked) throw new Error(`${target.name}: ${data} bytes came for ${good} answers of ${asked}`);
    const rate = Number(stdout.match(/finished in .*?, ([\d.]+) req\/s/)[1]);
    const times = latencies ? fs.readFileSync(log, "utf8").trim().split("\n").map((line) => Number(line.split("\t")[2])) : [];
    return { rate, cpu, p50: percentile(times, 0.5), p99: percentile(times, 0.99) };
  } finally {
    fs.rmSync(folder, { recursive: true });
  }
}

// Full handshakes, one after the other: {rate, cpu} with the server's CPU time of each in µs.
export async function handshakes(target, seconds) {
  const before = cpuTime(target.pid);
  const { stdout } = await run("taskset", ["-c", GENERATOR_CORE, "openssl", "s_time", "-connect", `127.0.0.1:${target.port}`, "-new", "-time", String(seconds)]);
  const spent = cpuTime(target.pid) - before;
  const [, count, real] = stdout.match(/(\d+) connections in (\d+) real seconds/);
  return { rate: Number(count) / Number(real), cpu: spent / Number(count) / 1000 };
}

// The same for servers that match answers to calls by id alone: h2load sends one id only.
export async function loadWithIds(target, { requests, connections, body }) {
  const agent = new http.Agent({ keepAlive: true, maxSockets: connections });
  const message = JSON.parse(body);
  const headers = { "content-type": "application/json", accept: "application/json, text/event-stream", ...target.headers };
  let next = 0;
  const times = [];
  const one = (id) => new Promise((resolve, reject) => {
    const begin = process.hrtime.bigint();
    const request = http.request(target.url, { method: "POST", agent, headers }, (response) => {
      if (response.statusCode !== 200) reject(new Error(`${target.name}: ${response.statusCode}`));
      response.on("error", reject).on("end", () => resolve(times.push(Number(process.hrtime.bigint() - begin) / 1000))).resume();
    });
    request.on("error", reject).setTimeout(60_000, () => request.destroy(new Error(`${target.name}: no answer`)));
    request.end(JSON.stringify({ ...message, id }));
  });
  const lane = async () => {
    while (next < requests) await one(`bench-${process.pid}-${++next}`);
  };
  const cpu = cpuTime(target.pid);
  const begin = process.hrtime.bigint();
  await Promise.all(Array.from({ length: connections }, lane));
  const seconds = Number(process.hrtime.bigint() - begin) / 1e9;
  agent.destroy();
  return { rate: requests / seconds, cpu: (cpuTime(target.pid) - cpu) / requests / 1000, p50: percentile(times, 0.5), p99: percentile(times, 0.99) };
}
