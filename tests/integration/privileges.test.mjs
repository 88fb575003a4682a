// SPDX-License-Identifier: Apache-2.0
// What the gateway has given up once it listens, and what SIGHUP may and may not change.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { after, before, test } from "node:test";
import { createHash } from "node:crypto";
import { Wrist, bin, isRoot, until } from "../harness/wrist.mjs";

let wrist;
before(async () => {
  wrist = await Wrist.start();
});
after(() => wrist?.stop());

test("the gateway runs as another user, without capabilities, filtered for good", () => {
  const status = fs.readFileSync(`/proc/${wrist.processes.get("gateway").pid}/status`, "utf8");
  const field = (name) => new RegExp(`^${name}:\\s+(.*)$`, "m").exec(status)[1];
  if (isRoot) assert.deepEqual(field("Uid").split("\t"), Array(4).fill("65534"));
  for (const set of ["CapInh", "CapPrm", "CapEff", "CapAmb"]) assert.equal(field(set), "0000000000000000", set);
  assert.equal(field("NoNewPrivs"), "1");
  if (!bin.includes("/asan/")) assert.equal(field("Seccomp"), "2");
});

test("SIGHUP brings new tokens and drops old ones; a bad file changes nothing", async () => {
  const file = path.join(wrist.folder, "tokens.yaml");
  const row = (token) => ({ sha256: createHash("sha256").update(token).digest("hex"), subject: "new" });
  const statusOf = async (token) => (await wrist.request("GET", "/v1/sandboxes", { token })).status;
  const reload = async (event) => {
    const count = () => wrist.logs.gateway.filter((line) => line.event === event).length;
    const from = count();
    wrist.processes.get("gateway").kill("SIGHUP");
    await until(() => count() > from, event);
  };
  const old = wrist.token;
  fs.writeFileSync(file, JSON.stringify({ tokens: [row("wrist_fresh")] }));
  await reload("tokens.reloaded");
  assert.equal(await statusOf("wrist_fresh"), 200);
  assert.equal(await statusOf(old), 401);
  fs.writeFileSync(file, "tokens: [{sha256: nonsense}]\n");
  await reload("tokens.kept");
  assert.equal(await statusOf("wrist_fresh"), 200);
  assert.match(wrist.logs.gateway.findLast((line) => line.event === "tokens.kept").error, /tokens\.yaml:1:.*sha256/);
});

test("a bad configuration says file, line, key and what was expected, and nothing starts", async () => {
  const bad = await new Wrist({ gateway: { keepalive: "15s" } });
  await bad.prepare();
  try {
    const child = bad.spawn("gateway");
    assert.equal((await child.ended).code, 1);
    const line = bad.logs.gateway.at(-1);
    assert.match(line.error, /gateway\.yaml:\d+:\d+: keepalive: .*/);
  } finally {
    fs.rmSync(bad.folder, { recursive: true, force: true });
  }
});
