// SPDX-License-Identifier: Apache-2.0
// What stands beside Wrist: HAProxy, nghttpx, and the Node proxies, each as one process on one core.
import fs from "node:fs";
import path from "node:path";

import { freePort, until } from "../harness/wrist.mjs";
import { PROXY_CORE, portOpen, start } from "./measure.mjs";

const here = import.meta.dirname;

async function started(name, child, ...ports) {
  await until(async () => {
    if (child.exitCode !== null) throw new Error(`${name} ended:\n${child.text}`);
    return (await Promise.all(ports.map(portOpen))).every(Boolean);
  }, `${name} to listen\n${child.text}`);
}

function configure(file, words, folder) {
  const text = fs.readFileSync(path.join(here, file), "utf8").replace(/@([A-Z0-9]+)@/g, (all, word) => words[word] ?? all);
  const made = path.join(folder, file);
  fs.writeFileSync(made, text);
  return made;
}

// The four ways in, for a proxy with these ports.
export function ways(name, pid, { plain, h2c = plain, secure }, headers = {}, path = "/mcp") {
  const of = (way, url, h1, port) => ({ name: `${name}, ${way}`, proxy: name, way, url, h1, port, pid, headers });
  return [
    of("h1", `http://127.0.0.1:${plain}${path}`, true, plain),
    of("h2", `http://127.0.0.1:${h2c}${path}`, false, h2c),
    of("TLS h1", `https://127.0.0.1:${secure}${path}`, true, secure),
    of("TLS h2", `https://127.0.0.1:${secure}${path}`, false, secure),
  ];
}

export async function haproxy(folder, certificate) {
  const [plain, h2c, secure] = [await freePort(), await freePort(), await freePort()];
  const both = ["cert", "key"].map((name) => fs.readFileSync(certificate[name], "utf8")).join("");
  fs.writeFileSync(path.join(folder, "both.pem"), both);
  const file = configure("haproxy.cfg", { PLAIN: plain, H2C: h2c, TLS: secure, FOLDER: folder }, folder);
  const child = start(PROXY_CORE, "haproxy", ["-db", "-f", file]);
  await started("haproxy", child, plain, h2c, secure);
  return { child, targets: ways("HAProxy", child.pid, { plain, h2c, secure }) };
}

export async function nghttpx(folder, certificate) {
  const [plain, secure] = [await freePort(), await freePort()];
  const words = { PLAIN: plain, TLS: secure, FOLDER: folder, CERT: certificate.cert, KEY: certificate.key };
  const child = start(PROXY_CORE, "nghttpx", ["--conf", configure("nghttpx.conf", words, folder)]);
  await started("nghttpx", child, plain, secure);
  return { child, targets: ways("nghttpx", child.pid, { plain, secure }) };
}

// Both speak stdio to what they stand before, and MCP over HTTP/1.1 to clients, with a session.
async function nodeProxy(name, script, args, port) {
  const child = start(PROXY_CORE, process.execPath, [path.join(here, "node_modules", script), ...args]);
  await started(name, child, port);
  const url = `http://127.0.0.1:${port}/mcp`;
  const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
  const opened = await fetch(url, { method: "POST", headers, body: JSON.stringify({ jsonrpc: "2.0", id: 0, method: "initialize",
    params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "bench", version: "1" } } }) });
  await opened.text();
  const session = { "mcp-session-id": opened.headers.get("mcp-session-id"), "mcp-protocol-version": "2025-06-18" };
  await fetch(url, { method: "POST", headers: { ...headers, ...session }, body: JSON.stringify({ jsonrpc: "2.0", method: "notifications/initialized" }) });
  return { child, targets: [{ name, proxy: name, way: "h1, stdio behind", url, h1: true, pid: child.pid, headers: session, slow: true }] };
}

export async function mcpProxy(upstream) {
  const port = await freePort();
  const args = ["--host", "127.0.0.1", "--port", String(port), "--server", "stream", "--", upstream, "--stdio"];
  return nodeProxy("mcp-proxy", "mcp-proxy/dist/bin/mcp-proxy.mjs", args, port);
}

export async function supergateway(upstream) {
  const port = await freePort();
  const args = ["--stdio", `${upstream} --stdio`, "--outputTransport", "streamableHttp", "--stateful", "--port", String(port), "--logLevel", "none"];
  return nodeProxy("supergateway", "supergateway/dist/index.js", args, port);
}
