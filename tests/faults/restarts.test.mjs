// SPDX-License-Identifier: Apache-2.0
// kill -9 of the gateway and of the driver; lost sandboxes; SIGTERM.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import https from "node:https";
import { Wrist, residue, sleep, textOf, until } from "../harness/wrist.mjs";

let wrist;
before(async () => {
  wrist = await Wrist.start({ profiles: { trial: {}, ends: { gateway: { on_loss: "end" } } } });
});
after(async () => {
  await wrist.stop();
});

// PI-009, PI-030
test("kill -9 of the gateway: the session goes on with its workspace", async () => {
  const session = await wrist.session();
  await session.tool("Bash", { command: "echo kept > file" });
  await wrist.kill("gateway");
  await wrist.startGateway();
  const answer = await session.tool("Bash", { command: "cat file" });
  assert.match(textOf(answer), /^kept/);
  await session.close();
});

test("kill -9 of the driver: bound sessions are served meanwhile, new ones after its return", async () => {
  const session = await wrist.session();
  await session.tool("Bash", { command: "echo kept > file" });
  await wrist.kill("driver");
  assert.match(textOf(await session.tool("Bash", { command: "cat file" })), /^kept/);
  await wrist.startDriver();
  assert.match(textOf(await session.tool("Bash", { command: "cat file" })), /^kept/);
  const fresh = await wrist.session();
  assert.match(textOf(await fresh.tool("Bash", { command: "ls -A | wc -l" })), /^0/);
  await fresh.close();
  await session.close();
});

// PI-218
test("kill -9 of both: everything is adopted again", async () => {
  const session = await wrist.session();
  await session.tool("Bash", { command: "echo kept > file" });
  await Promise.all([wrist.kill("gateway"), wrist.kill("driver")]);
  await wrist.startDriver();
  await wrist.startGateway();
  assert.match(textOf(await session.tool("Bash", { command: "cat file" })), /^kept/);
  await session.close();
});

async function deleteFromOutside(session) {
  // The driver's list tells which sandbox appeared for this session.
  const before = new Set((await wrist.sandboxes()).filter((row) => row.note).map((row) => row.id));
  await session.tool("Bash", { command: "echo here > file" });
  const bound = await until(async () => (await wrist.sandboxes()).find((row) => row.note && !before.has(row.id)), "the sandbox to be noted as bound");
  await wrist.driver("DELETE", `/v1/sandboxes/${bound.id}?generation=${bound.generation}`);
}

test("on_loss replace: the next call is told that nothing ran, the one after works in a new sandbox", async () => {
  const session = await wrist.session();
  await deleteFromOutside(session);
  const told = await until(async () => {
    const answer = await session.tool("Bash", { command: "echo ran > proof; cat file" });
    return answer.json?.result?.isError ? answer : null;
  }, "the loss to be told", { timeout: 5000 });
  assert.equal(told.status, 200);
  assert.match(textOf(told), /gone/);
  const next = await session.tool("Bash", { command: "ls -A | wc -l" });
  assert.match(textOf(next), /^0/);
  await session.close();
});

test("on_loss end: 404 within two seconds", async () => {
  const session = await wrist.session({ target: "/mcp/ends" });
  await deleteFromOutside(session);
  await until(async () => (await session.call("ping")).status === 404, "the session to have ended", { timeout: 2000 });
  assert.equal((await session.tool("Bash", { command: "true" })).status, 404);
});

test("a sandbox that dies under a call: the call says that it may have run", async () => {
  const session = await wrist.session();
  const before = new Set((await wrist.sandboxes()).filter((row) => row.note).map((row) => row.id));
  await session.tool("Bash", { command: "true" });
  const bound = await until(async () => (await wrist.sandboxes()).find((row) => row.note && !before.has(row.id)), "the sandbox to be noted");
  const call = session.tool("Bash", { command: "echo started > proof; sleep 60" });
  await sleep(500);
  await wrist.driver("DELETE", `/v1/sandboxes/${bound.id}?generation=${bound.generation}`);
  const answer = await call;
  assert.equal(answer.status, 200);
  assert.match(answer.json.error.message, /may have run/);
  await session.close();
});

test("SIGTERM: not ready, calls in flight finish, streams end, sandboxes stay", async () => {
  const session = await wrist.session();
  await session.tool("Bash", { command: "echo kept > file" });
  const stream = await new Promise((resolve, reject) => {
    const request = https.request(`${wrist.url}/mcp`, { headers: { authorization: `Bearer ${wrist.token}`, accept: "text/event-stream", "mcp-session-id": session.id } },
      (response) => {
        const seen = { ended: false, failed: null };
        response.resume();
        response.on("end", () => (seen.ended = true));
        response.on("error", (error) => (seen.failed = error));
        resolve(seen);
      });
    request.on("error", reject);
    request.end();
  });
  const call = session.tool("Bash", { command: "sleep 2; echo finished" });
  await sleep(500);
  const ended = wrist.kill("gateway", "SIGTERM");
  await until(async () => (await wrist.admin("/readyz").catch(() => ({ status: 0 }))).status !== 200, "readiness to go");
  assert.match(textOf(await call), /^finished/);
  assert.deepEqual(await ended, { code: 0, signal: null });
  assert.equal(stream.ended, true);
  assert.equal(stream.failed, null);
  await wrist.startGateway();
  assert.match(textOf(await session.tool("Bash", { command: "cat file" })), /^kept/);
  await session.close();
});

// PI-028: over by its absolute life, a session is 404 with a good token.
test("idle and absolute life end a sandbox, and calls are use", async () => {
  const short = await Wrist.start({ profiles: { trial: { gateway: { warm: 0, idle: "3s", absolute: "9s" } } } });
  try {
    const used = await short.session();
    const left = await short.session();
    await left.tool("Bash", { command: "true" });
    const started = Date.now();
    while (Date.now() - started < 5500) {
      const answer = await used.tool("Bash", { command: "echo $((1+1))" });
      assert.match(textOf(answer), /^2/, `after ${Date.now() - started} ms`);
      await sleep(500);
    }
    await until(async () => (await short.sandboxes()).length === 1, "the idle one to be gone");
    await until(async () => (await used.tool("Bash", { command: "true" })).status === 404, "the absolute life to be over", { timeout: 8000 });
    await until(async () => (await short.sandboxes()).length === 0, "all to be gone");
    await until(() => Object.values(residue(short)).every((rows) => rows.length === 0), "nothing to be left");
  } finally {
    await short.stop();
  }
});
