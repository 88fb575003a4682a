// SPDX-License-Identifier: Apache-2.0
// /v1/sandboxes: named sandboxes and uploads, for harnesses and clients without sessions.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { after, before, test } from "node:test";
import { Wrist, textOf, until } from "../harness/wrist.mjs";

let wrist;
before(async () => {
  wrist = await Wrist.start();
});
after(() => wrist?.stop());

const create = (options = {}) => wrist.request("POST", "/v1/sandboxes", { json: {}, ...options });
const targetOf = (created) => new URL(created.json.mcp_url).pathname;

function tarOf(files) {
  const folder = fs.mkdtempSync(path.join(wrist.folder, "tar-"));
  for (const [name, content] of Object.entries(files)) {
    fs.mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
    fs.writeFileSync(path.join(folder, name), content);
  }
  return execFileSync("tar", ["-C", folder, "-cf", "-", "."], { maxBuffer: 1 << 28 });
}
const upload = (handle, body, root = "workspace", options = {}) =>
  wrist.request("PUT", `/v1/sandboxes/${handle}/files?root=${root}`, { body, headers: { "content-type": "application/x-tar" }, ...options });

test("a sandbox is made, listed, shown, reached by its URL and deleted", async () => {
  const created = await create();
  assert.equal(created.status, 201);
  const { handle, mcp_url } = created.json;
  assert.ok(mcp_url.startsWith(wrist.url));
  const listed = await wrist.request("GET", "/v1/sandboxes");
  assert.ok(listed.json.sandboxes.some((row) => row.handle === handle || row.mcp_url === mcp_url), listed.text);
  assert.equal((await wrist.request("GET", `/v1/sandboxes/${handle}`)).json.profile, "trial");
  const one = await wrist.session({ target: targetOf(created) });
  const two = await wrist.session({ target: targetOf(created) });
  await one.tool("Bash", { command: "echo shared > file" });
  assert.match(textOf(await two.tool("Bash", { command: "cat file" })), /^shared/);
  assert.equal((await wrist.request("DELETE", `/v1/sandboxes/${handle}`)).status, 204);
  assert.equal((await wrist.request("GET", `/v1/sandboxes/${handle}`)).status, 404);
  const after = await one.tool("Bash", { command: "true" });
  assert.equal(after.status, 404);
  assert.equal((await wrist.request("DELETE", `/v1/sandboxes/${handle}`)).status, 404);
});

test("another principal's sandbox looks like none", async () => {
  const created = await create();
  const bob = { token: wrist.tokens.bob };
  const real = await wrist.request("GET", `/v1/sandboxes/${created.json.handle}`, bob);
  const made = await wrist.request("GET", "/v1/sandboxes/AAAAAAAA", bob);
  assert.equal(real.status, 404);
  assert.equal(real.text, made.text);
  assert.equal((await wrist.request("DELETE", `/v1/sandboxes/${created.json.handle}`, bob)).status, 404);
  assert.equal((await wrist.request("POST", targetOf(created), { ...bob, json: { jsonrpc: "2.0", id: 1, method: "initialize",
    params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "t", version: "1" } } } })).status, 404);
  assert.ok(!(await wrist.request("GET", "/v1/sandboxes", bob)).text.includes(created.json.handle));
  await wrist.request("DELETE", `/v1/sandboxes/${created.json.handle}`);
});

