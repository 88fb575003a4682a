// SPDX-License-Identifier: Apache-2.0
// Starts the real wrist-driver and wrist-gateway for a test, in a folder and on ports of their own,
// and looks at what they leave behind.
import { execFileSync, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import fs from "node:fs";
import http from "node:http";
import https from "node:https";
import net from "node:net";
import os from "node:os";
import path from "node:path";
import tls from "node:tls";

export const root = process.env.WRIST_ROOT ?? path.resolve(import.meta.dirname, "../..");
export const bin = process.env.WRIST_BIN ?? path.join(root, "build/release/bin");
export const sanitized = bin.includes("/asan/"); // their memory says nothing about ours
export const full = process.env.WRIST_TESTS === "full";
export const isRoot = process.getuid() === 0;

export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

// Waits until `condition` gives something truthy, and returns it.
export async function until(condition, what, { timeout = 20_000, every = 25 } = {}) {
  const deadline = Date.now() + timeout;
  for (;;) {
    const value = await condition();
    if (value) return value;
    if (Date.now() > deadline) throw new Error(`waited ${timeout} ms in vain for: ${what}`);
    await sleep(every);
  }
}

export function freePort() {
  return new Promise((resolve, reject) => {
    const server = net.createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
    server.on("error", reject);
  });
}

// One certificate for all tests of a process; every TLS client of this process trusts it.
let certificate;
function makeCertificate() {
  if (certificate) return certificate;
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "wrist-cert-"));
  fs.chmodSync(folder, 0o755);
  const cert = path.join(folder, "cert.pem");
  const key = path.join(folder, "key.pem");
  execFileSync("openssl", ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
    "-nodes", "-days", "2", "-keyout", key, "-out", cert, "-subj", "/CN=localhost",
    "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"], { stdio: "ignore" });
  fs.chmodSync(key, 0o644); // the gateway reads it again after it gave up root
  tls.setDefaultCACertificates([...tls.getCACertificates("default"), fs.readFileSync(cert, "utf8")]);
  process.on("exit", () => fs.rmSync(folder, { recursive: true, force: true }));
  certificate = { cert, key };
  return certificate;
}

export class Wrist {
  // options.profiles: {name: {gateway: {...}, driver: {...}}}; options.tokens: rows without sha256;
  // options.gateway: further keys of the gateway's configuration; options.launch.gateway: a command
  // that starts it (prlimit, strace). `inherited.gateway`, where a test sets it: descriptors that become
  // 3, 4, … of that program.
  constructor(options = {}) {
    this.options = options;
    this.processes = new Map();
    this.logs = { gateway: [], driver: [] };
  }

  static async start(options) {
    const wrist = new this(options);
    try {
      await wrist.prepare();
      await wrist.startDriver();
      await wrist.startGateway();
    } catch (error) {
      await wrist.stop();
      throw error;
    }
    return wrist;
  }

  async prepare() {
    this.folder = fs.mkdtempSync(path.join(os.tmpdir(), "wrist-test-"));
    fs.chmodSync(this.folder, 0o755);
    this.run = path.join(this.folder, "run");
    for (const name of ["run", "gateway", "driver"])
      fs.mkdirSync(path.join(this.folder, name), { mode: name === "run" ? 0o755 : 0o700 });
    if (isRoot) fs.chownSync(path.join(this.folder, "gateway"), 65534, 65534);
    this.tls = makeCertificate();
    this.port = await freePort();
    this.plainPort = await freePort();
    this.url = `https://127.0.0.1:${this.port}`;
    this.plainUrl = `http://127.0.0.1:${this.plainPort}`;
    this.tokens = {};
    const rows = (this.options.tokens ?? [{ subject: "ann" }, { subject: "bob" }]).map((row) => {
      const token = `wrist_test-${row.subject}-${row.tenant ?? ""}`;
      this.tokens[row.subject] = token;
      return { sha256: createHash("sha256").update(token).digest("hex"), ...row };
    });
    this.token = Object.values(this.tokens)[0];
    const tokensFile = path.join(this.folder, "tokens.yaml");
    fs.writeFileSync(tokensFile, JSON.stringify({ tokens: rows }, null, 1));
    fs.chmodSync(tokensFile, 0o644);
    this.writeConfig();
  }

