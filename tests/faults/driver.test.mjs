// SPDX-License-Identifier: Apache-2.0
// A driver that hangs, fails, or lies about success. It is made for the test and answers on the
// driver's socket; its sandboxes, where it makes any, are real wrist-workers without a container.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { spawn } from "node:child_process";
import fs from "node:fs";
import http from "node:http";
import net from "node:net";
import path from "node:path";
import { Wrist, bin, isRoot, textOf, until } from "../harness/wrist.mjs";
import { row } from "../harness/faults.mjs";

const COMMAND_UID = 54321;

// How it behaves is changed under the gateway: {create, remove}, each "well" or a way to misbehave.
class FakeDriver {
  constructor(folder) {
    this.folder = folder;
    this.mode = { create: "well", remove: "well" };
    this.records = new Map();
    this.readers = new Set();
    this.asked = { create: 0, remove: 0 };
    this.hung = new Set();
  }

  listen(socket) {
    this.server = http.createServer((request, response) => {
      let body = "";
      request.on("data", (part) => (body += part)).on("end", () => this.serve(request, response, body));
    });
    return new Promise((resolve) => this.server.listen(socket, () => {
      fs.chmodSync(socket, 0o777);
      resolve();
    }));
  }

  answer(response, status, value) {
    response.writeHead(status, { "content-type": "application/json" }).end(value === undefined ? "" : JSON.stringify(value));
  }

  fail(response, status, fault, message) {
    this.answer(response, status, { error: { fault, message } });
  }

  serve(request, response, body) {
    const url = new URL(request.url, "http://driver");
    const id = url.pathname.split("/")[3];
    if (url.pathname === "/v1/profiles") return this.answer(response, 200, { profiles: [{ name: "trial", digest: `sha256:${"5".repeat(64)}`, revision: "1" }] });
    if (url.pathname === "/v1/events") {
      response.writeHead(200, { "content-type": "application/x-ndjson" }).write('{"event":"hello"}\n');
      this.readers.add(response);
      response.on("close", () => this.readers.delete(response));
      return undefined;
    }
    if (request.method === "GET") return this.answer(response, 200, { sandboxes: [...this.records.values()].map((r) => r.record) });
    if (request.method === "PUT") {
      if (this.records.has(id)) this.records.get(id).record.note = JSON.parse(body).note;
      return this.answer(response, 204);
    }
    return request.method === "POST" ? this.create(response, JSON.parse(body)) : this.remove(response, id);
  }

  create(response, order) {
    this.asked.create++;
    const record = { id: order.id, fleet: order.fleet, profile: order.profile, generation: order.generation, state: "running",
      created_ms: Date.now(), endpoint: `unix:${this.folder}/${order.id}.sock`, digest: `sha256:${"5".repeat(64)}`, revision: "1" };
    switch (this.mode.create) {
      case "hang":
        this.hung.add(response);
        return undefined;
      case "fail":
        return this.fail(response, 500, "INTERNAL", "image sha256:77 cannot be unpacked: no space left on device");
      case "lie": // success, and nothing is there
        this.records.set(order.id, { record });
        return this.answer(response, 201, record);
      case "lie about which": { // success, and it is somebody else's
        const other = [...this.records.values()].find((r) => r.child);
        this.records.set(order.id, { record: { ...record, endpoint: other.record.endpoint } });
        return this.answer(response, 201, this.records.get(order.id).record);
      }
      default:
        return this.make(order, record).then(() => this.answer(response, 201, record));
    }
  }

