// SPDX-License-Identifier: Apache-2.0
// Warm pools and lives with the real driver and real sandboxes.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import fs from "node:fs";
import path from "node:path";
import { Wrist, textOf, until } from "../harness/wrist.mjs";

let wrist;
const small = { limits: { disk: "16MiB", inodes: 1024, memory: "256MiB" } };
before(async () => {
  wrist = await Wrist.start({ profiles: { trial: { gateway: { warm: 3 }, driver: small } } });
});
after(() => wrist?.stop());

const warm = async () => (await wrist.sandboxes()).filter((row) => !row.note && row.state === "running");

test("a profile that changes under SIGHUP: warm sandboxes are drained and made anew, bound ones stay", async () => {
  const session = await wrist.session();
  assert.match(textOf(await session.tool("Bash", { command: "echo kept > file; ulimit -u >/dev/null; cat file" })), /^kept/);
  const before = await until(async () => {
    const rows = await warm();
    return rows.length === 3 ? rows : null;
  }, "three warm sandboxes");
  const file = path.join(wrist.folder, "driver.yaml");
  const config = JSON.parse(fs.readFileSync(file, "utf8"));
  config.profiles.trial.limits.pids = 77;
  fs.writeFileSync(file, JSON.stringify(config));
  wrist.processes.get("driver").kill("SIGHUP");
  await until(async () => {
    const rows = await warm();
    return rows.length === 3 && rows.every((row) => !before.some((old) => old.id === row.id) && row.revision !== before[0].revision);
  }, "three warm sandboxes of the new revision");
  assert.ok(wrist.logs.gateway.some((line) => line.event === "sandbox.ended" && line.reason === "stale"));
  assert.match(textOf(await session.tool("Bash", { command: "cat file" })), /^kept/);
  await session.close();
  const metrics = await wrist.metrics();
  assert.ok(metrics['wrist_sandboxes_ended_total{profile="trial",reason="stale"}'] >= 3);
});

test("a profile that cannot be opened as it stands in the file stays as it was", async () => {
  const file = path.join(wrist.folder, "driver.yaml");
  const good = fs.readFileSync(file, "utf8");
  const config = JSON.parse(good);
  config.profiles.trial.worker = "/nonexistent/worker";
  fs.writeFileSync(file, JSON.stringify(config));
  wrist.processes.get("driver").kill("SIGHUP");
  await until(() => wrist.logs.driver.some((line) => line.event === "profile.kept"), "the driver to say so");
  fs.writeFileSync(file, good);
  const session = await wrist.session();
  assert.match(textOf(await session.tool("Bash", { command: "echo served" })), /^served/);
  await session.close();
});
