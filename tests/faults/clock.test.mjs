// SPDX-License-Identifier: Apache-2.0
// A wall clock that jumps, under the real gateway: libfaketime moves its time of day and leaves the
// monotonic clock alone, as a step of the machine's clock does.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import fs from "node:fs";
import path from "node:path";
import { Wrist, sleep, textOf, until } from "../harness/wrist.mjs";
import { leaked, row } from "../harness/faults.mjs";

const LIBRARY = ["x86_64-linux-gnu", "aarch64-linux-gnu"].map((arch) => `/usr/lib/${arch}/faketime/libfaketime.so.1`).find((file) => fs.existsSync(file));
const skip = (!LIBRARY && "libfaketime is not installed") || (process.env.WRIST_BIN?.includes("asan") && "a sanitizer wants to be loaded first");

class Jumping extends Wrist {
  spawn(name) {
    if (name !== "gateway") return super.spawn(name);
    this.clock ??= path.join(this.folder, "clock");
    if (!fs.existsSync(this.clock)) this.jump("+0s");
    Object.assign(process.env, { LD_PRELOAD: LIBRARY, FAKETIME_TIMESTAMP_FILE: this.clock, FAKETIME_DONT_FAKE_MONOTONIC: "1", FAKETIME_NO_CACHE: "1" });
    try {
      return super.spawn(name);
    } finally {
      for (const key of ["LD_PRELOAD", "FAKETIME_TIMESTAMP_FILE", "FAKETIME_DONT_FAKE_MONOTONIC", "FAKETIME_NO_CACHE"]) delete process.env[key];
    }
  }

  jump(offset) {
    fs.writeFileSync(`${this.clock}.new`, `${offset}\n`, { mode: 0o644 });
    fs.renameSync(`${this.clock}.new`, this.clock);
  }
}

let wrist;
before(async () => {
  if (!skip) wrist = await Jumping.start({ profiles: { trial: { gateway: { warm: 1, idle: "30s", absolute: "60s" } } } });
});
after(() => wrist?.stop());

for (const offset of ["+1d", "-1d"])
  test(`the wall clock jumps by ${offset}: sessions go on, and lives count as before`, { skip }, async () => {
    const session = await wrist.session();
    await session.tool("Bash", { command: "echo kept > file" });
    const started = performance.now();
    wrist.jump(offset);
    const fresh = await wrist.session(); // its id says when it was issued
    for (let i = 0; i < 5; i++) {
      assert.match(textOf(await session.tool("Bash", { command: "cat file" })), /^kept/, `${i}`);
      assert.match(textOf(await fresh.tool("Bash", { command: "echo new" })), /^new/, `${i}`);
      await sleep(100);
    }
    wrist.jump("+0s");
    assert.match(textOf(await session.tool("Bash", { command: "cat file" })), /^kept/);
    const recovered = performance.now() - started;
    await session.close();
    await fresh.close();
    row(`the wall clock jumps by ${offset}`, { sessions: 2, recovered, leaked: await leaked(wrist, 1) });
  });
