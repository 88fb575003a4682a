// SPDX-License-Identifier: Apache-2.0
// The ways to a Redis: TLS with a user and a password from a file, a Cluster's node, a master that
// Sentinels name. Each with a real server, from a gateway that has given up its rights.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import net from "node:net";
import { after, test } from "node:test";
import { startReplicas } from "../harness/replicas.mjs";
import { freePort, isRoot, textOf, until } from "../harness/wrist.mjs";

const folder = fs.mkdtempSync(path.join(os.tmpdir(), "wrist-redis-"));
fs.chmodSync(folder, 0o755);
const children = [];
after(async () => {
  await Promise.all(children.map((child) => new Promise((resolve) => {
    child.socket?.destroy();
    if (child.exitCode !== null || child.signalCode !== null) return resolve();
    child.on("exit", resolve).kill("SIGKILL");
  })));
  fs.rmSync(folder, { recursive: true, force: true });
});

const profiles = { trial: { gateway: { warm: 1 } } };

async function assertServes(wrist) {
  const session = await wrist.session();
  assert.match(textOf(await session.tool("Bash", { command: "echo there" })), /there/);
  await session.close();
}

async function server(port, ...options) {
  const child = spawn("redis-server", ["--port", port, "--save", "", "--dir", folder, ...options], { stdio: "ignore" });
  children.push(child);
  await until(() => new Promise((resolve) => {
    const socket = net.connect(port, "127.0.0.1", () => resolve(socket.destroy()));
    socket.on("error", () => resolve(false));
  }), "redis to listen");
  return child;
}

// One command over TCP; the answer's bytes.
const ask = (port, line) => new Promise((resolve, reject) => {
  const socket = net.connect(port, "127.0.0.1", () => socket.write(`${line}\r\n`));
  socket.on("error", reject).once("data", (bytes) => {
    socket.destroy();
    resolve(String(bytes));
  });
});

// PI-172
test("TLS, a user of the ACL and a password file that changes", async () => {
  const port = await freePort();
  const password = path.join(folder, "password");
  fs.writeFileSync(password, "first\n");
  const { Wrist } = await import("../harness/wrist.mjs");
  const probe = new Wrist(); // for its certificate
  await probe.prepare();
  fs.rmSync(probe.folder, { recursive: true });
  const group = await startReplicas(1, { profiles,
    redis: ["--tls-port", String(port), "--tls-cert-file", probe.tls.cert, "--tls-key-file", probe.tls.key,
      "--tls-auth-clients", "no", "--user", "wrist", "on", ">first", "~{wrist*", "+@all"],
    gateway: { store: { url: `rediss://localhost:${port}/2`, user: "wrist", password_file: password, ca: probe.tls.cert } } });
  try {
    const [wrist] = group.all;
    await assertServes(wrist);
    await group.redis.ask("ACL", "SETUSER", "wrist", "<first", ">second");
    fs.writeFileSync(password, "second\n");
    await group.redis.ask("CLIENT", "KILL", "USER", "wrist");
    await until(async () => {
      const session = await wrist.session();
      const answer = await session.tool("Bash", { command: "true" });
      await session.close();
      return answer.status === 200;
    }, "the new password to be used");
  } finally {
    await group.stop();
  }
});

test("a Cluster: every key has its place in one slot", async () => {
  const port = await freePort();
  const node = await server(port, "--cluster-enabled", "yes", "--cluster-config-file", path.join(folder, "nodes"),
    "--cluster-port", String(await freePort()));
  await ask(port, "CLUSTER ADDSLOTSRANGE 0 16383");
  await until(async () => (await ask(port, "CLUSTER INFO")).includes("cluster_state:ok"), "the cluster");
  const group = await startReplicas(1, { profiles, gateway: { store: { url: `redis://127.0.0.1:${port}`, cluster: true } } });
  try {
    await assertServes(group.all[0]);
  } finally {
    await group.stop();
    node.kill("SIGKILL");
  }
});