test("an upload goes into the workspace or, read-only for commands, into the inputs", async () => {
  const created = await create();
  const { handle } = created.json;
  const put = await upload(handle, tarOf({ "a/b.txt": "workspace file\n" }));
  assert.equal(put.status, 200, put.text);
  assert.equal(put.json.files, 1);
  assert.equal((await upload(handle, tarOf({ "in.txt": "input file\n" }), "inputs")).status, 200);
  const session = await wrist.session({ target: targetOf(created) });
  assert.match(textOf(await session.tool("Bash", { command: "cat a/b.txt /inputs/in.txt; echo x >> a/b.txt; echo x >> /inputs/in.txt" })),
    /workspace file\ninput file\n.*(Read-only|Permission denied)/s);
  assert.match(textOf(await session.tool("Read", { file_path: "/inputs/in.txt" })), /input file/);
  assert.match(textOf(await session.tool("Grep", { pattern: "input", path: "/inputs" })), /in\.txt/);
  assert.match(textOf(await session.tool("Glob", { pattern: "*.txt", path: "/inputs" })), /in\.txt/);
  for (const [tool, args] of [["Write", { file_path: "/inputs/new", content: "x" }], ["Edit", { file_path: "/inputs/in.txt", old_string: "input", new_string: "x" }]])
    assert.equal((await session.tool(tool, args)).json.result.isError, true, tool);
  await wrist.request("DELETE", `/v1/sandboxes/${handle}`);
});

test("no member of an upload leaves its root, and limits are told", async () => {
  const created = await create();
  const { handle } = created.json;
  const evil = (...args) => execFileSync("tar", args, { cwd: wrist.folder, stdio: ["ignore", "pipe", "ignore"] });
  fs.writeFileSync(`${wrist.folder}/evil`, "evil");
  for (const tar of [evil("-P", "--transform", "s|^evil|../../escaped|", "-cf", "-", "evil"),
    evil("-P", "--transform", "s|^evil|/tmp/escaped|", "-cf", "-", "evil")]) {
    const answer = await upload(handle, tar);
    assert.equal(answer.status, 403, answer.text);
    assert.match(answer.text, /escaped/);
  }
  fs.rmSync(`${wrist.folder}/link`, { force: true });
  fs.symlinkSync("/etc", `${wrist.folder}/link`);
  assert.equal((await upload(handle, evil("-cf", "-", "link"))).status, 403);
  assert.equal((await upload(handle, Buffer.from("this is not a tar file".repeat(100)))).status, 400);
  const session = await wrist.session({ target: targetOf(created) });
  assert.match(textOf(await session.tool("Bash", { command: "ls / /tmp | grep -c escaped; ls -A | wc -l" })), /^0\n0\n/);
  await wrist.request("DELETE", `/v1/sandboxes/${handle}`);
});

const exportOf = (handle, what, options = {}) =>
  wrist.request("GET", `/v1/sandboxes/${handle}/files?path=${encodeURIComponent(what)}`, options);

test("an export comes out as a file or as a tar, scrubbed, and says what it leaves out", async () => {
  const created = await create();
  const { handle } = created.json;
  const secret = "ghp_q7Zk2WxV9bTn4RmLs8YdF3hJc6PaGe1UiXoB";
  await upload(handle, tarOf({ "out/a ü.txt": `text ${secret} end\n`, "out/deep/b.bin": Buffer.from([0, 1, 2, 255]), "page.html": "<script>1</script>" }));
  const session = await wrist.session({ target: targetOf(created) });
  await session.tool("Bash", { command: "mkfifo out/fifo; ln -s /etc/passwd out/leads-out; ln -s deep/b.bin out/stays" });

  const tar = await exportOf(handle, "out");
  assert.equal(tar.status, 200, tar.text);
  assert.equal(tar.headers["content-type"], "application/x-tar");
  assert.match(tar.headers["content-disposition"], /^attachment; filename\*=UTF-8''out\.tar$/);
  assert.equal(tar.headers["wrist-files"], "2");
  assert.equal(tar.headers["wrist-left-out"], "2");
  const folder = fs.mkdtempSync(path.join(wrist.folder, "export-"));
  execFileSync("tar", ["-C", folder, "-xf", "-"], { input: tar.bytes });
  assert.deepEqual(fs.readdirSync(folder).sort(), ["a ü.txt", "deep", "stays"]);
  assert.match(fs.readFileSync(path.join(folder, "a ü.txt"), "utf8"), /^text \[redacted:.*\] end\n$/);
  assert.deepEqual([...fs.readFileSync(path.join(folder, "stays"))], [0, 1, 2, 255]);

  const page = await exportOf(handle, "/workspace/page.html");
  assert.equal(page.text, "<script>1</script>");
  assert.equal(page.headers["x-content-type-options"], "nosniff");
  assert.match(page.headers["content-security-policy"], /sandbox/);
  assert.match((await exportOf(handle, "out/a ü.txt")).headers["content-disposition"], /''a%20%C3%BC\.txt$/);

  for (const [what, status, words] of [["gone", 404, /gone/], ["out/fifo", 400, /FIFO/], ["../../etc/passwd", 403, /./], ["/etc/passwd", 403, /./], ["out/leads-out", 403, /./]]) {
    const answer = await exportOf(handle, what);
    assert.equal(answer.status, status, `${what}: ${answer.text}`);
    assert.match(answer.json.error.message, words);
  }
  assert.equal((await wrist.request("GET", `/v1/sandboxes/${handle}/files`)).status, 400);
  assert.equal((await exportOf(handle, "out", { token: wrist.tokens.bob })).status, 404);
  await wrist.request("DELETE", `/v1/sandboxes/${handle}`);
});

