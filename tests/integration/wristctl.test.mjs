// SPDX-License-Identifier: Apache-2.0
// wristctl on files of its own: what an operator types and sees.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { after, before, test } from "node:test";
import { bin } from "../harness/wrist.mjs";

let folder, file;
before(() => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), "wristctl-"));
  file = path.join(folder, "tokens.yaml");
});
after(() => fs.rmSync(folder, { recursive: true, force: true }));

const ctl = (...words) => {
  const { status, stdout, stderr } = spawnSync(path.join(bin, "wristctl"), words, { encoding: "utf8", cwd: folder });
  return { status, stdout, stderr };
};
const sha256 = (text) => createHash("sha256").update(text).digest("hex");

test("a new token is shown once, and its file holds the hash only", () => {
  const made = ctl("token", "new", "--subject", "ann", "--profiles", "c,go", "--expires", "30d", "--file", file);
  assert.equal(made.status, 0, made.stderr);
  assert.match(made.stdout, /^wrist_[A-Za-z0-9_-]{43}\n$/);
  const text = fs.readFileSync(file, "utf8");
  assert.ok(text.includes(sha256(made.stdout.trim())));
  assert.ok(!text.includes(made.stdout.trim()));
  assert.equal(fs.statSync(file).mode & 0o777, 0o600);
  const days = (Date.parse(/expires: "?([^"\n]*)/.exec(text)[1]) - Date.now()) / 86400e3;
  assert.ok(days > 29.9 && days <= 30);
});

test("without a file the entry is printed for the operator to paste", () => {
  const made = ctl("token", "new", "--subject=bob");
  const token = /^token: (wrist_\S+)$/m.exec(made.stdout)[1];
  assert.ok(made.stdout.includes(`  - sha256: ${sha256(token)}\n    subject: bob\n`));
});

test("tokens made at the same time all end up in the file", async () => {
  const shared = path.join(folder, "shared.yaml");
  const statuses = await Promise.all(Array.from({ length: 12 }, (_, i) => new Promise((resolve) =>
    spawn(path.join(bin, "wristctl"), ["token", "new", "--subject", `s${i}`, "--file", shared], { stdio: "ignore" }).on("exit", resolve))));
  assert.deepEqual(statuses, Array(12).fill(0));
  assert.equal(ctl("token", "list", "--file", shared).stdout.trim().split("\n").length, 13);
  assert.deepEqual(fs.readdirSync(folder).filter((name) => name.endsWith(".new")), []);
});

test("a revoked token leaves the list, and a second try says that there is none", () => {
  ctl("token", "new", "--subject", "eve", "--file", file);
  const [, hash] = /^([0-9a-f]{12})  eve /m.exec(ctl("token", "list", "--file", file).stdout);
  assert.equal(ctl("token", "revoke", "--file", file, hash).stdout, "revoked 1\n");
  assert.ok(!/ eve /.test(ctl("token", "list", "--file", file).stdout));
  assert.equal(ctl("token", "revoke", "--file", file, hash).status, 1);
});

test("a wrong call is told on stderr with status 2, a broken file by its place with status 1", () => {
  for (const words of [[], ["token"], ["token", "new"], ["token", "new", "--subject", "a", "--expires", "soon"],
    ["token", "new", "--subject", "a", "--profiles", "A"], ["token", "new", "--subject", "a", "x"],
    ["token", "list"], ["token", "revoke", "--file", file], ["token", "revoke", "--file", file, "12"]]) {
    const { status, stdout, stderr } = ctl(...words);
    assert.equal(status, 2, words.join(" "));
    assert.equal(stdout, "");
    assert.match(stderr, /wristctl/);
  }
  const broken = path.join(folder, "broken.yaml");
  fs.writeFileSync(broken, "tokens:\n  - sha256: 12\n");
  const { status, stderr } = ctl("token", "list", "--file", broken);
  assert.equal(status, 1);
  assert.ok(stderr.includes(`${broken}:2:13: tokens[0].sha256: expected the token's SHA-256`), stderr);
});

test("the help names every command and option", () => {
  const { status, stdout } = ctl("--help");
  assert.equal(status, 0);
  for (const word of ["token new", "token list", "token revoke", "--subject", "--tenant", "--profiles", "--expires", "--provider", "--file"])
    assert.ok(stdout.includes(word), word);
});

test("--help helps behind a command's name too", () => {
  for (const words of [["--help"], ["token", "--help"], ["token", "new", "--help"]]) {
    const { status, stdout } = ctl(...words);
    assert.equal(status, 0, words.join(" "));
    assert.match(stdout, /wristctl token new --subject/);
  }
});
