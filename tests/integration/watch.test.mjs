// SPDX-License-Identifier: Apache-2.0
// watch_process and its events, in a real sandbox.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { until, Wrist } from "../harness/wrist.mjs";

let wrist, session;
before(async () => {
  wrist = await Wrist.start();
  session = await wrist.session();
});
after(() => wrist?.stop());

const call = async (name, args = {}) => (await session.tool(name, args)).json.result;
const start = async (args) => (await call("watch_process", args)).structuredContent.shell_id;
const events = async (shell_id, since_event_id = 0) => (await call("watch_process_events", { shell_id, since_event_id })).structuredContent;
const ended = (id) => until(async () => { const e = await events(id); return !e.running && e; }, "the shell to end");

test("errors on both streams, and the end, are events with their lines", async () => {
  const id = await start({ command: "echo starting; echo 'ERROR: disk on fire' >&2; echo fine; echo 'ValueError: no'; exit 3" });
  const { events: all, last_event_id } = await ended(id);
  assert.deepEqual(all.map((e) => [e.kind, e.line, e.exit_code]), [
    ["started", undefined, undefined],
    ["error", "ERROR: disk on fire", undefined],
    ["error", "ValueError: no", undefined],
    ["exited", undefined, 3],
  ]);
  assert.deepEqual(all.map((e) => e.id), [1, 2, 3, 4]);
  assert.equal(all[1].offset, "starting\n".length);
  const output = await call("BashOutput", { shell_id: id, offset: all[2].offset });
  assert.match(output.content[0].text, /^ValueError: no\n/);
  const after = await call("watch_process_events", { shell_id: id, since_event_id: last_event_id });
  assert.match(after.content[0].text, /no new events/);
});

test("own patterns count, the first one that matches; none turns them off", async () => {
  const id = await start({ command: "echo ready on 8080; echo error: x", error_patterns: ["ready on (\\d+)", "on"] });
  assert.deepEqual((await ended(id)).events.filter((e) => e.kind === "error").map((e) => [e.pattern, e.line]), [["ready on (\\d+)", "ready on 8080"]]);
  assert.deepEqual((await ended(await start({ command: "echo error: x", error_patterns: [] }))).events.map((e) => e.kind), ["started", "exited"]);
  const bad = await call("watch_process", { command: "true", error_patterns: ["ok", "("] });
  assert.match(bad.content[0].text, /pattern 1: missing closing parenthesis/);
  assert.equal(bad.isError, true);
  assert.match((await call("watch_process", { command: "true", error_patterns: "x" })).content[0].text, /must be an array of strings/);
});

test("silence is told once, and again after a new byte", async () => {
  const id = await start({ command: "echo a; sleep 1.6; echo b; sleep 1.6", idle_timeout_seconds: 1 });
  assert.deepEqual((await ended(id)).events.map((e) => e.kind), ["started", "idle_timeout", "idle_timeout", "exited"]);
});

test("a line of 5 MB without end blocks nobody, and the crash after it is seen (G-43)", async () => {
  const id = await start({ command: "head -c 5000000 /dev/zero | tr '\\0' x >&2; echo >&2; echo 'panic: after it' >&2" });
  const { events: all } = await ended(id);
  assert.deepEqual(all.filter((e) => e.kind === "error").map((e) => e.line), ["panic: after it"]);
});

test("a flood of errors stays bounded, the newest are kept and the loss is counted", async () => {
  const id = await start({ command: "for i in $(seq 200); do seq 1 200 | sed 's/^/error: /'; done; echo error: last" });
  const first = await ended(id);
  assert.ok(first.lost_events > 0);
  let all = [], since = 0;
  for (;;) {
    const { events: some, last_event_id } = await events(id, since);
    if (some.length === 0) break;
    all = all.concat(some);
    since = last_event_id;
  }
  assert.ok(all.length <= 512, String(all.length));
  assert.deepEqual(all.slice(-2).map((e) => e.line ?? e.kind), ["error: last", "exited"]);
});

test("of a flood in one piece the last line is an event, too", async () => {
  await call("Bash", { command: "{ seq 1 2000 | sed 's/^/error: /'; echo error: the cause; } > flood" });
  const id = await start({ command: "cat flood" });
  await ended(id);
  const { events: all } = await events(id, 0);
  assert.deepEqual(all.slice(-2).map((e) => e.line ?? e.kind), ["error: the cause", "exited"]);
});

test("a shell without a watch says what it is", async () => {
  const shell_id = (await call("Bash", { command: "true", run_in_background: true })).structuredContent.shell_id;
  assert.match((await call("watch_process_events", { shell_id })).content[0].text, /started by Bash/);
});
