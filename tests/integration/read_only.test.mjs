// SPDX-License-Identifier: Apache-2.0
// A profile that nobody can write in (G-08): the kernel refuses, and nothing of a repository is run.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { after, before, test } from "node:test";
import { isRoot, textOf, Wrist } from "../harness/wrist.mjs";

const skip = isRoot ? false : "needs root: a sandbox's own disk";
let wrist, handle, session;
before(async () => {
  if (skip) return;
  wrist = await Wrist.start({ profiles: { trial: { driver: { read_only: true } } } });
  const created = await wrist.request("POST", "/v1/sandboxes", { json: {} });
  handle = created.json.handle;
  session = await wrist.session({ target: new URL(created.json.mcp_url).pathname });
});
after(() => wrist?.stop());

const put = (root) => {
  const folder = fs.mkdtempSync(path.join(wrist.folder, "tar-"));
  fs.mkdirSync(path.join(folder, ".git"));
  fs.writeFileSync(path.join(folder, "main.c"), "int main(void) { return 0; }\n");
  fs.writeFileSync(path.join(folder, ".git/config"), "[core]\n\tfsmonitor = touch /tmp/ran\n");
  const body = execFileSync("tar", ["-C", folder, "-cf", "-", "."]);
  return wrist.request("PUT", `/v1/sandboxes/${handle}/files?root=${root}`, { body, headers: { "content-type": "application/x-tar" } });
};
const call = async (name, args) => (await session.tool(name, args)).json;

test("what is uploaded to /inputs is read at /workspace", { skip }, async () => {
  assert.equal((await put("inputs")).status, 200);
  assert.match(textOf(await session.tool("Read", { file_path: "main.c" })), /1\tint main/);
  assert.match(textOf(await session.tool("Grep", { pattern: "return 0", path: "/workspace" })), /main\.c:1:/);
  assert.match(textOf(await session.tool("Glob", { pattern: "**/*.c" })), /^main\.c$/m);
});

test("only the tools that read are listed, and the others are unknown", { skip }, async () => {
  const { json } = await session.call("tools/list");
  assert.deepEqual(json.result.tools.filter((tool) => !tool.annotations.readOnlyHint), []);
  assert.deepEqual(json.result.tools.map((tool) => tool.name).filter((name) => ["Read", "Glob", "Grep"].includes(name)).sort(), ["Glob", "Grep", "Read"]);
  for (const [name, args] of [["Bash", { command: "true" }], ["Write", { file_path: "x", content: "x" }], ["Edit", { file_path: "main.c", old_string: "0", new_string: "1" }],
    ["run_tests", {}], ["snapshot_create", { name: "x" }], ["KillShell", { shell_id: "x" }]])
    assert.equal((await call(name, args)).error?.code, -32602, name);
});

test("the kernel refuses writes to /workspace, whoever tries", { skip }, async () => {
  const refused = await put("workspace");
  assert.ok(refused.status >= 400, String(refused.status));
  assert.match(refused.text, /[Rr]ead-only/);
  const inside = execFileSync("sh", ["-c", "for p in /proc/[0-9]*; do [ \"$(readlink $p/exe 2>/dev/null | grep -c wrist-worker)\" = 1 ] && grep -ls ' /workspace ' $p/mounts; done; true"], { encoding: "utf8" }).trim().split("\n");
  const mounts = inside.flatMap((file) => fs.readFileSync(file, "utf8").split("\n"));
  assert.ok(mounts.some((line) => / \/workspace \S+ ro,/.test(line)));
});
