// SPDX-License-Identifier: Apache-2.0
// 2026-07-28 beside the legacy revisions on one URL, by the official client in each of its modes.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { Wrist, until } from "../harness/wrist.mjs";

let wrist;
before(async () => {
  wrist = await Wrist.start({ profiles: { trial: {} }, tokens: [{ subject: "ann" }, { subject: "bob" }] });
});
after(() => wrist?.stop());

// The client, and the requests it made: "POST tools/call 200".
async function connect(mode, token = wrist.token) {
  const wire = [];
  const transport = new StreamableHTTPClientTransport(new URL(`${wrist.url}/mcp`), {
    requestInit: { headers: { authorization: `Bearer ${token}` } },
    fetch: async (url, options) => {
      const response = await fetch(url, options);
      const method = options?.body ? JSON.parse(options.body).method : "";
      wire.push(`${options?.method ?? "GET"} ${method} ${response.status}`.replace("  ", " "));
      return response;
    },
  });
  const client = new Client({ name: "t", version: "1" }, { versionNegotiation: { mode } });
  await client.connect(transport);
  return { client, wire };
}
const bash = (client, command, options) => client.callTool({ name: "Bash", arguments: { command } }, options);

for (const [name, mode, version, first] of [
  ["legacy", "legacy", "2025-11-25", "POST initialize 200"],
  ["auto", "auto", "2026-07-28", "POST server/discover 200"],
  ["pinned", { pin: "2026-07-28" }, "2026-07-28", "POST server/discover 200"],
]) {
  test(`client 2.x, ${name}: negotiates ${version} and works`, async () => {
    const { client, wire } = await connect(mode);
    assert.equal(client.getNegotiatedProtocolVersion(), version);
    assert.equal(wire[0], first);
    assert.ok((await client.listTools()).tools.some((tool) => tool.name === "Bash"));
    const result = await bash(client, "echo here");
    assert.match(result.content[0].text, /^here/);
    await client.close();
    assert.ok(!wire.some((line) => / [45]\d\d$/.test(line)), wire.join("\n"));
  });
}

test("2026-07-28: the requests of one principal share its default sandbox, another's do not", async () => {
  const { client: one } = await connect("auto");
  const { client: two } = await connect({ pin: "2026-07-28" });
  const { client: other } = await connect("auto", wrist.tokens.bob);
  await bash(one, "echo mine > shared-file");
  assert.match((await bash(two, "cat shared-file")).content[0].text, /^mine/);
  assert.doesNotMatch((await bash(other, "cat shared-file")).content[0].text, /^mine/);
  for (const client of [one, two, other]) await client.close();
});

test("2026-07-28: closing the stream of a call ends its command", async () => {
  const { client } = await connect("auto");
  const stop = new AbortController();
  const call = bash(client, "echo $$ > call.pid; sleep 60", { signal: stop.signal });
  call.catch(() => {});
  const isRunning = async () => (await bash(client, "test -s call.pid && kill -0 $(cat call.pid)")).structuredContent.exit_code === 0;
  await until(isRunning, "the command to run");
  stop.abort();
  await assert.rejects(call);
  await until(async () => !(await isRunning()), "the command to end");
  await client.close();
});