  // As PID 1 of a pid namespace: the socket on fd 3, the start document on fd 4.
  async make(order, record) {
    const socket = record.endpoint.slice("unix:".length);
    const workspace = path.join(this.folder, `${order.id}.d`);
    fs.mkdirSync(workspace);
    fs.chownSync(workspace, COMMAND_UID, COMMAND_UID);
    const server = net.createServer();
    await new Promise((resolve) => server.listen(`${socket}.new`, resolve));
    const child = spawn("unshare", ["-pf", "--mount-proc", "--kill-child", path.join(bin, "wrist-worker")], { stdio: ["ignore", "ignore", "pipe", server._handle.fd, "pipe"] });
    child.stdio[4].end(JSON.stringify({
      sandbox: { id: order.id, profile: order.profile, generation: order.generation, secret: order.secret, orphan_ms: order.orphan_ms, grace_ms: 1000,
        worker_uid: 0, worker_gid: 0, command_uid: COMMAND_UID, command_gid: COMMAND_UID, workspace, inputs: "" },
      limits: { processes: 200, file_bytes: 1 << 30, open_files: 1024, memory_bytes: 0 }, exports: { bytes: 1 << 30 }, isolation: { isolation: "full", workspace_access: "write" } }));
    let said = "";
    child.stderr.setEncoding("utf8").on("data", (part) => (said += part));
    await until(() => said.includes("worker.ready"), "a worker to be ready");
    fs.chmodSync(`${socket}.new`, 0o777);
    server._handle.unref();
    fs.renameSync(`${socket}.new`, socket); // closing the server takes the other path away
    server.close();
    child.on("exit", () => {
      for (const stream of child.stdio) stream?.destroy();
      const entry = this.records.get(order.id);
      if (entry) entry.record.state = "exited";
      for (const reader of this.readers)
        reader.write(`${JSON.stringify({ event: "exited", id: order.id, generation: order.generation, reason: "ended" })}\n`);
    });
    this.records.set(order.id, { record, child, end: () => this.end(child) });
  }

  // The worker itself: what unshare sets up for its child's end is lost when the worker gives up rights.
  end(child) {
    for (const pid of fs.readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, "utf8").trim().split(" ").filter(Boolean))
      process.kill(Number(pid), "SIGKILL");
  }

  remove(response, id) {
    this.asked.remove++;
    const entry = this.records.get(id);
    if (this.mode.remove === "fail") return this.fail(response, 500, "IO", "device or resource busy");
    if (this.mode.remove === "hang") {
      this.hung.add(response);
      return undefined;
    }
    if (this.mode.remove !== "lie") { // lying: gone, and it is not
      if (entry?.child?.exitCode === null) entry.end();
      this.records.delete(id);
    }
    return this.answer(response, 204);
  }

  letGo() {
    for (const response of this.hung) this.fail(response, 503, "UNAVAILABLE", "given up");
    this.hung.clear();
  }

  close() {
    for (const { child, end } of this.records.values()) if (child?.exitCode === null) end();
    this.server?.closeAllConnections();
    this.server?.close();
  }
}

class WithFake extends Wrist {
  async startDriver() {
    this.fake = new FakeDriver(this.run);
    await this.fake.listen(`${this.run}/driver.sock`);
  }

  async stop() {
    this.fake?.close();
    await super.stop();
  }
}

let wrist;
let fake;
before(async () => {
  wrist = await WithFake.start({ profiles: { trial: { gateway: { warm: 1, start_timeout: "1500ms", parallel_starts: 2 } } } });
  fake = wrist.fake;
});
after(() => wrist?.stop());

const skip = !isRoot && "needs root";
const metric = async (name) => (await wrist.metrics())[name];
const warm = (count = 1) => until(async () => await metric('wrist_sandboxes{profile="trial",state="warm"}') >= count, "a warm sandbox", { timeout: 40_000 });
const bash = (session, command) => session.tool("Bash", { command });
// Takes the warm one, so that the next has to be started.
async function eat() {
  await warm();
  const session = await wrist.session();
  const answer = await bash(session, "echo eaten");
  assert.match(textOf(answer), /^eaten/);
  return session;
}
async function served() {
  const started = performance.now();
  await until(async () => {
    const session = await wrist.session();
    const answer = await bash(session, "echo served");
    return /^served/.test(textOf(answer));
  }, "a session to be served", { timeout: 40_000, every: 200 });
  return performance.now() - started;
}

