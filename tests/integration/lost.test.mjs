// SPDX-License-Identifier: Apache-2.0
// A sandbox that dies under its client: parallel calls are all told, and only then is there a new one.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Wrist, isRoot, residue, textOf, until } from "../harness/wrist.mjs";

const skip = isRoot ? false : "needs root: the worker is found by its cgroup";
let wrist;
before(async () => {
  wrist = await Wrist.start({ profiles: { trial: { gateway: { warm: 0 } } } });
});
after(() => wrist?.stop());

const bound = async () => (await wrist.sandboxes()).length;

test("of calls that come at once after a loss, none that is told so has run; the next one has a new workspace", { skip }, async () => {
  const session = await wrist.session();
  await session.tool("Bash", { command: "echo precious > file" });
  const before = (await wrist.metrics())["wrist_sandboxes_lost_total"] ?? 0;
  for (const pid of residue(wrist).workers) {
    try {
      process.kill(Number(pid), "SIGKILL");
    } catch { /* it went with the first */ }
  }
  await until(async () => ((await wrist.metrics())["wrist_sandboxes_lost_total"] ?? 0) > before, "the loss to be noticed");
  const answers = await Promise.all(Array.from({ length: 12 }, (_, i) => session.tool("Bash", { command: `echo ran > ran-${i}` })));
  // Those on the wire when the first was told are told; one that came later is none of these.
  const told = answers.filter((answer) => answer.json.result?.isError && /workspace is gone/.test(textOf(answer)));
  assert.ok(told.length >= 1, answers.map((answer) => answer.text).join("\n"));
  const ran = textOf(await session.tool("Bash", { command: "ls" })).match(/ran-\d+/g) ?? [];
  assert.equal(ran.length, answers.length - told.length); // what was told so ran nowhere
  assert.doesNotMatch(textOf(await session.tool("Bash", { command: "ls" })), /file/);
  assert.equal(await bound(), 1);
});
