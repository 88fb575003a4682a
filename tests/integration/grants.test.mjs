// SPDX-License-Identifier: Apache-2.0
// A sandbox's owner lets another principal use it, and takes that back: two principals end to end,
// and a third that must not even learn that the sandbox exists.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Wrist, isRoot, textOf, until } from "../harness/wrist.mjs";

let wrist;
before(async () => {
  wrist = await Wrist.start({ tokens: [{ subject: "ann" }, { subject: "bob" }, { subject: "eve" },
    { subject: "ivy", tenant: "other" }, { subject: "max", profiles: ["elsewhere"] }],
  profiles: { trial: {}, elsewhere: {} } });
});
after(() => wrist?.stop());

const as = (subject) => ({ token: wrist.tokens[subject] });
const targetOf = (made) => new URL(made.mcp_url).pathname;
const skip = isRoot ? false : "needs root: commands of another user";

async function make() {
  const made = await wrist.request("POST", "/v1/sandboxes", { json: { profile: "trial" } });
  assert.equal(made.status, 201, made.text);
  return made.json;
}
const grant = (handle, body, options = {}) =>
  wrist.request("POST", `/v1/sandboxes/${handle}/grants`, { json: body, ...options });
const revoke = (handle, id, options = {}) =>
  wrist.request("DELETE", `/v1/sandboxes/${handle}/grants/${id}`, options);
const end = (handle) => wrist.request("DELETE", `/v1/sandboxes/${handle}`);

const meta = { "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {} };
const modern = (target, name, args, options = {}) => wrist.request("POST", target, { ...options,
  headers: { "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": name },
  json: { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: args, _meta: meta } } });
const bash = (target, command, subject) => modern(target, "Bash", { command }, as(subject));

async function granted(subject = "bob") {
  const made = await make();
  const answer = await grant(made.handle, { subject });
  assert.equal(answer.status, 201, answer.text);
  return { made, given: answer.json, own: targetOf(made), target: targetOf(answer.json) };
}

test("a grader reads and runs in the owner's workspace by a handle of its own, in both eras", async () => {
  const { made, given, own, target } = await granted();
  assert.notEqual(given.handle, made.handle);
  assert.ok(given.mcp_url.startsWith(`${wrist.url}/s/${given.handle}/`));
  assert.match(given.grant, /^[0-9a-f]{64}$/);
  const owner = await wrist.session({ target: own });
  assert.equal((await owner.tool("Write", { file_path: "answer.txt", content: "42\n" })).json.result.isError, false);
  const grader = await wrist.session({ target, ...as("bob") });
  assert.match(textOf(await grader.tool("Read", { file_path: "answer.txt" })), /42/);
  assert.match(textOf(await bash(target, "cat answer.txt; echo graded > verdict", "bob")), /^42/);
  assert.match(textOf(await owner.tool("Bash", { command: "cat verdict" })), /^graded/);
  const again = await grant(made.handle, { subject: "bob" });
  assert.deepEqual(again.json, given); // the same grant is the same handle
  assert.equal((await grader.close()).status, 204);
  assert.match(textOf(await owner.tool("Bash", { command: "cat verdict" })), /^graded/);
  await end(made.handle);
});

test("what one principal has read, another has not: Write needs its own Read", async () => {
  const { made, own, target } = await granted();
  await bash(own, "echo one > file", "ann");
  assert.equal((await modern(own, "Read", { file_path: "file" }, as("ann"))).json.result.isError, false);
  const write = (where, who) => modern(where, "Write", { file_path: "file", content: "two\n" }, as(who));
  assert.equal((await write(target, "bob")).json.result.isError, true);
  assert.equal((await modern(target, "Read", { file_path: "file" }, as("bob"))).json.result.isError, false);
  assert.equal((await write(target, "bob")).json.result.isError, false);
  await end(made.handle);
});

