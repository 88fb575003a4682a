// SPDX-License-Identifier: Apache-2.0
// Starts the real wrist-worker for a test: stand-alone on a port, or linked, as PID 1 of a pid
// namespace with a listening socket and a start document, as a driver would.
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import fs from "node:fs";
import http from "node:http";
import net from "node:net";
import os from "node:os";
import path from "node:path";
import { bin, until } from "../../harness/wrist.mjs";

export const commandUid = 54321;
export const principal = "a".repeat(64);
const program = path.join(bin, "wrist-worker");

export class Worker {
  constructor() {
    this.folder = fs.mkdtempSync(path.join(os.tmpdir(), "wrist-worker-"));
    fs.chmodSync(this.folder, 0o755);
    this.workspace = path.join(this.folder, "workspace");
    this.inputs = path.join(this.folder, "inputs");
    fs.mkdirSync(this.workspace);
    fs.chownSync(this.workspace, commandUid, commandUid);
    fs.mkdirSync(this.inputs);
    this.log = "";
    this.nextId = 1;
  }

  static async alone() {
    const worker = new Worker();
    worker.token = randomBytes(16).toString("hex");
    const file = path.join(worker.folder, "token");
    fs.writeFileSync(file, `${worker.token}\n`, { mode: 0o600 });
    worker.run(program, ["--listen", "127.0.0.1:0", "--token-file", file, "--workspace",
      worker.workspace], ["ignore", "ignore", "pipe"]);
    const ready = await worker.event("worker.ready");
    worker.where = { host: "127.0.0.1", port: Number(ready.address.split(":").pop()) };
    worker.url = `http://127.0.0.1:${worker.where.port}`;
    return worker;
  }

  // `start` overrides members of the document's sandbox part, `limits` those of its limits.
  static async linked({ start = {}, limits = {} } = {}) {
    const worker = new Worker();
    worker.token = randomBytes(32).toString("hex");
    const socket = path.join(worker.folder, "link.sock");
    const server = net.createServer();
    await new Promise((resolve) => server.listen(socket, resolve));
    fs.chmodSync(socket, 0o777); // that commands are refused is not for want of rights on the path
    worker.run("unshare", ["-pf", "--mount-proc", "--kill-child", program],
      ["ignore", "ignore", "pipe", server._handle.fd, "pipe"]);
    worker.child.stdio[4].end(JSON.stringify({
      sandbox: {
        id: randomBytes(16).toString("hex"), profile: "test", generation: 7, secret: worker.token,
        orphan_ms: 0, grace_ms: 4000, worker_uid: 0, worker_gid: 0, command_uid: commandUid,
        command_gid: commandUid, workspace: worker.workspace, inputs: worker.inputs, ...start,
      },
      limits: { processes: 200, file_bytes: 1 << 30, open_files: 1024, memory_bytes: 0, ...limits },
      exports: { bytes: 1 << 30, types: "" },
      isolation: { isolation: "full", workspace_access: "write" },
    }));
    await worker.event("worker.ready");
    // This process must not accept in the worker's place; closing would remove the path as well.
    server._handle.unref();
    fs.renameSync(socket, `${socket}.kept`);
    server.close();
    worker.where = { socketPath: `${socket}.kept` };
    return worker;
  }

  static async bound(options) {
    const worker = await Worker.linked(options);
    worker.session = randomBytes(16).toString("hex");
    const answer = await worker.request("POST", "/bind", {
      body: { principal, session: worker.session, generation: 7, idle_ms: 0, absolute_ms: 0 },
    });
    if (answer.status !== 200) throw new Error(`bind: ${answer.status} ${answer.text}`);
    return worker;
  }

  run(command, args, stdio) {
    this.child = spawn(command, args, { stdio, env: { WRIST_TEST_SECRET: "hush" } });
    this.exited = new Promise((resolve) =>
      this.child.on("exit", (code, signal) => resolve({ code, signal })));
    this.child.stderr.setEncoding("utf8");
    this.child.stderr.on("data", (text) => { this.log += text; });
  }

