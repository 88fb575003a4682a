// SPDX-License-Identifier: Apache-2.0
// The sockets that the gateway listens on: passed in by a supervisor, without descriptors left, and
// with more connections than it may have.
import assert from "node:assert/strict";
import fs from "node:fs";
import http2 from "node:http2";
import https from "node:https";
import net from "node:net";
import { after, test } from "node:test";
import { Wrist, sleep, textOf, until } from "../harness/wrist.mjs";

const running = [];
after(async () => {
  for (const wrist of running) await wrist.stop();
});
async function start(options) {
  const wrist = await Wrist.start(options);
  running.push(wrist);
  return wrist;
}

const pidOf = (wrist) => wrist.processes.get("gateway").pid;
const events = (wrist, event) => wrist.logs.gateway.filter((line) => line.event === event);
function cpuMs(pid) {
  const fields = fs.readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1].split(" ");
  return (Number(fields[11]) + Number(fields[12])) * 10; // in ticks of 1/100 s
}

function get(connection, target) {
  return new Promise((resolve, reject) => {
    const stream = connection.request({ ":path": target });
    stream.on("response", (head) => {
      stream.close();
      resolve(head[":status"]);
    });
    stream.on("error", reject);
  });
}

// Sockets that knock and then say nothing: {open(), close()}.
function crowd(port) {
  const sockets = [];
  return {
    sockets,
    open(count, localAddress = "127.0.0.1") {
      for (let i = 0; i < count; i++)
        sockets.push(net.connect({ port, host: "127.0.0.1", localAddress }).on("error", () => {}).on("close", function () {
          this.gone = true;
        }));
    },
    alive: () => sockets.filter((socket) => !socket.gone).length,
    close: () => sockets.forEach((socket) => socket.destroy()),
  };
}

test("a socket that was passed in is served, and is the supervisor's to close", async () => {
  const server = net.createServer();
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const wrist = new Wrist({});
  running.push(wrist);
  await wrist.prepare();
  wrist.gatewayConfig.listen.push({ address: "fd:3", tls: false });
  fs.writeFileSync(`${wrist.folder}/gateway.yaml`, JSON.stringify(wrist.gatewayConfig));
  await wrist.startDriver();
  wrist.inherited = { gateway: [server._handle.fd] };
  await wrist.startGateway();
  wrist.plainUrl = `http://127.0.0.1:${server.address().port}`;
  await new Promise((resolve) => server.close(resolve)); // Node would accept on it too
  const session = await wrist.session({ plain: true });
  assert.equal((await session.call("ping")).status, 200);
});

test("without descriptors nobody new is let in until one is closed; it says so once and does not spin", async () => {
  // So few that even the places that it keeps for itself are not there.
  const roomy = await start();
  const files = fs.readdirSync(`/proc/${pidOf(roomy)}/fd`).length + 2;
  const wrist = await start({ launch: { gateway: ["prlimit", `--nofile=${files}:${files}`] }, gateway: { timeouts: { head: "60s" } } });
  const pid = pidOf(wrist);
  const kept = http2.connect(wrist.plainUrl);
  assert.equal(await get(kept, "/nowhere"), 404);
  const others = crowd(wrist.plainPort);
  others.open(40);
  await until(() => events(wrist, "listener.starved").length > 0, "the gateway to say that it is starved");
  const before = cpuMs(pid);
  await sleep(2000);
  assert.ok(cpuMs(pid) - before <= 200, `${cpuMs(pid) - before} ms of CPU in two seconds of waiting`);
  assert.equal(events(wrist, "listener.starved").length, 1);
  assert.equal(await get(kept, "/nowhere"), 404, "who was in is served");
  others.close();
  const late = () => new Promise((resolve) => {
    const socket = net.connect({ port: wrist.plainPort, host: "127.0.0.1" }, () => socket.write("GET / HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n"));
    socket.on("data", (part) => resolve(part.toString()) || socket.destroy()).on("error", () => resolve("")).on("close", () => resolve(""));
  });
  await until(async () => /^HTTP\/1\.1 40[14] /.test(await late()), "somebody new to be let in");
  kept.close();
});

test("clients never get all descriptors: who is in reaches a new sandbox beside a crowd that wants them", async () => {
  const wrist = await start({ launch: { gateway: ["prlimit", "--nofile=256:256"] }, gateway: { timeouts: { head: "60s" } } });
  assert.equal(events(wrist, "listener.limited").length, 1, "it says that it may not have so many");
  const agent = new https.Agent({ keepAlive: true, maxSockets: 1 });
  const session = await wrist.session({ agent });
  const others = crowd(wrist.plainPort), more = crowd(wrist.port);
  try {
    others.open(300);
    more.open(300);
    await until(() => others.alive() < 200 && more.alive() < 200, "the crowd to be cut down");
    for (let i = 0; i < 3; i++) {
      const one = await wrist.session({ agent });
      assert.match(textOf(await one.tool("Bash", { command: "echo reached" })), /^reached/);
    }
    assert.match(textOf(await session.tool("Bash", { command: "echo reached" })), /^reached/);
    assert.equal(events(wrist, "listener.starved").length, 0);
  } finally {
    others.close();
    more.close();
    agent.destroy();
  }
});

test("connections are limited for each address and in all; who is connected goes on", async () => {
  const wrist = await start({ gateway: { timeouts: { head: "60s" }, limits: { connections_per_address: 20, connections: 50 } } });
  const kept = http2.connect(wrist.plainUrl);
  assert.equal(await get(kept, "/nowhere"), 404);
  const others = crowd(wrist.plainPort);
  try {
    others.open(30);
    await until(() => others.alive() === 19, "all but nineteen of them to be closed"); // and the one that is kept
    others.open(30, "127.0.0.2");
    await until(() => others.alive() === 39, "twenty more of another address");
    others.open(30, "127.0.0.3");
    await until(() => others.alive() === 49, "ten of a third, and fifty in all");
    const metrics = await wrist.metrics();
    assert.equal(metrics.wrist_connections, 50);
    assert.equal(await get(kept, "/nowhere"), 404);
    const told = events(wrist, "http.hostile");
    assert.deepEqual([...new Set(told.map((line) => line.kind))], ["too_many_connections"]);
    assert.ok(told.length <= 41 && told.length >= 20, `${told.length} lines for 41 refusals`);
  } finally {
    others.close();
  }
  await until(async () => (await wrist.metrics()).wrist_connections === 1, "the crowd to be gone");
  const again = crowd(wrist.plainPort);
  again.open(10);
  await until(async () => (await wrist.metrics()).wrist_connections === 11, "there to be room again");
  again.close();
  kept.close();
});