test("no third principal opens either handle, nor can it tell that there is something", async () => {
  const { made, given, own, target } = await granted();
  const nothing = `${"A".repeat(given.handle.length)}`;
  for (const who of ["eve", "ivy", "max"]) {
    for (const rest of [{}, { method: "DELETE" }, { method: "POST", path: "/grants", json: { subject: who } },
      { method: "DELETE", path: `/grants/${given.grant}` }, { method: "PUT", path: "/files?root=workspace", body: "x" }]) {
      const ask = (handle) => wrist.request(rest.method ?? "GET", `/v1/sandboxes/${handle}${rest.path ?? ""}`,
        { ...as(who), json: rest.json, body: rest.body });
      const unknown = await ask(nothing);
      for (const handle of [made.handle, given.handle]) {
        const answer = await ask(handle);
        assert.equal(answer.status, 404, `${who} ${JSON.stringify(rest)}: ${answer.text}`);
        assert.equal(answer.text, unknown.text);
      }
    }
    const unknown = await bash(`/s/${nothing}/mcp`, "true", who);
    for (const where of [own, target])
      assert.equal((await bash(where, "true", who)).text, unknown.text, who);
  }
  // The grantee's handle is of no use to the owner, who has one of its own.
  assert.equal((await bash(target, "true", "ann")).json.result.isError, true);
  await end(made.handle);
});

test("a grantee may use the sandbox, not grant, show, list or delete it", async () => {
  const { made, given, target } = await granted();
  for (const handle of [given.handle, made.handle]) {
    assert.equal((await grant(handle, { subject: "eve" }, as("bob"))).status, 404);
    assert.equal((await revoke(handle, given.grant, as("bob"))).status, 404);
    assert.equal((await wrist.request("DELETE", `/v1/sandboxes/${handle}`, as("bob"))).status, 404);
    assert.equal((await wrist.request("GET", `/v1/sandboxes/${handle}`, as("bob"))).status, 404);
  }
  assert.deepEqual((await wrist.request("GET", "/v1/sandboxes", as("bob"))).json.sandboxes, []);
  assert.match(textOf(await bash(target, "echo still", "bob")), /^still/);
  await end(made.handle);
});

test("a tenant is the owner's own unless another is named", async () => {
  const made = await make();
  const wrong = await grant(made.handle, { subject: "ivy" });
  assert.equal((await bash(targetOf(wrong.json), "echo in", "ivy")).json.result.isError, true);
  const right = await grant(made.handle, { subject: "ivy", tenant: "other" });
  assert.match(textOf(await bash(targetOf(right.json), "echo in", "ivy")), /^in/);
  await end(made.handle);
});

test("a revoked grantee is refused, and what it runs ends; the owner's goes on", { skip }, async () => {
  const { made, given, own, target } = await granted();
  const grader = await wrist.session({ target, ...as("bob") });
  const running = [
    grader.tool("Bash", { command: "echo > legacy-runs; exec sleep 7611" }),
    bash(target, "echo > modern-runs; exec sleep 7612", "bob"),
  ];
  await grader.tool("Bash", { command: "exec sleep 7613", run_in_background: true });
  await modern(target, "Bash", { command: "exec sleep 7614", run_in_background: true }, as("bob"));
  const owners = bash(own, "while [ ! -e stop ]; do sleep 0.05; done; echo stayed", "ann");
  const sleepers = async () => textOf(await bash(own, "pgrep -fc '^sleep 761[1-4]'", "ann")).split("\n")[0];
  await until(async () => (await sleepers()) === "4", "all four of the grantee's commands to run");
  assert.equal((await revoke(made.handle, given.grant)).status, 204);
  await until(async () => (await sleepers()) === "0", "the grantee's commands to end");
  for (const answer of await Promise.all(running))
    assert.ok(answer.json?.error || answer.json?.result?.isError, `${answer.status} ${answer.text}`);
  assert.equal((await grader.tool("Read", { file_path: "legacy-runs" })).status, 404);
  assert.equal((await bash(target, "true", "bob")).json.result.isError, true);
  assert.equal((await wrist.session({ target, ...as("bob") }).catch((error) => error)).message.slice(0, 15), "initialize: 404");
  await bash(own, "touch stop", "ann");
  assert.match(textOf(await owners), /^stayed/);
  assert.equal((await revoke(made.handle, given.grant)).status, 404);
  // Made again, it is open again; the old session's sandbox is the same.
  assert.deepEqual((await grant(made.handle, { subject: "bob" })).json, given);
  assert.match(textOf(await bash(target, "ls", "bob")), /legacy-runs/);
  await end(made.handle);
});

