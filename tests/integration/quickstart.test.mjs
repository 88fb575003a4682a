// SPDX-License-Identifier: Apache-2.0
// deploy/quickstart --once, as README.md says it: the main job on real input, and nothing left after.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { freePort, root } from "../harness/wrist.mjs";

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
