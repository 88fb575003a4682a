// SPDX-License-Identifier: Apache-2.0
// Volumes through the gateway: named at initialize, by a modern URL and over REST; exclusive, counted,
// listed, deleted, and gone when nobody used them.
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import path from "node:path";
import { after, before, test } from "node:test";
import { Wrist, bin, isRoot, textOf, until } from "../harness/wrist.mjs";

const size = { volumes: { size: "32MiB", inodes: 2048 } };
const skip = isRoot ? false : "volumes need root";
let wrist;
before(async () => {
  if (skip) return;
  wrist = await Wrist.start({
    profiles: {
      trial: { gateway: { volumes: { per_principal: 3, expiry: "1h" }, warm: 1 }, driver: size },
      shared: { gateway: { volumes: { per_principal: 3 }, bind: "principal", warm: 0 }, driver: size },
      short: { gateway: { volumes: { per_principal: 3, expiry: "1s" }, warm: 0 }, driver: size },
      plain: { gateway: { warm: 0 } },
    },
    driver: { volume_grace: "0s" },
    tokens: [{ subject: "ann" }, { subject: "bob" }],
  });
});
after(() => wrist?.stop());

const sh = async (session, command) => textOf(await session.tool("Bash", { command }));
const open = (volume, options = {}) => wrist.session({ target: `/mcp?volume=${volume}`, ...options });
const create = (json, options = {}) => wrist.request("POST", "/v1/sandboxes", { json, ...options });
const volumes = async (options = {}) => (await wrist.request("GET", "/v1/volumes", options)).json.volumes;
const drop = (name, options = {}) => wrist.request("DELETE", `/v1/volumes/${name}`, options);
const targetOf = (created) => new URL(created.json.mcp_url).pathname;
const end = (created, options = {}) => wrist.request("DELETE", `/v1/sandboxes/${created.json.handle}`, options);
// The end of a sandbox is told before everything of it is gone.
const dropped = (name, options) => until(async () => (await drop(name, options)).status === 204, `${name} to be deleted`);

test("what one session leaves in its volume, the next one finds", { skip }, async () => {
  const first = await open("work");
  assert.match(await sh(first, "echo kept > file; echo ok"), /^ok/);
  await first.close();
  const second = await open("work");
  assert.match(await sh(second, "cat file"), /^kept/);
  await second.close();
  const without = await wrist.session();
  assert.match(await sh(without, "ls -A | wc -l"), /^0/);
  await without.close();
  await dropped("work");
  assert.deepEqual(await volumes(), []);
});

test("a second session is told who has the volume, in words that reach its model", { skip }, async () => {
  const first = await open("work");
  await sh(first, "echo mine > file");
  const second = await open("work");
  const refused = await second.tool("Bash", { command: "touch ran" });
  assert.equal(refused.status, 200);
  assert.equal(refused.json.result.isError, true);
  assert.match(textOf(refused), /volume "work" is in use by your session [0-9a-f]{8}; nothing ran.*Try again/);
  assert.ok(Number(refused.headers["retry-after"]) > 0);
  const rest = await create({ volume: "work" });
  assert.equal(rest.status, 409);
  assert.ok(Number(rest.headers["retry-after"]) > 0);
  assert.match(rest.json.error.message, /in use by your session/);
  const [row] = await volumes();
  assert.equal(row.state, "in use");
  assert.equal((await drop("work")).status, 409);
  assert.equal((await wrist.request("DELETE", `/v1/sandboxes/${row.handle}`)).status, 204); // what the list is for
  assert.match(await sh(second, "ls"), /^file\n/);
  await second.close();
  await dropped("work");
});

test("another principal's volume of the same name is another, and nobody else's can be reached", { skip }, async () => {
  const bob = { token: wrist.tokens.bob };
  const hers = await open("work");
  await sh(hers, "echo ann > file");
  const his = await open("work", bob);
  assert.match(await sh(his, "ls -A | wc -l"), /^0/);
  await his.close();
  await dropped("work", bob);
  assert.equal((await drop("work", bob)).status, 404);
  assert.match(await sh(hers, "cat file"), /^ann/);
  await hers.close();
  await dropped("work");
});

test("over REST: made with a volume, shown with it, and its row in the list", { skip }, async () => {
  const made = await create({ volume: "data.1" });
  assert.equal(made.status, 201, made.text);
  assert.equal(made.json.volume, "data.1");
  assert.equal((await wrist.request("GET", `/v1/sandboxes/${made.json.handle}`)).json.volume, "data.1");
  const [row] = await volumes();
  assert.deepEqual([row.name, row.profile, row.bytes, row.state], ["data.1", "trial", 33554432, "in use"]);
  assert.equal(row.handle, made.json.handle);
  const session = await wrist.session({ target: `${targetOf(made)}?volume=other` }); // it has its sandbox: nothing to select
  await sh(session, "echo here > file");
  assert.equal((await volumes()).length, 1);
  await end(made);
  const free = await until(async () => (await volumes()).find((v) => v.state === "free"), "it to be free");
  assert.ok(Date.parse(free.expires_at) - Date.now() > 3500e3);
  const again = await create({ volume: "data.1" });
  assert.match(await sh(await wrist.session({ target: targetOf(again) }), "cat file"), /^here/);
  await end(again);
  await dropped("data.1");
});