  event(name) {
    return until(() => this.log.split("\n").filter(Boolean).map((line) => JSON.parse(line))
      .find((row) => row.event === name), `${name} in the worker's log: ${this.log}`);
  }

  // Resolves with the whole answer; `onText` sees it as it comes.
  request(method, target, { body, headers = {}, onText, signal } = {}) {
    const json = body !== undefined && !Buffer.isBuffer(body) && typeof body !== "string";
    const bytes = json ? JSON.stringify(body) : body;
    return new Promise((resolve, reject) => {
      const request = http.request({
        ...this.where, method, path: target, signal, agent: false,
        headers: {
          authorization: `Bearer ${this.token}`,
          ...(body === undefined ? {} : { "content-type": "application/json" }),
          ...headers,
        },
      }, (response) => {
        let text = "";
        response.setEncoding("utf8");
        response.on("data", (piece) => { text += piece; onText?.(text); });
        response.on("error", reject);
        response.on("end", () => resolve({
          status: response.statusCode, headers: response.headers, text,
          json: () => JSON.parse(text),
        }));
      });
      request.on("error", reject);
      request.end(bytes);
    });
  }

  mcpHeaders() {
    return this.where.socketPath
      ? { ...(this.session ? { "wrist-session": this.session } : {}) }
      : { accept: "application/json, text/event-stream",
          ...(this.session ? { "mcp-session-id": this.session } : {}) };
  }

  post(message, options = {}) {
    return this.request("POST", "/mcp", {
      body: message, ...options, headers: { ...this.mcpHeaders(), ...options.headers },
    });
  }

  async rpc(method, params, options) {
    const id = this.nextId++;
    const answer = await this.post({ jsonrpc: "2.0", id, method, params }, options);
    return messages(answer).find((m) => m.id === id);
  }

  async call(name, args, options) {
    const response = await this.rpc("tools/call", { name, arguments: args }, options);
    if (response.error) throw new Error(`${response.error.code} ${response.error.message}`);
    return { ...response.result, text: response.result.content[0].text };
  }

  bash(command, timeout = 60) {
    return this.call("Bash", { command, timeout });
  }

  async initialize(version = "2025-11-25") {
    const answer = await this.post({
      jsonrpc: "2.0", id: this.nextId++, method: "initialize",
      params: { protocolVersion: version, capabilities: {}, clientInfo: { name: "t", version: "0" } },
    });
    this.session = answer.headers["mcp-session-id"];
    return answer;
  }

  // Host pids of the worker and everything below it.
  processes() {
    const parents = new Map();
    for (const pid of fs.readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
      try {
        const stat = fs.readFileSync(`/proc/${pid}/stat`, "utf8");
        parents.set(Number(pid), Number(stat.slice(stat.lastIndexOf(")") + 4).split(" ")[0]));
      } catch { /* it ended meanwhile */ }
    }
    const below = new Set([this.child.pid]);
    for (let before = -1; before !== below.size;) {
      before = below.size;
      for (const [pid, parent] of parents) if (below.has(parent)) below.add(pid);
    }
    return [...below];
  }

  async stop() {
    this.child.kill("SIGKILL"); // of unshare, which takes PID 1 and so the namespace along
    await this.exited;
    fs.rmSync(this.folder, { recursive: true, force: true });
  }
}

// The JSON-RPC messages of an answer, whether JSON or an event stream.
export function messages(answer) {
  if (!/^text\/event-stream/.test(answer.headers["content-type"] ?? ""))
    return [].concat(answer.json());
  return answer.text.split("\n\n").flatMap((event) => {
    const data = event.split("\n").filter((line) => line.startsWith("data:"))
      .map((line) => line.slice(5).trimStart()).join("\n");
    return data ? [].concat(JSON.parse(data)) : [];
  });
}
