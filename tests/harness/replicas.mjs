// SPDX-License-Identifier: Apache-2.0
// Several gateways beside one driver, on a real redis-server of the test's own.
import { execFileSync, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import fs from "node:fs";
import net from "node:net";
import path from "node:path";
import { bin, freePort, isRoot, until, Wrist } from "./wrist.mjs";

const commandOf = (words) => `*${words.length}\r\n${words.map((word) => `$${Buffer.byteLength(String(word))}\r\n${word}\r\n`).join("")}`;

export class RedisServer {
  constructor(folder) {
    this.folder = folder;
    this.socket = path.join(folder, "redis.sock");
  }

  async start(...options) {
    this.child = spawn("redis-server", ["--port", "0", "--unixsocket", this.socket, "--unixsocketperm", "777",
      "--save", "", "--dir", this.folder, ...options], { stdio: "ignore" });
    this.child.ended = new Promise((resolve) => this.child.on("exit", resolve));
    await until(() => this.ask("PING").catch(() => null), "redis to answer");
  }

  // One command; integers and single strings as such, the rest as the lines of the answer.
  ask(...words) {
    return new Promise((resolve, reject) => {
      let text = "";
      const socket = net.connect(this.socket, () => socket.write(commandOf(words)));
      socket.setTimeout(3000, () => socket.destroy(new Error("redis is silent")));
      socket.on("error", reject);
      socket.setEncoding("utf8").on("data", (part) => {
        text += part;
        if (!text.endsWith("\r\n")) return;
        const count = /^\*(\d+)\r\n/.exec(text);
        const lines = text.split("\r\n").slice(0, -1);
        if (count && lines.length < 1 + 2 * Number(count[1])) return;
        if (text.startsWith("$") && text !== "$-1\r\n" && lines.length < 2) return;
        socket.destroy();
        if (text.startsWith(":")) resolve(Number(text.slice(1)));
        else if (text.startsWith("-")) reject(new Error(text));
        else if (count) resolve(lines.slice(1).filter((_, i) => i % 2 === 1));
        else resolve(text.startsWith("$") ? lines[1] : lines[0].slice(1));
      });
    });
  }

  keys() {
    return this.ask("KEYS", "*");
  }

  // An answer that is one long text, whole.
  text(...words) {
    return new Promise((resolve, reject) => {
      let bytes = Buffer.alloc(0);
      const socket = net.connect(this.socket, () => socket.write(commandOf(words)));
      socket.on("error", reject).on("data", (part) => {
        bytes = Buffer.concat([bytes, part]);
        const head = bytes.indexOf("\r\n");
        const size = Number(bytes.subarray(1, head));
        if (head < 0 || bytes.length < head + 4 + size) return;
        socket.destroy();
        resolve(bytes.subarray(head + 2, head + 2 + size).toString());
      });
    });
  }

  async kill(signal = "SIGKILL") {
    if (this.child?.exitCode !== null || this.child.signalCode !== null) return;
    this.child.kill(signal);
    if (signal === "SIGSTOP" || signal === "SIGCONT") return;
    await this.child.ended;
    fs.rmSync(this.socket, { force: true });
  }
}

// A gateway more, beside another Wrist's driver: same tokens, fleet, ring and store, ports of its own.
class Replica extends Wrist {
  constructor(first, name) {
    super(first.options);
    Object.assign(this, { first, name, folder: path.join(first.folder, name), tls: first.tls, tokens: first.tokens, token: first.token });
    this.logs = { gateway: [], driver: first.logs.driver };
  }

  async prepare() {
    this.run = path.join(this.folder, "run");
    fs.mkdirSync(this.run, { recursive: true });
    fs.chmodSync(this.folder, 0o755);
    fs.mkdirSync(path.join(this.folder, "gateway"), { mode: 0o700 });
    if (isRoot) fs.chownSync(path.join(this.folder, "gateway"), 65534, 65534);
    this.port = await freePort();
    this.plainPort = await freePort();
    this.url = `https://127.0.0.1:${this.port}`;
    this.plainUrl = `http://127.0.0.1:${this.plainPort}`;
    const config = { ...this.first.gatewayConfig,
      listen: [
        { address: `127.0.0.1:${this.port}`, certificate: this.tls.cert, key: this.tls.key },
        { address: `127.0.0.1:${this.plainPort}`, tls: false },
      ],
      admin: `unix:${this.run}/admin.sock`,
      state: path.join(this.folder, "gateway") };
    fs.writeFileSync(path.join(this.folder, "gateway.yaml"), JSON.stringify(config, null, 1));
  }

  driver(method, target, body) {
    return this.first.driver(method, target, body);
  }

  async stop() {
    await this.kill("gateway", "SIGTERM");
  }
}

// {redis, all: [Wrist, …], stop()}. The first has the driver.
export async function startReplicas(count, options = {}) {
  const first = new Wrist({ ...options });
  const all = [first];
  const group = { all, redis: undefined, async stop() {
    await Promise.all(all.slice(1).map((replica) => replica.stop()));
    await group.redis?.kill("SIGCONT");
    await group.redis?.kill();
    await first.stop();
  } };
  try {
    // The folder is needed before the configuration that names it.
    const write = first.writeConfig;
    first.writeConfig = () => {
      const keyring = path.join(first.folder, "keyring");
      if (!fs.existsSync(keyring)) {
        execFileSync(path.join(bin, "wristctl"), ["keyring", "new", keyring], { stdio: "ignore" });
        if (isRoot) fs.chownSync(keyring, 65534, 65534);
      }
      group.redis ??= new RedisServer(first.folder);
      first.options.gateway = { fleet: randomBytes(16).toString("hex"), keyring,
        ...first.options.gateway, store: { url: `unix://${group.redis.socket}`, ...first.options.gateway?.store } };
      write.call(first);
    };
    await first.prepare();
    await group.redis.start(...(options.redis ?? []));
    await first.startDriver();
    for (let i = 1; i < count; i++) {
      const replica = new Replica(first, `replica${i}`);
      await replica.prepare();
      all.push(replica);
    }
    await Promise.all(all.map((replica) => replica.startGateway()));
  } catch (error) {
    await group.stop().catch(() => {});
    throw error;
  }
  return group;
}