  writeConfig() {
    const profiles = this.options.profiles ?? { trial: {} };
    const mapped = (part, fallback) =>
      Object.fromEntries(Object.entries(profiles).map(([name, p]) => [name, { ...fallback, ...p[part] }]));
    this.gatewayConfig = {
      listen: [
        { address: `127.0.0.1:${this.port}`, certificate: this.tls.cert, key: this.tls.key },
        { address: `127.0.0.1:${this.plainPort}`, tls: false },
      ],
      admin: `unix:${this.run}/admin.sock`,
      driver: `unix:${this.run}/driver.sock`,
      tokens: path.join(this.folder, "tokens.yaml"),
      state: path.join(this.folder, "gateway"),
      default_profile: Object.keys(profiles)[0],
      profiles: mapped("gateway", {}),
      ...this.options.gateway,
    };
    this.driverConfig = {
      listen: `unix:${this.run}/driver.sock`,
      allowed_users: [isRoot ? "nobody" : os.userInfo().username],
      state_dir: path.join(this.folder, "driver"),
      run_dir: path.join(this.run, "driver"),
      cgroup_parent: `/${path.basename(this.folder)}`,
      profiles: mapped("driver", { trial: true, worker: path.join(bin, "wrist-worker"), ...(isRoot ? {} : { weak_isolation: true }) }),
      ...this.options.driver,
    };
    // JSON is YAML.
    fs.writeFileSync(path.join(this.folder, "gateway.yaml"), JSON.stringify(this.gatewayConfig, null, 1));
    fs.writeFileSync(path.join(this.folder, "driver.yaml"), JSON.stringify(this.driverConfig, null, 1));
  }

  spawn(name) {
    const [program, ...args] = [...(this.options.launch?.[name] ?? []), path.join(bin, `wrist-${name}`),
      "--config", path.join(this.folder, `${name}.yaml`)];
    const child = spawn(program, args, { stdio: ["ignore", "inherit", "pipe", ...(this.inherited?.[name] ?? [])] });
    let rest = "";
    child.stderr.setEncoding("utf8").on("data", (text) => {
      rest += text;
      const lines = rest.split("\n");
      rest = lines.pop();
      for (const line of lines) {
        try {
          this.logs[name].push(JSON.parse(line));
        } catch {
          this.logs[name].push({ level: "raw", event: line });
        }
      }
    });
    child.ended = new Promise((resolve) => child.on("exit", (code, signal) => {
      this.processes.delete(name);
      resolve({ code, signal });
    }));
    this.processes.set(name, child);
    return child;
  }

  failed(name) {
    const tail = this.logs[name].slice(-8).map((line) => JSON.stringify(line)).join("\n");
    return new Error(`wrist-${name} ended or did not get ready:\n${tail}`);
  }

  async startDriver() {
    this.spawn("driver");
    await until(async () => {
      if (!this.processes.has("driver")) throw this.failed("driver");
      return (await this.driver("GET", "/v1/profiles").catch(() => null))?.status === 200;
    }, "the driver to answer");
  }

  async startGateway({ ready = true } = {}) {
    this.spawn("gateway");
    try {
      await until(async () => {
        if (!this.processes.has("gateway")) throw this.failed("gateway");
        const answer = await this.admin(ready ? "/readyz" : "/healthz").catch(() => null);
        return answer?.status === 200;
      }, "the gateway to be ready", { timeout: 40_000 });
    } catch (error) {
      throw new Error(`${error.message}\n${this.failed("gateway").message}\n${this.failed("driver").message}`);
    }
  }

  async kill(name, signal = "SIGKILL") {
    const child = this.processes.get(name);
    if (!child) return undefined;
    child.kill(signal);
    return child.ended;
  }

  // Ends every sandbox through the driver's own API, then both programs, then the folder.
  async stop() {
    await this.kill("gateway", "SIGTERM");
    if (this.processes.has("driver")) await this.deleteAll().catch(() => {});
    await this.kill("driver", "SIGTERM");
    if (this.folder) fs.rmSync(this.folder, { recursive: true, force: true });
    // A sanitizer's report is no log line of ours; a test that went well all the same has failed.
    const report = Object.values(this.logs).flat().find((line) => /Sanitizer|runtime error/.test(line.event));
    if (report) throw new Error(`a sanitizer reported: ${report.event}`);
  }

  async deleteAll() {
    const listed = await this.driver("GET", "/v1/sandboxes");
    for (const record of listed.json?.sandboxes ?? [])
      await this.driver("DELETE", `/v1/sandboxes/${record.id}?generation=${record.generation}`);
  }

  unix(socketPath, method, target, body) {
    return new Promise((resolve, reject) => {
      const request = http.request({ socketPath, method, path: target, headers: body ? { "content-type": "application/json" } : {} },
        (response) => {
          let text = "";
          response.setEncoding("utf8").on("data", (part) => (text += part));
          response.on("end", () => {
            let json;
            try {
              json = JSON.parse(text);
            } catch {
              json = undefined;
            }
            resolve({ status: response.statusCode, text, json });
          });
        });
      request.on("error", reject);
      request.end(body ? JSON.stringify(body) : undefined);
    });
  }

  admin(target) {
    return this.unix(path.join(this.run, "admin.sock"), "GET", target);
  }

