// SPDX-License-Identifier: Apache-2.0
// Legacy streams that are read again by Last-Event-ID, and calls that are cancelled, whichever
// gateway process carries them.
import assert from "node:assert/strict";
import https from "node:https";
import { after, before, test } from "node:test";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { CallToolResultSchema } from "@modelcontextprotocol/sdk/types.js";
import { Wrist, messagesOf, sleep, textOf, until } from "../harness/wrist.mjs";
import { openStream } from "../harness/stream.mjs";

let wrist;
before(async () => {
  wrist = await Wrist.start({ profiles: { trial: {} } });
});
after(() => wrist.stop());

let next = 100;
const bash = (command, id = next++) => ({ jsonrpc: "2.0", id, method: "tools/call", params: { name: "Bash", arguments: { command } } });
const counted = async (session, file) => textOf(await session.tool("Bash", { command: `cat ${file} 2>/dev/null | wc -l` })).split("\n")[0].trim();

const post = (session, message, revision = "2025-11-25") => openStream(wrist, "POST", { session, revision, json: message });
const resume = (session, id) => openStream(wrist, "GET", { session, headers: { "last-event-id": id } });

test("a stream begins with an event without data, to resume from, for 2025-11-25 and not before", async () => {
  const session = await wrist.session();
  const stream = await post(session, bash("sleep 2.5; echo done"));
  await until(() => stream.ended, "the stream to end");
  assert.match(stream.text, /^(: wait\n\n)?id: [0-9a-f]{16}-0\nretry: 5000\ndata: \n\n/);
  assert.deepEqual(stream.ids.length, 2);
  assert.match(JSON.stringify(messagesOf(stream.text)), /done/);
  await session.close();

  const older = await wrist.session({ revision: "2025-06-18" });
  const plain = await post(older, bash("sleep 2.5; echo done"), "2025-06-18");
  await until(() => plain.ended, "the stream to end");
  assert.doesNotMatch(plain.text, /data: \n/);
  assert.equal(plain.ids.length, 1);
  await older.close();
});

test("a connection that is cut loses nothing: GET with Last-Event-ID gives the result, once run", async () => {
  const session = await wrist.session();
  const message = bash("echo ran >> count; sleep 3; echo result");
  const stream = await post(session, message);
  await until(() => stream.ids.length > 0, "an event id");
  stream.cut();
  const again = await resume(session, stream.ids[0]);
  await until(() => again.ended, "the stream to end");
  assert.equal(again.failed, null);
  const [answer] = messagesOf(again.text).filter((m) => m.id === message.id);
  assert.match(answer.result.content[0].text, /^result/);
  // What has ended may be read again, and its last event has nothing after it: a held stream.
  const third = await resume(session, stream.ids[0]);
  await until(() => third.ended, "the stream to end");
  assert.deepEqual(third.ids, again.ids);
  const empty = await resume(session, again.ids.at(-1));
  await sleep(500);
  assert.equal(empty.ended, false);
  assert.match(empty.text, /^(: wait\n\n)+$/);
  empty.cut();
  assert.equal(await counted(session, "count"), "1");
  await session.close();
});

test("each stream gives its own events, however many are cut", async () => {
  const session = await wrist.session();
  const streams = await Promise.all(["a", "b", "c"].map((name) => post(session, bash(`sleep 3; echo ${name}`))));
  await until(() => streams.every((stream) => stream.ids.length > 0), "event ids");
  assert.equal(new Set(streams.map((stream) => stream.ids[0])).size, 3);
  for (const stream of streams) stream.cut();
  const again = await Promise.all(streams.map((stream) => resume(session, stream.ids[0])));
  await until(() => again.every((stream) => stream.ended), "the streams to end");
  assert.deepEqual(again.map((stream) => messagesOf(stream.text).map((m) => m.result.content[0].text[0]).join("")), ["a", "b", "c"]);
  await session.close();
});

test("ids of other sessions, old and made-up ones give a held stream without events", async () => {
  const session = await wrist.session();
  const other = await wrist.session();
  const stream = await post(session, bash("sleep 2.5; echo secret"));
  await until(() => stream.ended, "the stream to end");
  await other.tool("Bash", { command: "true" });
  const unbound = await wrist.session();
  const empty = await Promise.all([
    resume(other, stream.ids[0]),
    resume(session, `${stream.ids[0].split("-")[0]}-99`),
    resume(session, "x".repeat(5000)),
    resume(session, "0000000000000000-0"),
    resume(unbound, stream.ids[0]),
  ]);
  await sleep(500);
  for (const one of empty) {
    assert.equal(one.status, 200);
    assert.equal(one.ended, false);
    assert.doesNotMatch(one.text, /secret|data/);
    one.cut();
  }
  await Promise.all([session.close(), other.close(), unbound.close()]);
});

