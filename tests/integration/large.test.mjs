// SPDX-License-Identifier: Apache-2.0
// PI-058: results far larger than any buffer go through whole, as one line of an event stream too,
// and the gateway holds none of them. The worker is the bench's: it answers as long as it is asked.
import assert from "node:assert/strict";
import fs from "node:fs";
import { after, before, test } from "node:test";
import { startWrist } from "../bench/gateway.mjs";
import { sanitized } from "../harness/wrist.mjs";

let wrist;
let session;
before(async () => {
  wrist = await startWrist();
  session = await wrist.session({ plain: true });
});
after(() => wrist?.stop());

const rssKiB = () => Number(/VmRSS:\s+(\d+)/.exec(fs.readFileSync(`/proc/${wrist.gatewayPid}/status`, "utf8"))[1]);

for (const accept of ["application/json, text/event-stream", "text/event-stream"])
  for (const bytes of [1_100_000, 8 << 20, 33 << 20])
    test(`a result of ${bytes} bytes for a client that accepts ${accept}`, async () => {
      const before = rssKiB();
      const answer = await wrist.request("POST", "/mcp", { plain: true,
        headers: { "mcp-session-id": session.id, "mcp-protocol-version": "2025-11-25", accept },
        json: { jsonrpc: "2.0", id: 5, method: "tools/call", params: { name: "payload", arguments: { bytes } } } });
      assert.equal(answer.status, 200, answer.text.slice(0, 300));
      if (!accept.includes("json")) assert.equal(answer.text.split("\n").filter((line) => line.startsWith("data:") && line.length > bytes).length, 1);
      assert.equal(answer.json.id, 5);
      assert.equal(answer.json.result.content[0].text.length, bytes);
      assert.ok(sanitized || rssKiB() - before < 24 << 10, `${rssKiB() - before} KiB more`);
      assert.equal((await session.call("ping")).status, 200);
    });
