// SPDX-License-Identifier: Apache-2.0
// Statuses and shapes of the legacy revisions, as clients' state machines depend on them.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import https from "node:https";
import { Wrist, messagesOf, textOf, until } from "../harness/wrist.mjs";

let wrist;
before(async () => {
  wrist = await Wrist.start({
    profiles: { trial: {}, other: {} },
    tokens: [{ subject: "ann" }, { subject: "bob" }, { subject: "eve", profiles: ["other"] }],
  });
});
after(() => wrist?.stop());

const ping = { jsonrpc: "2.0", id: 7, method: "ping" };
const initialize = (revision = "2025-11-25", id = 1) => ({ jsonrpc: "2.0", id, method: "initialize",
  params: { protocolVersion: revision, capabilities: {}, clientInfo: { name: "t", version: "1" } } });

for (const revision of ["2025-03-26", "2025-06-18", "2025-11-25"]) {
  test(`${revision}: initialize is answered with that revision, a session id and no sandbox`, async () => {
    const bound = async () => (await wrist.sandboxes()).filter((row) => row.note).length; // others are warm
    const before = await bound();
    const answer = await wrist.request("POST", "/mcp", { json: initialize(revision, "α-1") });
    assert.equal(answer.status, 200);
    assert.equal(answer.json.id, "α-1");
    assert.equal(answer.json.result.protocolVersion, revision);
    const id = answer.headers["mcp-session-id"];
    assert.match(id, /^[\x21-\x7e]{16,511}$/);
    assert.equal(await bound(), before);
  });

  test(`${revision}: ids come back as they were sent, whatever their type`, async () => {
    const session = await wrist.session({ revision });
    for (const id of ["1", '"1"', "9007199254740993", "-5", '"\\u00e9\\n"']) {
      const answer = await wrist.request("POST", "/mcp", {
        body: `{"jsonrpc":"2.0","id":${id},"method":"ping"}`,
        headers: { "content-type": "application/json", accept: "application/json, text/event-stream", "mcp-session-id": session.id, "mcp-protocol-version": revision },
      });
      assert.equal(answer.status, 200);
      assert.ok(answer.text.includes(`"id":${id}`), answer.text);
    }
  });

  test(`${revision}: notifications are answered 202 without a body`, async () => {
    const session = await wrist.session({ revision });
    for (const method of ["notifications/initialized", "notifications/cancelled", "notifications/made-up"]) {
      const answer = await session.send({ jsonrpc: "2.0", method, params: { requestId: 99 } });
      assert.equal(answer.status, 202, method);
      assert.equal(answer.text, "");
    }
  });

  test(`${revision}: DELETE ends a session; then everything on it is 404 with the request's id`, async () => {
    const session = await wrist.session({ revision });
    assert.match(textOf(await session.tool("Bash", { command: "echo here" })), /^here/);
    assert.equal((await session.close()).status, 204);
    for (const answer of [await session.send(ping), await session.send({ ...ping, method: "tools/list" })]) {
      assert.equal(answer.status, 404);
      assert.equal(answer.json.error.code, -32001);
      assert.equal(answer.json.id, 7);
    }
    assert.equal((await session.close()).status, 404);
  });
}

test("2025-03-26: a batch is answered as one, with every id once", async () => {
  const session = await wrist.session({ revision: "2025-03-26" });
  const answer = await session.send([
    { jsonrpc: "2.0", id: "a", method: "tools/call", params: { name: "Bash", arguments: { command: "echo one" } } },
    { jsonrpc: "2.0", method: "notifications/initialized" },
    { jsonrpc: "2.0", id: "b", method: "ping" },
    { jsonrpc: "2.0", id: "c", method: "no/such" },
  ]);
  assert.equal(answer.status, 200);
  const all = answer.headers["content-type"].startsWith("application/json") ? JSON.parse(answer.text) : messagesOf(answer.text);
  assert.deepEqual(all.map((message) => message.id).sort(), ["a", "b", "c"]);
  assert.match(all.find((message) => message.id === "a").result.content[0].text, /^one/);
  assert.equal(all.find((message) => message.id === "c").error.code, -32601);
  assert.equal((await session.send([{ jsonrpc: "2.0", method: "notifications/initialized" }])).status, 202);
  assert.equal((await session.send([])).status, 400);
  assert.equal((await session.send(Array.from({ length: 101 }, (_, i) => ({ jsonrpc: "2.0", id: i, method: "ping" })))).status, 400);
});

test("a batch is refused where the revision has none", async () => {
  const session = await wrist.session({ revision: "2025-11-25" });
  const answer = await session.send([ping]);
  assert.equal(answer.status, 400);
  assert.equal(answer.json.error.code, -32600);
});