test("a session reads at most sixteen streams again at once, and DELETE ends them", async () => {
  const session = await wrist.session();
  await session.tool("Bash", { command: "true" });
  const streams = [];
  for (let i = 0; i < 17; i++) streams.push(await resume(session, "0000000000000000-0"));
  assert.deepEqual(streams.map((stream) => stream.status), [...Array(16).fill(200), 429]);
  await session.close();
  await until(() => streams.every((stream) => stream.ended), "the streams to end");
});

test("a resumed stream speaks the provider's dialect too", async () => {
  const session = await wrist.session();
  const stream = await openStream(wrist, "POST", { session, target: "/mcp?provider=gemini", json: bash("sleep 2.5; echo done") });
  await until(() => stream.ids.length > 0, "an event id");
  assert.match(stream.text, /retry: 5000/);
  stream.cut();
  const again = await openStream(wrist, "GET", { session, target: "/mcp?provider=gemini", headers: { "last-event-id": stream.ids[0] } });
  await until(() => again.ended, "the stream to end");
  assert.match(messagesOf(again.text)[0].result.content[0].text, /^done/);
  await session.close();
});

test("modern GETs stay 405, whatever they name", async () => {
  const answer = await wrist.request("GET", "/mcp", { headers: { accept: "text/event-stream", "mcp-protocol-version": "2026-07-28", "last-event-id": "a-1" } });
  assert.equal(answer.status, 405);
});

test("@modelcontextprotocol/sdk 1.x: a cut connection is resumed by the client itself", async () => {
  const sockets = new Set();
  const agent = new https.Agent({ keepAlive: true });
  agent.on("free", () => {});
  const connect = agent.createConnection.bind(agent);
  agent.createConnection = (...args) => {
    const socket = connect(...args);
    sockets.add(socket);
    return socket;
  };
  const gets = [];
  const fetchOver = (url, init) => new Promise((resolve, reject) => {
    if ((init.method ?? "GET") === "GET") gets.push(new Headers(init.headers).get("last-event-id"));
    const request = https.request(url, { method: init.method, agent, headers: Object.fromEntries(new Headers(init.headers)) }, (response) => {
      const body = new ReadableStream({
        start(controller) {
          response.on("data", (part) => controller.enqueue(part));
          response.on("end", () => controller.close());
          response.on("error", (error) => controller.error(error));
        },
      });
      resolve(new Response([202, 204].includes(response.statusCode) ? null : body, { status: response.statusCode, headers: response.headers }));
    });
    request.on("error", reject);
    request.end(init.body);
  });
  const transport = new StreamableHTTPClientTransport(new URL(`${wrist.url}/mcp`), {
    fetch: fetchOver,
    requestInit: { headers: { authorization: `Bearer ${wrist.token}` } },
    reconnectionOptions: { initialReconnectionDelay: 50, maxReconnectionDelay: 50, reconnectionDelayGrowFactor: 1, maxRetries: 5 },
  });
  const client = new Client({ name: "resumes", version: "1" });
  await client.connect(transport);
  const tokens = [];
  const call = client.request({ method: "tools/call", params: { name: "Bash", arguments: { command: "echo ran >> count; sleep 4; echo result" } } },
    CallToolResultSchema, { onresumptiontoken: (token) => tokens.push(token) });
  await until(() => tokens.length > 0, "the client to have a resumption token");
  for (const socket of sockets) socket.destroy();
  const result = await call;
  assert.match(result.content[0].text, /^result/);
  assert.ok(gets.includes(tokens[0]), `${gets} has ${tokens}`);
  const count = await client.callTool({ name: "Bash", arguments: { command: "wc -l < count" } });
  assert.match(count.content[0].text, /^1\b/);
  await client.close();
  agent.destroy();
});

test("notifications/cancelled ends a call of which this process carries nothing", async () => {
  const session = await wrist.session();
  const message = bash("echo started > started; sleep 60; echo late > late");
  const stream = await post(session, message);
  await until(async () => (await counted(session, "started")) === "1", "the call to run");
  await wrist.kill("gateway");
  await wrist.startGateway();
  const answer = await session.send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: message.id } });
  assert.equal(answer.status, 202);
  await until(async () => /^0/.test(textOf(await session.tool("Bash", { command: "pgrep -fc '[s]leep 60'" }))), "the command to be gone", { timeout: 3000 });
  assert.equal(stream.failed !== null || stream.ended, true);
  await session.close();
});
