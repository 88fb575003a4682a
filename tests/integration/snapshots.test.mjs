// SPDX-License-Identifier: Apache-2.0
// Snapshots in a real sandbox, as the command's user, on its own disk.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { textOf, Wrist } from "../harness/wrist.mjs";

let wrist, session;
before(async () => {
  wrist = await Wrist.start({ profiles: { trial: { driver: { limits: { disk: "64MiB" } } } } });
  session = await wrist.session();
});
after(() => wrist?.stop());

const bash = async (command) => textOf(await session.tool("Bash", { command }));
const call = async (name, args = {}) => {
  const { result } = (await session.tool(name, args)).json;
  return { text: result.content[0].text, isError: Boolean(result.isError) };
};
const LIST = "find . -printf '%P %y %m %s %l\\n' | LC_ALL=C sort; find . -type f -readable -exec sha256sum {} + | LC_ALL=C sort -k2";

test("a restore undoes what commands did, whatever rights they took away", async () => {
  await bash(`mkdir -p src/a .git empty && echo one > src/a/x && echo '[core]' > .git/config && printf 'café\\n' > 'src/naïve name'
    ln -s a src/link && mkfifo pipe && chmod 0440 src/a/x && chmod 0555 src/a && printf build/ > .gitignore && mkdir build && echo o > build/o`);
  const was = await bash(LIST);
  assert.deepEqual((await call("snapshot_create", { name: "good" })).isError, false);
  await bash(`chmod 0755 src/a && rm -rf src/a/x build pipe src/link && echo two > src/a/y && chmod 0000 src/a
    mkdir -p locked/in && echo z > locked/in/z && chmod 0000 locked/in locked && echo '[core]x' > .git/config && touch 'src/naïve extra'`);
  const restored = await call("snapshot_restore", { name: "good" });
  assert.equal(restored.isError, false, restored.text);
  assert.match(restored.text, /^D src\/naïve extra$/m);
  assert.match(restored.text, /^M \.git\/config$/m);
  assert.equal(await bash(LIST), was);
  assert.equal((await call("snapshot_diff", { name: "good" })).text, "no differences\n");
});

test("a Write after a restore needs a Read of what is there now", async () => {
  await call("Write", { file_path: "note", content: "first\n" });
  await call("snapshot_create", { name: "note" });
  await call("Write", { file_path: "note", content: "second\n" });
  await call("snapshot_restore", { name: "note" });
  const refused = await call("Edit", { file_path: "note", old_string: "first", new_string: "third" });
  assert.match(refused.text, /changed since you read it/);
  await call("Read", { file_path: "note" });
  assert.equal((await call("Edit", { file_path: "note", old_string: "first", new_string: "third" })).isError, false);
});

test("commands find nothing of a snapshot, and cannot take it away", async () => {
  await bash("echo hidden-in-a-snapshot > secret-file");
  await call("snapshot_create", { name: "kept" });
  await bash("rm secret-file");
  const found = await bash("grep -rsl hidden-in-a-snapshot . /tmp 2>/dev/null; ls -l /proc/*/fd 2>/dev/null | grep -c deleted; rm -rf ./* ./.[a-z]* 2>/dev/null; ls -A");
  assert.match(found, /^0\n/);
  assert.equal((await call("snapshot_restore", { name: "kept", keep_current: false })).isError, false);
  assert.match(await bash("cat secret-file"), /hidden-in-a-snapshot/);
});

test("a full disk is told, and loses nothing", async () => {
  await bash("rm -rf ./* ; echo precious > precious; head -c 40000000 /dev/urandom > large");
  const full = await call("snapshot_create", { name: "too-much" });
  assert.equal(full.isError, true);
  assert.match(full.text, /disk/);
  assert.doesNotMatch((await call("snapshot_list")).text, /too-much/);
  assert.match(await bash("rm large; cat precious"), /precious/);
  assert.equal((await call("snapshot_create", { name: "small" })).isError, false);
});

test("snapshots outlive the gateway, and end with the sandbox", async () => {
  await wrist.kill("gateway");
  await wrist.startGateway();
  assert.match((await call("snapshot_list")).text, /^small {2}/m);
  const other = await wrist.session();
  assert.match(textOf(await other.tool("snapshot_list", {})), /no snapshots yet/);
});