test("an unknown revision is answered with the newest legacy one", async () => {
  const answer = await wrist.request("POST", "/mcp", { json: initialize("2019-01-01") });
  assert.equal(answer.json.result.protocolVersion, "2025-11-25");
});

test("initialize with a stale session id makes a fresh session", async () => {
  const answer = await wrist.request("POST", "/mcp", { json: initialize(), headers: { "mcp-session-id": "stale" } });
  assert.equal(answer.status, 200);
  assert.notEqual(answer.headers["mcp-session-id"], "stale");
});

test("no session id is 400, an unknown one 404, a foreign one the same 404", async () => {
  const none = await wrist.request("POST", "/mcp", { json: ping });
  assert.equal(none.status, 400);
  const unknown = await wrist.request("POST", "/mcp", { json: ping, headers: { "mcp-session-id": "AAAA" } });
  assert.equal(unknown.status, 404);
  const session = await wrist.session();
  const foreign = await wrist.request("POST", "/mcp", { json: ping, token: wrist.tokens.bob, headers: { "mcp-session-id": session.id } });
  assert.equal(foreign.status, 404);
  assert.equal(foreign.text, unknown.text);
  const altered = session.id.slice(0, -4) + (session.id.endsWith("AAAA") ? "BBBB" : "AAAA");
  assert.equal((await wrist.request("POST", "/mcp", { json: ping, headers: { "mcp-session-id": altered } })).status, 404);
});

test("the version header may be any supported revision; another one is 400", async () => {
  const session = await wrist.session({ revision: "2025-11-25" });
  assert.equal((await session.send(ping, { headers: { "mcp-protocol-version": "2025-06-18" } })).status, 200);
  assert.equal((await session.send(ping, { headers: { "mcp-protocol-version": "2001-01-01" } })).status, 400);
});

test("without a good token everything is 401, before methods are looked at", async () => {
  for (const method of ["POST", "GET", "DELETE", "PUT"]) {
    for (const token of [null, "wrong"]) {
      const answer = await wrist.request(method, "/mcp", { token, ...(method === "POST" ? { json: ping } : {}) });
      assert.equal(answer.status, 401, `${method} ${token}`);
      assert.match(answer.headers["www-authenticate"], /^Bearer/);
      assert.doesNotMatch(answer.headers["www-authenticate"], /resource_metadata/);
    }
  }
});

test("well-known OAuth paths are a hard 404, also without a token", async () => {
  for (const path of ["/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp",
    "/.well-known/oauth-authorization-server", "/.well-known/openid-configuration", "/nothing/here"])
    assert.equal((await wrist.request("GET", path, { token: null })).status, 404, path);
});

test("GET without a session is 405, with an unknown one 404", async () => {
  const none = await wrist.request("GET", "/mcp", { headers: { accept: "text/event-stream" } });
  assert.equal(none.status, 405);
  assert.match(none.headers.allow, /POST/);
  assert.equal((await wrist.request("GET", "/mcp", { headers: { accept: "text/event-stream", "mcp-session-id": "AAAA" } })).status, 404);
  assert.equal((await wrist.request("PUT", "/mcp")).status, 405);
});

function openStream(session, agent) {
  return new Promise((resolve, reject) => {
    const started = Date.now();
    const request = https.request(`${wrist.url}/mcp`, { agent, headers: { authorization: `Bearer ${wrist.token}`,
      accept: "text/event-stream", "mcp-session-id": session.id, "mcp-protocol-version": "2025-11-25" } }, (response) => {
      const stream = { response, request, status: response.statusCode, text: "", ended: false, firstByte: null };
      response.setEncoding("utf8").on("data", (part) => {
        stream.firstByte ??= Date.now() - started;
        stream.text += part;
      });
      response.on("end", () => (stream.ended = true));
      response.on("error", () => (stream.ended = true));
      resolve(stream);
    });
    request.on("error", reject);
    request.end();
  });
}

test("a GET stream is held open; its first byte comes at once and carries no event id", async () => {
  const session = await wrist.session();
  const stream = await openStream(session);
  assert.equal(stream.status, 200);
  assert.equal(stream.response.headers["content-type"], "text/event-stream");
  assert.equal(stream.response.headers["x-accel-buffering"], "no");
  assert.match(stream.response.headers["cache-control"], /no-cache/);
  await until(() => stream.firstByte !== null, "a first comment");
  assert.ok(stream.firstByte < 1000, `${stream.firstByte} ms`);
  await until(() => (stream.text.match(/^:/gm) ?? []).length >= 2, "a second comment", { timeout: 20_000 });
  assert.doesNotMatch(stream.text, /^id:/m);
  assert.equal(stream.ended, false);
  assert.equal((await session.close()).status, 204);
  await until(() => stream.ended, "the stream to end with its session", { timeout: 3000 });
});

