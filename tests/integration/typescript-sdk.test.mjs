// SPDX-License-Identifier: Apache-2.0
// The official TypeScript SDKs over TLS, as a user connects them.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Client as ClientOne } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as TransportOne } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { Client as ClientTwo, StreamableHTTPClientTransport as TransportTwo } from "@modelcontextprotocol/client";
import { Wrist, until } from "../harness/wrist.mjs";

let wrist;
before(async () => {
  wrist = await Wrist.start();
});
after(() => wrist?.stop());

const text = (result) => result.content.filter((part) => part.type === "text").map((part) => part.text).join("");

async function connect(Client, Transport, options) {
  const client = new Client({ name: "test", version: "1" }, options);
  const transport = new Transport(new URL(`${wrist.url}/mcp`), {
    requestInit: { headers: { Authorization: `Bearer ${wrist.token}` } },
  });
  await client.connect(transport);
  return { client, transport };
}

const clients = [
  ["@modelcontextprotocol/sdk 1.x", ClientOne, TransportOne],
  ["@modelcontextprotocol/client 2.x in legacy mode", ClientTwo, TransportTwo],
];

for (const [name, Client, Transport] of clients) {
  test(`${name}: the tools of a coding agent work on one workspace`, async () => {
    const { client, transport } = await connect(Client, Transport);
    const listed = await client.listTools();
    const names = listed.tools.map((tool) => tool.name);
    for (const tool of ["Read", "Write", "Edit", "Glob", "Grep", "Bash"]) assert.ok(names.includes(tool), `${tool} is listed`);
    const read = listed.tools.find((tool) => tool.name === "Read");
    assert.equal(read.annotations.readOnlyHint, true);

    const call = (tool, args) => client.callTool({ name: tool, arguments: args });
    const wrote = await call("Write", { file_path: "src/hello.c", content: '#include <stdio.h>\nint main(void)\n{\n\tputs("hello");\n\treturn 0;\n}\n' });
    assert.ok(!wrote.isError, text(wrote));
    const built = await call("Bash", { command: "cc -o hello src/hello.c && ./hello" });
    assert.match(text(built), /^hello\n/);
    assert.match(text(built), /exit: 0$/);
    assert.equal(built.structuredContent.exit_code, 0);
    assert.match(text(await call("Read", { file_path: "src/hello.c" })), /4\t\tputs\("hello"\);/);
    const edited = await call("Edit", { file_path: "src/hello.c", old_string: '"hello"', new_string: '"goodbye"' });
    assert.ok(!edited.isError, text(edited));
    assert.match(text(await call("Bash", { command: "cc -o hello src/hello.c && ./hello" })), /^goodbye\n/);
    assert.match(text(await call("Glob", { pattern: "**/*.c" })), /src\/hello\.c/);
    assert.match(text(await call("Grep", { pattern: "good.ye", output_mode: "content" })), /src\/hello\.c:4:/);
    const failing = await call("Bash", { command: "exit 3" });
    assert.equal(failing.structuredContent.exit_code, 3);
    assert.ok(!failing.isError);

    await transport.terminateSession();
    await client.close();
  });

  test(`${name}: two sessions have two workspaces`, async () => {
    const one = await connect(Client, Transport);
    const two = await connect(Client, Transport);
    await one.client.callTool({ name: "Write", arguments: { file_path: "mine", content: "one" } });
    const seen = await two.client.callTool({ name: "Bash", arguments: { command: "ls -A | wc -l" } });
    assert.match(text(seen), /^0\n/);
    for (const { client, transport } of [one, two]) {
      await transport.terminateSession();
      await client.close();
    }
  });

  test(`${name}: an aborted call ends its command`, async () => {
    const { client, transport } = await connect(Client, Transport);
    await client.callTool({ name: "Bash", arguments: { command: "true" } });
    const controller = new AbortController();
    const call = client.callTool({ name: "Bash", arguments: { command: "echo $$ > pid; sleep 300" } },
      ...(Client === ClientOne ? [undefined, { signal: controller.signal }] : [{ signal: controller.signal }]));
    const outcome = assert.rejects(call);
    await until(async () => /\d/.test(text(await client.callTool({ name: "Bash", arguments: { command: "cat pid 2>/dev/null; true" } })).replace(/exit: \d+/, "")), "the command to run");
    controller.abort();
    await outcome;
    await until(async () => /gone/.test(text(await client.callTool({ name: "Bash", arguments: { command: "kill -0 $(cat pid) 2>/dev/null || echo gone" } }))), "the command to be ended");
    await transport.terminateSession();
    await client.close();
  });

  test(`${name}: a long call reports progress to a client that asked for it`, async () => {
    const { client, transport } = await connect(Client, Transport);
    const seen = [];
    const options = { onprogress: (progress) => seen.push(progress.progress), timeout: 60_000, resetTimeoutOnProgress: true };
    const result = await client.callTool({ name: "Bash", arguments: { command: "sleep 17; echo done" } },
      ...(Client === ClientOne ? [undefined, options] : [options]));
    assert.match(text(result), /^done/);
    assert.ok(seen.length >= 1, `progress came ${seen.length} times`);
    assert.deepEqual(seen, [...seen].sort((a, b) => a - b));
    await transport.terminateSession();
    await client.close();
  });
}