// PI-191, PI-203
test("a start that fails is told within seconds, with the driver's words and when to come again", { skip }, async () => {
  await warm();
  fake.mode.create = "fail";
  const first = await eat();
  const session = await wrist.session();
  const started = performance.now();
  const answer = await bash(session, "true");
  assert.equal(answer.status, 503);
  assert.match(answer.text, /no space left on device/);
  assert.ok(Number(answer.headers["retry-after"]) >= 1);
  assert.ok(performance.now() - started < 5000);
  assert.equal((await session.call("tools/list")).status, 200); // the card needs no sandbox
  assert.match(textOf(await bash(first, "echo bound")), /^bound/);
  assert.ok(await metric('wrist_pool_start_failures{profile="trial"}') > 0);
  const pools = (await wrist.admin("/pools")).json;
  assert.match(pools.pools[0].trouble, /no space left on device/);
  assert.ok(wrist.logs.gateway.some((line) => line.event === "pool.start" && /no space left/.test(line.error ?? JSON.stringify(line))));
  const before = fake.asked.create;
  fake.mode.create = "well";
  const recovered = await served();
  assert.ok(fake.asked.create - before < 20);
  await warm();
  assert.equal((await wrist.admin("/pools")).json.pools[0].trouble, undefined);
  row("the driver fails every start", { sessions: 1, recovered, leaked: fake.records.size - await alive() });
});

// How many sandboxes the gateway knows of.
async function alive() {
  const metrics = await wrist.metrics();
  return Object.entries(metrics).filter(([name]) => name.startsWith("wrist_sandboxes{")).reduce((sum, [, value]) => sum + value, 0);
}

test("a driver that hangs: bound sessions are served, the waiting call is given up at the start deadline", { skip }, async () => {
  fake.mode.create = "hang";
  const first = await eat();
  const session = await wrist.session();
  const started = performance.now();
  const answer = await bash(session, "true");
  const took = performance.now() - started;
  assert.ok([503, 504].includes(answer.status) || answer.json?.error, answer.text);
  assert.ok(took < 6000, `${took} ms`);
  assert.match(textOf(await bash(first, "echo bound")), /^bound/);
  fake.mode.create = "well";
  fake.letGo();
  const recovered = await served();
  await warm();
  row("the driver hangs", { sessions: 1, recovered, leaked: fake.records.size - await alive() });
});

for (const [mode, name] of [["lie", "nothing is there"], ["lie about which", "it is somebody else's sandbox"]])
  test(`a driver that says that it made a sandbox where ${name}: nobody gets it`, { skip }, async () => {
    const first = await eat();
    await warm();
    fake.mode.create = mode;
    const second = await eat();
    const session = await wrist.session();
    const answer = await bash(session, "echo whose > mine; ls");
    assert.equal(answer.json?.result, undefined, answer.text);
    assert.equal(answer.status, 503);
    for (const bound of [first, second]) assert.doesNotMatch(textOf(await bash(bound, "ls")), /mine/);
    fake.mode.create = "well";
    const recovered = await served();
    await warm();
    await until(async () => fake.records.size === await alive(), "what was made up to be removed");
    row(`the driver lies: ${name}`, { sessions: 1, recovered, leaked: fake.records.size - await alive() });
  });

test("a driver that says that it removed what still runs: the gateway comes back to it", { skip }, async () => {
  const session = await eat();
  await warm();
  fake.mode.remove = "lie";
  const before = fake.asked.remove;
  const started = performance.now();
  assert.equal((await session.close()).status, 204);
  await until(() => fake.asked.remove > before, "the removal to be asked");
  assert.equal((await bash(session, "true")).status, 404);
  fake.mode.remove = "well";
  // The next time its stream of events stands again, the lists are compared.
  for (const reader of fake.readers) reader.destroy();
  await until(async () => fake.records.size === await alive(), "the lists to agree again");
  assert.equal((await bash(session, "true")).status, 404);
  row("the driver lies about a removal", { sessions: 1, recovered: performance.now() - started, leaked: fake.records.size - await alive() });
});

test("a driver that cannot remove: the session is over at once, its place is free, and the removal goes on", { skip }, async () => {
  const session = await eat();
  await warm();
  fake.mode.remove = "fail";
  const started = performance.now();
  assert.equal((await session.close()).status, 204);
  assert.equal((await bash(session, "true")).status, 404);
  await until(() => wrist.logs.gateway.filter((line) => line.event === "sandbox.remove").length >= 4, "four tries", { timeout: 15_000 });
  assert.equal((await wrist.admin("/pools")).json.pools[0].stuck, 1);
  fake.mode.remove = "well";
  await until(async () => (await wrist.admin("/pools")).json.pools[0].stuck === 0, "the removal to work", { timeout: 15_000 });
  row("the driver cannot remove", { sessions: 1, recovered: performance.now() - started, leaked: fake.records.size - await alive() });
});