test("bodies that are not JSON, not an object, too large or of another type are told apart", async () => {
  const post = (body, headers = {}) => wrist.request("POST", "/mcp", { body, headers: { "content-type": "application/json", ...headers } });
  const broken = await post("{");
  assert.equal(broken.status, 400);
  assert.equal(broken.json.error.code, -32700);
  assert.equal(broken.json.id, null);
  assert.equal((await post("3")).status, 400);
  assert.equal((await post('{"jsonrpc":"1.0","id":1,"method":"ping"}')).status, 400);
  assert.equal((await post('{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call"}')).status, 400);
  assert.equal((await post(JSON.stringify(ping), { "content-type": "text/plain" })).status, 415);
  assert.equal((await post(Buffer.alloc(5 << 20, 32))).status, 413);
});

test("Accept is read leniently, and 406 only where nothing fits", async () => {
  const session = await wrist.session();
  for (const accept of ["*/*", "application/json", "text/event-stream", "application/*;q=0.5", "TEXT/EVENT-STREAM , application/json;q=0.9"]) {
    const answer = await session.call("tools/list", {}, { headers: { accept } });
    assert.equal(answer.status, 200, accept);
    assert.ok(answer.json.result.tools.length > 0);
    if (accept === "text/event-stream") assert.match(answer.headers["content-type"], /event-stream/);
    if (accept === "application/json") assert.match(answer.headers["content-type"], /application\/json/);
  }
  assert.equal((await session.call("tools/list", {}, { headers: { accept: "image/png" } })).status, 406);
});

test("a trailing slash is served, never redirected", async () => {
  assert.equal((await wrist.request("POST", "/mcp/", { json: initialize() })).status, 200);
  assert.equal((await wrist.request("POST", "/mcp/other/", { json: initialize() })).status, 200);
  assert.equal((await wrist.request("POST", "/mcp/nothing", { json: initialize() })).status, 404);
});

test("a profile that the token does not allow is 403", async () => {
  assert.equal((await wrist.request("POST", "/mcp/trial", { token: wrist.tokens.eve, json: initialize() })).status, 403);
  assert.equal((await wrist.request("POST", "/mcp/other", { token: wrist.tokens.eve, json: initialize() })).status, 200);
});

test("foreign origins and hosts are refused: a web page cannot drive the gateway", async () => {
  for (const headers of [{ origin: "https://evil.example" }, { host: "evil.example", origin: "http://evil.example" }, { host: "evil.example" }]) {
    const answer = await wrist.request("POST", "/mcp", { json: initialize(), headers, plain: true });
    assert.ok(answer.status === 403 || answer.status === 421, `${JSON.stringify(headers)}: ${answer.status}`);
    assert.equal(answer.headers["access-control-allow-origin"], undefined);
  }
});

test("unknown methods are -32601 with 200, unknown tools and bad arguments say which", async () => {
  const session = await wrist.session();
  const unknown = await session.call("no/such");
  assert.equal(unknown.status, 200);
  assert.equal(unknown.json.error.code, -32601);
  const tool = await session.tool("Nope", {});
  assert.equal(tool.json.error.code, -32602);
  assert.match(tool.json.error.message, /Nope/);
  const wrong = await session.tool("Bash", { command: "true", timeout: "1" });
  assert.equal(wrong.json.result?.isError ?? true, true);
  assert.match(JSON.stringify(wrong.json), /timeout/);
});

test("a large result passes without a cliff", async () => {
  const session = await wrist.session();
  await session.tool("Bash", { command: "head -c 200000 /dev/zero | tr '\\0' x | fold -w 100 > big" });
  const answer = await session.tool("Read", { file_path: "big" });
  assert.equal(answer.status, 200);
  assert.ok(textOf(answer).length > 150_000, `${textOf(answer).length}`);
});

test("a slow call turns into an event stream with comments, and still ends with its result", async () => {
  const session = await wrist.session();
  const answer = await session.tool("Bash", { command: "sleep 4; echo late" });
  assert.equal(answer.status, 200);
  assert.match(answer.headers["content-type"], /event-stream/);
  assert.match(textOf(answer), /^late/);
});

test("nothing secret is in the logs", async () => {
  const session = await wrist.session();
  await session.tool("Bash", { command: "echo sentinel-argument" });
  await wrist.request("POST", "/mcp", { token: "sentinel-token", json: ping });
  const logs = JSON.stringify(wrist.logs);
  for (const secret of [wrist.token, session.id, "sentinel-argument", "sentinel-token"]) assert.ok(!logs.includes(secret), secret);
});
