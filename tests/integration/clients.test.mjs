// SPDX-License-Identifier: Apache-2.0
// Clients as they are, over TLS with a bearer, and the order of what they put on the wire.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import path from "node:path";
import { after, before, test } from "node:test";
import { promisify } from "node:util";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { Client as Client1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as Transport1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { Shim } from "../harness/shim.mjs";
import { Wrist, root } from "../harness/wrist.mjs";

const run = promisify(execFile);
let wrist;
before(async () => {
  wrist = await Wrist.start();
});
after(() => wrist?.stop());

// Runs `use` with the URL of a shim that speaks TLS; returns the requests in the order they came.
async function recorded(use) {
  const shim = await Shim.start(wrist, { tls: true });
  try {
    await use(`${shim.url}/mcp`);
    return shim.lines();
  } finally {
    await shim.stop();
  }
}

// Held streams have no fixed place in the order.
const posts = (wire) => wire.filter((line) => line.startsWith("POST"));
const headers = () => ({ authorization: `Bearer ${wrist.token}` });

const inspector = path.join(root, "tests/node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js");
async function inspect(url, era, ...options) {
  const { stdout } = await run(process.execPath, [inspector, "--cli", "--server-url", url, "--transport", "http",
    "--protocol-era", era, "--header", `Authorization: Bearer ${wrist.token}`, ...options],
  { env: { ...process.env, NODE_EXTRA_CA_CERTS: wrist.tls.cert, HOME: wrist.folder }, timeout: 60_000 });
  return JSON.parse(stdout);
}

const legacyStart = ["POST initialize 200", "POST notifications/initialized 202"];
const modernStart = ["POST server/discover 200"];

// The Inspector lists the tools as often as it likes in between.
function expectWire(wire, start, last) {
  assert.deepEqual(posts(wire).slice(0, start.length), start);
  assert.ok(posts(wire).slice(start.length, -1).every((line) => line === "POST tools/list 200"), wire.join("\n"));
  assert.equal(posts(wire).at(-1), last);
}

for (const [era, start] of [["legacy", legacyStart], ["auto", modernStart], ["modern", modernStart]]) {
  test(`Inspector CLI, era ${era}: lists the tools and calls one`, async () => {
    const listing = await recorded(async (url) => {
      const { tools } = await inspect(url, era, "--method", "tools/list");
      assert.ok(tools.some((tool) => tool.name === "Bash"));
    });
    expectWire(listing, start, "POST tools/list 200");
    const calling = await recorded(async (url) => {
      const result = await inspect(url, era, "--method", "tools/call", "--tool-name", "Bash", "--tool-arg", "command=echo seen");
      assert.match(result.content[0].text, /^seen/);
    });
    expectWire(calling, start, "POST tools/call 200");
  });
}

async function useClient(client, transport) {
  await client.connect(transport);
  assert.ok((await client.listTools()).tools.some((tool) => tool.name === "Bash"));
  const result = await client.callTool({ name: "Bash", arguments: { command: "echo seen" } });
  assert.match(result.content[0].text, /^seen/);
  await client.close();
}
const work = ["POST tools/list 200", "POST tools/call 200"];

for (const [name, mode, start] of [
  ["legacy", "legacy", legacyStart],
  ["auto", "auto", modernStart],
  ["pinned", { pin: "2026-07-28" }, modernStart],
]) {
  test(`TypeScript client 2.x, ${name}: the wire has what it needs and nothing else`, async () => {
    const wire = await recorded((url) => useClient(new Client({ name: "t", version: "1" }, { versionNegotiation: { mode } }),
      new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: headers() } })));
    assert.deepEqual(posts(wire), [...start, ...work]);
  });
}

test("TypeScript SDK 1.x: the wire has what it needs and nothing else", async () => {
  const wire = await recorded((url) => useClient(new Client1({ name: "t", version: "1" }),
    new Transport1(new URL(url), { requestInit: { headers: headers() } })));
  assert.deepEqual(posts(wire), [...legacyStart, ...work]);
});
