// SPDX-License-Identifier: Apache-2.0
// Secrets do not leave a sandbox by accident, whichever tool prints them; source code is not harmed.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { textOf, Wrist } from "../harness/wrist.mjs";

let wrist, session;
before(async () => {
  wrist = await Wrist.start({});
  session = await wrist.session();
});
after(() => wrist?.stop());

const KEY = ["AKIA", "Q7ZP2LX9VB4KT8RW"].join("");
const TOKEN = ["ghp", "q7Zp2Lx9Vb4Kt8Rw3Ny6Hc5Jd1Mf0Gs7TaUe"].join("_");
const bash = async (command) => textOf(await session.tool("Bash", { command }));
const call = async (name, args = {}) => {
  const { result } = (await session.tool(name, args)).json;
  return { text: result.content[0].text, isError: Boolean(result.isError), whole: JSON.stringify(result) };
};

test("no tool prints a secret", async () => {
  await bash(`mkdir -p d && printf 'one\nid = ${KEY}\nDB_PASSWORD=q7Zp2Lx9!\n' > d/conf && cp d/conf '${TOKEN}'`);
  for (const [name, args] of [
    ["Bash", { command: "cat d/conf; ls" }],
    ["Read", { file_path: "d/conf" }],
    ["Grep", { pattern: "id|PASS", output_mode: "content" }],
    ["Glob", { pattern: "*" }],
    ["Read", { file_path: `${TOKEN}-missing` }],
  ]) {
    const { whole } = await call(name, args);
    assert.ok(!whole.includes(KEY) && !whole.includes(TOKEN) && !whole.includes("q7Zp2Lx9"), `${name}: ${whole}`);
  }
  assert.match((await call("Read", { file_path: "d/conf" })).text, /^2\tid = \[redacted:aws-access-key\]\n3\tDB_PASSWORD=\[redacted:secret\]/m);
});

test("a key split between two writes of a command is found", async () => {
  assert.match(await bash(`printf '${KEY.slice(0, 9)}'; sleep 0.2; printf '${KEY.slice(9)}'`), /\[redacted:aws-access-key\]/);
});

test("G-29: source code comes as it is", async () => {
  const source = "if token == NUMBER:\n    password = get_password()\n.sk-loading-indicator { }\n";
  await call("Write", { file_path: "code.py", content: source });
  assert.equal(await bash("cat code.py"), `${source}exit: 0`);
});

test("a mark cannot take the place of its secret", async () => {
  await bash(`printf 'a = 1\nid = ${KEY}\n' > keep`);
  const { text } = await call("Read", { file_path: "keep" });
  const shown = text.match(/\[redacted:[a-z-]+\]/)[0];
  for (const [name, args] of [
    ["Write", { content: `a = 2\nid = ${shown}\n` }],
    ["Edit", { old_string: "a = 1", new_string: `a = 2 # ${shown}` }],
    ["Edit", { old_string: `id = ${shown}`, new_string: "id = none" }],
  ]) {
    const refused = await call(name, { file_path: "keep", ...args });
    assert.equal(refused.isError, true);
    assert.match(refused.text, /mark of the form \[redacted:…\]/);
  }
  assert.equal((await call("Edit", { file_path: "keep", old_string: "a = 1", new_string: "a = 2" })).isError, false);
  assert.match(await bash(`grep -c ${KEY.slice(0, 8)} keep; head -1 keep`), /^1\na = 2/);
});