// A master, its replica, a real Sentinel, and a gateway that knows the Sentinel only.
async function startWithSentinel(name) {
  const [first, second, watch] = [await freePort(), await freePort(), await freePort()];
  const master = await server(first);
  await server(second, "--replicaof", "127.0.0.1", String(first));
  await until(async () => (await ask(second, "INFO replication").catch(() => "")).includes("master_link_status:up"), "the replica to follow");
  const config = path.join(folder, `${name}.conf`);
  fs.writeFileSync(config, `port ${watch}\ndir ${folder}\nsentinel monitor main 127.0.0.1 ${first} 1\n` +
    "sentinel down-after-milliseconds main 500\nsentinel failover-timeout main 3000\n");
  if (isRoot) fs.chmodSync(config, 0o600);
  children.push(spawn("redis-server", [config, "--sentinel"], { stdio: "ignore" }));
  await until(async () => (await ask(watch, "SENTINEL replicas main").catch(() => "")).includes(String(second)), "the Sentinel to know both", { timeout: 30_000 });
  const group = await startReplicas(1, { profiles, gateway: { store: { url: "redis://main", sentinels: [`localhost:${watch}`] } } });
  return { master, second, watch, group };
}

// What a Sentinel says on these channels: [[channel, when], …], growing.
async function listen(port, ...channels) {
  const heard = [];
  await new Promise((resolve, reject) => {
    const socket = net.connect(port, "127.0.0.1", () => socket.write(`SUBSCRIBE ${channels.join(" ")}\r\n`));
    socket.on("error", reject).on("data", (bytes) => {
      for (const [, channel] of String(bytes).matchAll(/message\r\n\$\d+\r\n(\S+)\r\n/g)) heard.push([channel, Date.now()]);
      resolve();
    });
    children.push({ exitCode: 0, socket: socket.unref() });
  });
  return heard;
}

// Nothing breaks here that would have the gateway look: it is the Sentinel's word that it follows.
test("a switch that a Sentinel tells is followed at once, while nothing fails", async (t) => {
  const { second, watch, group } = await startWithSentinel("told");
  try {
    const [wrist] = group.all;
    await assertServes(wrist);
    const heard = await listen(watch, "+promoted-slave", "+switch-master");
    const ears = async () => (await ask(watch, "CLIENT LIST")).match(/ sub=2 /g)?.length ?? 0;
    await until(async () => (await ears()) === 2, "the gateway to listen too");
    await ask(watch, "SENTINEL FAILOVER main");
    const told = await until(() => heard[0], "the Sentinel to tell", { timeout: 30_000, every: 5 });
    await until(async () => (await ask(second, "CLIENT LIST")).includes("cmd=evalsha"), "the gateway at the new master", { every: 10 });
    const took = Date.now() - told[1];
    t.diagnostic(`${took} ms after ${told[0]}`);
    assert.ok(took < 1000, `${took} ms after ${told[0]}`);
    await assertServes(wrist);
  } finally {
    await group.stop();
  }
});

// PI-152
test("a failover that Sentinels decide is followed within five seconds of the new master, without a restart", async () => {
  const { master, second, group } = await startWithSentinel("decided");
  try {
    const [wrist] = group.all;
    const session = await wrist.session();
    assert.match(textOf(await session.tool("Bash", { command: "echo kept > note; echo ok" })), /ok/);
    master.kill("SIGKILL");
    await until(async () => (await ask(second, "ROLE").catch(() => "")).includes("master"), "the replica to be promoted", { timeout: 30_000 });
    const began = Date.now();
    await until(async () => {
      const fresh = await wrist.session();
      const answer = await fresh.tool("Bash", { command: "true" });
      await fresh.close();
      return answer.status === 200;
    }, "new binds at the new master");
    assert.ok(Date.now() - began < 5000, `${Date.now() - began} ms`);
    assert.match(textOf(await session.tool("Bash", { command: "cat note" })), /kept/);
    await session.close();
  } finally {
    await group.stop();
  }
});