  driver(method, target, body) {
    return this.unix(path.join(this.run, "driver.sock"), method, target, body);
  }

  // {"name{labels}": value}
  async metrics() {
    const { text } = await this.admin("/metrics");
    return Object.fromEntries(text.split("\n").filter((line) => line && !line.startsWith("#"))
      .map((line) => [line.slice(0, line.lastIndexOf(" ")), Number(line.slice(line.lastIndexOf(" ") + 1))]));
  }

  async sandboxes() {
    return (await this.driver("GET", "/v1/sandboxes")).json.sandboxes;
  }

  // One HTTPS request over HTTP/1.1: {status, headers, bytes, text, json}. JSON bodies are written as such.
  request(method, target, { token = this.token, headers = {}, body, json, agent, plain = false } = {}) {
    return new Promise((resolve, reject) => {
      const all = { ...(token ? { authorization: `Bearer ${token}` } : {}), ...headers };
      if (json !== undefined) {
        body = JSON.stringify(json);
        all["content-type"] ??= "application/json";
        all.accept ??= "application/json, text/event-stream";
      }
      const library = plain ? http : https;
      const request = library.request(`${plain ? this.plainUrl : this.url}${target}`, { method, headers: all, agent, servername: "localhost" }, (response) => {
        const parts = [];
        response.on("data", (part) => parts.push(part));
        response.on("error", reject);
        response.on("end", () => {
          const bytes = Buffer.concat(parts);
          const text = bytes.toString("utf8");
          let parsed;
          try {
            parsed = JSON.parse(text);
          } catch {
            parsed = messagesOf(text).find((message) => message.id !== undefined && !message.method);
          }
          resolve({ status: response.statusCode, headers: response.headers, bytes, text, json: parsed });
        });
      });
      request.on("error", reject);
      if (body?.pipe) body.pipe(request);
      else request.end(body);
    });
  }

  // A legacy session by hand: {id, call(method, params), tool(name, arguments), close()}.
  async session(options = {}) {
    const target = options.target ?? "/mcp";
    const revision = options.revision ?? "2025-11-25";
    const opened = await this.request("POST", target, { ...options, json: { jsonrpc: "2.0", id: 0, method: "initialize",
      params: { protocolVersion: revision, capabilities: {}, clientInfo: { name: "test", version: "1" } } } });
    if (opened.status !== 200) throw new Error(`initialize: ${opened.status} ${opened.text}`);
    const id = opened.headers["mcp-session-id"];
    let next = 1;
    const send = (message, more = {}) => this.request("POST", target, { ...options, ...more, json: message,
      headers: { "mcp-session-id": id, "mcp-protocol-version": revision, ...options.headers, ...more.headers } });
    const call = (method, params, more) => send({ jsonrpc: "2.0", id: next++, method, params }, more);
    return {
      id,
      opened,
      send,
      call,
      tool: (name, args, more) => call("tools/call", { name, arguments: args }, more),
      close: () => this.request("DELETE", target, { ...options, headers: { "mcp-session-id": id, "mcp-protocol-version": revision } }),
    };
  }
}

// JSON-RPC messages in the text of an event stream.
export function messagesOf(text) {
  return text.split(/\r?\n\r?\n/).map((event) => event.split(/\r?\n/).filter((line) => line.startsWith("data:"))
    .map((line) => line.slice(5).trimStart()).join("\n")).filter(Boolean).flatMap((data) => {
    try {
      return [JSON.parse(data)].flat();
    } catch {
      return [];
    }
  });
}

export const textOf = (answer) => answer.json?.result?.content?.filter((part) => part.type === "text")
  .map((part) => part.text).join("") ?? `no result: ${answer.status} ${answer.text}`;

// What a test's Wrist may leave on the machine, by the run folder's name in it.
export function residue(wrist) {
  const folder = wrist.folder;
  const lines = (command, ...args) => {
    try {
      return execFileSync(command, args, { encoding: "utf8" }).split("\n").filter(Boolean);
    } catch {
      return [];
    }
  };
  const workers = lines("pgrep", "-f", "wrist-worker").filter((pid) => {
    try {
      return fs.readFileSync(`/proc/${pid}/cgroup`, "utf8").includes(path.basename(folder));
    } catch {
      return false;
    }
  });
  const mounts = fs.readFileSync("/proc/self/mounts", "utf8").split("\n").filter((line) => line.includes(folder));
  const loops = lines("losetup", "-l", "-n", "-O", "NAME,BACK-FILE").filter((line) => line.includes(folder));
  const cgroups = lines("find", "/sys/fs/cgroup", "-mindepth", "2", "-type", "d", "-path", `*/${path.basename(folder)}/*/*`); // below the driver's own
  return { workers, mounts, loops, cgroups };
}
