// SPDX-License-Identifier: Apache-2.0
// deploy/quickstart --once, as README.md says it: the main job on real input, and nothing left after.
import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { freePort, root, until } from "../harness/wrist.mjs";

// Records of a trial's sandboxes that are not ended, as its driver keeps them.
const sandboxesOf = (home) => fs.readdirSync(path.join(home, "driver/journal"));

test("quickstart --once shows the main job and leaves nothing running", async () => {
  const home = fs.mkdtempSync(path.join(os.tmpdir(), "wrist-quickstart-"));
  fs.chmodSync(home, 0o755);
  const port = await freePort();
  try {
    const { stdout } = await promisify(execFile)(path.join(root, "deploy/quickstart"), ["--once", "--port", String(port)],
      { env: { ...process.env, WRIST_HOME: home }, timeout: 600_000, maxBuffer: 1 << 24 });
    for (const line of [/up: https:\/\/127\.0\.0\.1:\d+\/mcp/, /note: .*trial/, /uploaded: \d+ files/, /built libyaml/,
      /100% tests passed/, /50% tests passed/, /grep yaml_get_version: \d+ lines/, /the sandbox is deleted now/])
      assert.match(stdout, line);
    const mounts = fs.readFileSync("/proc/self/mounts", "utf8");
    assert.ok(!mounts.includes(home));
    assert.ok(!fs.existsSync(`/run/wrist-trial-${port}`));
    for (const pid of fs.readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
      let cmdline = "";
      try {
        cmdline = fs.readFileSync(`/proc/${pid}/cmdline`, "utf8");
      } catch {
        continue; // it ended meanwhile
      }
      assert.ok(!cmdline.includes(home), cmdline.replaceAll("\0", " "));
    }
  } finally {
    fs.rmSync(home, { recursive: true, force: true });
  }
});

// As a terminal does it: the signal goes to every process of the group at once.
test("Ctrl-C ends the sandboxes too, and a second trial in one folder is refused before it writes", async () => {
  const home = fs.mkdtempSync(path.join(os.tmpdir(), "wrist-quickstart-"));
  fs.chmodSync(home, 0o755);
  const port = await freePort();
  const env = { ...process.env, WRIST_HOME: home };
  const script = path.join(root, "deploy/quickstart");
  const child = spawn(script, ["--port", String(port)], { env, detached: true, stdio: ["ignore", "pipe", "inherit"] });
  const ended = new Promise((resolve) => child.on("exit", resolve));
  try {
    let printed = "";
    child.stdout.setEncoding("utf8").on("data", (text) => (printed += text));
    await until(() => printed.includes("It stays up") || child.exitCode !== null, "the trial to be up", { timeout: 300_000 });
    const config = fs.readFileSync(path.join(home, "gateway.yaml"), "utf8");
    const second = await promisify(execFile)(script, ["--port", String(await freePort())], { env }).catch((error) => error);
    assert.match(second.stderr, new RegExp(`a trial runs in .* already, on port ${port};`));
    assert.equal(fs.readFileSync(path.join(home, "gateway.yaml"), "utf8"), config);
    const workers = sandboxesOf(home);
    assert.ok(workers.length > 0, "the warm sandboxes stand in the journal");
    process.kill(-child.pid, "SIGINT");
    assert.equal(await ended, 130);
    assert.deepEqual(sandboxesOf(home), []);
    assert.ok(!fs.existsSync(`/run/wrist-trial-${port}`));
  } finally {
    if (child.exitCode === null && child.signalCode === null) process.kill(child.pid, "SIGTERM");
    await ended;
    fs.rmSync(home, { recursive: true, force: true });
  }
});

test("a port that is none is refused at once", async () => {
  for (const port of ["abc", "0", "99999", ""]) {
    const refused = await promisify(execFile)(path.join(root, "deploy/quickstart"), ["--port", port]).catch((error) => error);
    assert.match(refused.stderr, /--port takes a number/, port);
  }
});