test("a grant outlives a gateway that was killed, and so does its end", async () => {
  const { made, given, own, target } = await granted();
  const grader = await wrist.session({ target, ...as("bob") });
  await grader.tool("Bash", { command: "echo kept > file" });
  await wrist.kill("gateway");
  await wrist.startGateway();
  assert.match(textOf(await grader.tool("Bash", { command: "cat file" })), /^kept/);
  assert.match(textOf(await bash(target, "cat file", "bob")), /^kept/);
  assert.equal((await bash(target, "true", "eve")).json.result.isError, true);
  assert.equal((await revoke(made.handle, given.grant)).status, 204);
  await wrist.kill("gateway");
  await wrist.startGateway();
  assert.equal((await bash(target, "true", "bob")).json.result.isError, true);
  assert.match(textOf(await bash(own, "cat file", "ann")), /^kept/);
  await end(made.handle);
});

test("the owner's delete ends the sandbox for both", async () => {
  const { made, own, target } = await granted();
  const grader = await wrist.session({ target, ...as("bob") });
  await grader.tool("Bash", { command: "true" });
  assert.equal((await end(made.handle)).status, 204);
  assert.equal((await grader.tool("Bash", { command: "true" })).status, 404);
  for (const [where, who] of [[own, "ann"], [target, "bob"]]) {
    const answer = await bash(where, "true", who);
    assert.equal(answer.json.result.isError, true);
    assert.match(textOf(answer), /new/i);
  }
  assert.equal((await grant(made.handle, { subject: "bob" })).status, 404);
});

test("a grantee uploads into the workspace as its owner does", async () => {
  const { made, given, own } = await granted();
  const { execFileSync } = await import("node:child_process");
  const fs = await import("node:fs");
  fs.writeFileSync(`${wrist.folder}/hidden_test`, "checks\n");
  const tar = execFileSync("tar", ["-C", wrist.folder, "-cf", "-", "hidden_test"]);
  const put = await wrist.request("PUT", `/v1/sandboxes/${given.handle}/files?root=workspace`,
    { ...as("bob"), body: tar, headers: { "content-type": "application/x-tar" } });
  assert.equal(put.status, 200, put.text);
  assert.match(textOf(await bash(own, "cat hidden_test", "ann")), /^checks/);
  await end(made.handle);
});

test("a ninth grant is refused, and a body that is wrong says what was expected", async () => {
  const made = await make();
  for (const body of [{}, { subject: "" }, { subject: 3 }, { subject: "a", surprise: 1 }, [], { subject: "ann" },
    { subject: "x".repeat(600) }, { subject: "bob", tenant: null }]) {
    const answer = await grant(made.handle, body);
    assert.equal(answer.status, 400, `${JSON.stringify(body)}: ${answer.text}`);
    assert.ok(answer.json.error.message.length > 10);
  }
  assert.equal((await wrist.request("POST", `/v1/sandboxes/${made.handle}/grants`,
    { body: '{"subject":"bob","subject":"eve"}', headers: { "content-type": "application/json" } })).status, 400);
  assert.equal((await wrist.request("POST", `/v1/sandboxes/${made.handle}/grants`,
    { body: "x".repeat(5000), headers: { "content-type": "application/json" } })).status, 413);
  for (let i = 0; i < 8; i++)
    assert.equal((await grant(made.handle, { subject: `grader-${i}` })).status, 201);
  const ninth = await grant(made.handle, { subject: "bob" });
  assert.equal(ninth.status, 429);
  assert.match(ninth.text, /at most 8 grants/);
  for (const id of ["x", "0".repeat(64), "%00".repeat(64), "Z".repeat(64), "a".repeat(63)])
    assert.equal((await revoke(made.handle, id)).status, 404, id);
  await end(made.handle);
});