test("a modern client names it in the URL, and reaches that sandbox with each call", { skip }, async () => {
  const call = (command, query = "?volume=modern") => wrist.request("POST", `/mcp${query}`, {
    headers: { "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "Bash" },
    json: { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "Bash", arguments: { command },
      _meta: { "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": { name: "t", version: "1" } } } } });
  assert.match(textOf(await call("echo modern > file; hostname; cat file")), /modern/);
  assert.match(textOf(await call("cat file")), /^modern/);
  assert.match(textOf(await call("ls -A | wc -l", "")), /^0/); // without: another sandbox
  const bad = await call("true", "?volume=..");
  assert.equal(bad.status, 400);
  assert.match(bad.json.error.message, /volume=: expected a name/);
  for (const row of (await wrist.request("GET", "/v1/sandboxes")).json.sandboxes)
    await wrist.request("DELETE", `/v1/sandboxes/${row.handle}`);
  await dropped("modern");
});

test("sessions that share a sandbox share one for each volume", { skip }, async () => {
  const target = "/mcp/shared?volume=team";
  const [one, two, none] = [await wrist.session({ target }), await wrist.session({ target }), await wrist.session({ target: "/mcp/shared" })];
  await sh(one, "echo ours > file");
  assert.match(await sh(two, "cat file"), /^ours/);
  assert.match(await sh(none, "ls -A | wc -l"), /^0/);
  for (const row of (await wrist.request("GET", "/v1/sandboxes")).json.sandboxes)
    await wrist.request("DELETE", `/v1/sandboxes/${row.handle}`);
  await dropped("team");
});

test("what cannot be is refused before anything is made: names, profiles, numbers", { skip }, async () => {
  for (const [target, says] of [["/mcp?volume=A", /expected a name of at most 48/], ["/mcp?volume=a%2Fb", /expected a name/],
    ["/mcp/plain?volume=a", /profile plain has no volumes/]])
    await assert.rejects(wrist.session({ target }), (error) => /initialize: 400/.test(error.message) && says.test(error.message), target);
  for (const [json, says] of [[{ volume: "" }, /expected a name/], [{ volume: 7 }, /expected a name/], [{ volume: "a", profile: "plain" }, /no volumes/]]) {
    const refused = await create(json);
    assert.equal(refused.status, 400);
    assert.match(refused.json.error.message, says);
  }
  const made = [];
  for (const volume of ["a", "b", "c"]) made.push(await create({ volume }));
  assert.deepEqual(made.map((m) => m.status), [201, 201, 201]);
  const fourth = await create({ volume: "d" });
  assert.equal(fourth.status, 429);
  assert.match(fourth.json.error.message, /3 volumes of profile trial, which is the limit/);
  const other = await create({ volume: "a", profile: "short" });
  assert.equal(other.status, 400);
  assert.match(other.json.error.message, /of profile trial/);
  for (const m of made) await end(m);
  for (const volume of ["a", "b", "c"]) await dropped(volume);
});

test("the next call of a session whose sandbox was lost is told that its volume is kept, and it is", { skip }, async () => {
  const session = await open("work");
  await sh(session, "echo kept > file; sync file");
  const [row] = (await wrist.sandboxes()).filter((box) => box.volume);
  await wrist.driver("DELETE", `/v1/sandboxes/${row.id}?generation=${row.generation}`);
  const told = await until(async () => {
    const answer = await session.tool("Bash", { command: "touch ran" });
    return answer.json.result?.isError ? answer : null;
  }, "the loss to be told");
  assert.match(textOf(told), /same volume as its workspace: what was written there is kept/);
  assert.match(await sh(session, "ls; cat file"), /^file\nkept/);
  await session.close();
  await dropped("work");
});

test("one that nobody used for its time is deleted, and log and metric say so", { skip }, async () => {
  const made = await create({ volume: "brief", profile: "short" });
  const used = until(async () => (await volumes()).some((v) => v.name === "brief" && v.state === "in use"), "it to be used");
  await used;
  await end(made);
  await until(async () => (await volumes()).length === 0, "it to expire");
  await until(async () => (await wrist.metrics())['wrist_volumes_expired_total{profile="short"}'] === 1, "the metric");
  assert.ok(wrist.logs.driver.some((line) => line.event === "volume.expired"));
  assert.ok(wrist.logs.gateway.some((line) => line.event === "volume.expired" && line.profile === "short"));
});

test("an operator lists them all and deletes by id, but none that is in use", { skip }, async () => {
  const ctl = (...words) => spawnSync(path.join(bin, "wristctl"), [...words, `--admin=unix:${wrist.run}/admin.sock`], { encoding: "utf8" });
  const made = await create({ volume: "work" });
  const [row] = JSON.parse(ctl("volume", "list").stdout).volumes;
  assert.equal(row.name, "work");
  assert.match(row.id, /^[0-9a-f]{64}$/);
  const refused = ctl("volume", "delete", row.id);
  assert.equal(refused.status, 1);
  assert.match(refused.stderr, /a sandbox has the volume/);
  assert.equal(ctl("volume", "delete", "work").status, 2);
  await end(made);
  await until(() => ctl("volume", "delete", row.id).status === 0, "it to be deleted");
  assert.equal(ctl("volume", "delete", row.id).status, 1);
  assert.deepEqual(JSON.parse(ctl("volume", "list").stdout).volumes, []);
});

test("its name stands nowhere on the disk", { skip }, async () => {
  const made = await create({ volume: "quite-a-secret-name" });
  const found = spawnSync("grep", ["-rl", "quite-a-secret-name", path.join(wrist.folder, "driver"), path.join(wrist.folder, "gateway")], { encoding: "utf8" });
  assert.equal(found.stdout, "");
  assert.equal(execFileSync("find", [wrist.folder, "-name", "*secret*"], { encoding: "utf8" }), "");
  await end(made);
  await dropped("quite-a-secret-name");
});