test("the export tool gives small things as a resource, and says of others how they are had", async () => {
  const created = await create();
  const { handle } = created.json;
  const session = await wrist.session({ target: targetOf(created) });
  await session.tool("Bash", { command: "mkdir d; printf 'a,b\\n' > d/t.csv; printf '\\x89PNG\\r\\n\\x1a\\n' > p.png; echo no > fake.png; head -c 3000000 /dev/urandom > large.bin" });
  const text = (await session.tool("export", { path: "d/t.csv" })).json.result;
  assert.deepEqual(text.content[1], { type: "resource", resource: { uri: "file:///workspace/d/t.csv", mimeType: "text/csv", text: "a,b\n" } });
  assert.equal(text.structuredContent.given, true);
  const image = (await session.tool("export", { path: "p.png" })).json.result;
  assert.equal(Buffer.from(image.content[1].resource.blob, "base64").toString("latin1"), "\x89PNG\r\n\x1a\n");
  const tar = (await session.tool("export", { path: "d" })).json.result;
  assert.equal(tar.content[1].resource.mimeType, "application/x-tar");
  assert.match(execFileSync("tar", ["-tf", "-"], { input: Buffer.from(tar.content[1].resource.blob, "base64") }).toString(), /^t\.csv\n$/);
  const fake = (await session.tool("export", { path: "fake.png" })).json.result;
  assert.equal(fake.isError, true);
  assert.match(fake.content[0].text, /does not hold image\/png/);
  const large = (await session.tool("export", { path: "large.bin" })).json.result;
  assert.equal(large.structuredContent.given, false);
  assert.equal(large.content.length, 1);
  const whole = await exportOf(handle, "large.bin");
  assert.equal(whole.bytes.length, 3_000_000);
  await wrist.request("DELETE", `/v1/sandboxes/${handle}`);
});

test("a body that is wrong says what was expected", async () => {
  for (const json of [{ profile: "nothing" }, { profile: 3 }, { idle: "forever" }, { idle: -1 }, { surprise: 1 }, []]) {
    const answer = await create({ json });
    assert.ok([400, 404].includes(answer.status), `${JSON.stringify(json)}: ${answer.status} ${answer.text}`);
    assert.ok(answer.json.error.message.length > 10);
  }
});

test("a deleted sandbox leaves the driver within two seconds", async () => {
  const created = await create();
  const count = (await wrist.sandboxes()).length;
  await wrist.request("DELETE", `/v1/sandboxes/${created.json.handle}`);
  await until(async () => (await wrist.sandboxes()).length < count, "the sandbox to be gone", { timeout: 2000 });
});
