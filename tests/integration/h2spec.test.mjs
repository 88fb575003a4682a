// SPDX-License-Identifier: Apache-2.0
// h2spec (github.com/summerwind/h2spec) against the gateway over TLS. It takes h2spec where there is
// one, else Go to build it, and is skipped by name on a machine that has neither. What this suite
// found is held by raw frames in tests/unit/gateway/lib/http/test_h2_session.c too.
import assert from "node:assert/strict";
import { execFileSync, spawn, spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { after, before, test } from "node:test";
import { Wrist, full } from "../harness/wrist.mjs";

const version = "v2.2.1+incompatible";

// Where h2spec holds to RFC 7540 and we to RFC 9113.
const right = {
  "http2/5.1/8": "data on a stream that the client reset is dropped (RFC 9113 §5.1: an endpoint MAY end the connection)",
  "http2/5.1/11": "data on a closed stream is dropped, and its window given back (the same)",
  "http2/5.3.1/2": "PRIORITY is read and not looked at (RFC 9113 §5.3.2; we say SETTINGS_NO_RFC7540_PRIORITIES)",
};

let wrist;
before(async () => {
  if (full) wrist = await Wrist.start({ gateway: { timeouts: { head: "10s", body: "10s", idle: "60s", write: "10s" } } });
});
after(() => wrist?.stop());

function has(command) {
  return spawnSync(command, [command === "go" ? "version" : "--version"], { stdio: "ignore" }).status === 0;
}

function findH2spec() {
  if (has("h2spec")) return "h2spec";
  const folder = path.join(wrist.folder, "go");
  execFileSync("go", ["install", `github.com/summerwind/h2spec/cmd/h2spec@${version}`],
    { env: { ...process.env, GOPATH: folder, GOFLAGS: "-modcacherw" }, stdio: ["ignore", "ignore", "inherit"] });
  return path.join(folder, "bin/h2spec");
}

// {total, failed: ["http2/5.1/8", …]} of a run of all specifications, or of one.
async function run(h2spec, ...specs) {
  const report = path.join(wrist.folder, "h2spec.xml");
  fs.rmSync(report, { force: true });
  const child = spawn(h2spec, ["-h", "127.0.0.1", "-p", `${wrist.port}`, "-t", "-k", "-P", "/mcp", "-o", "2", "-j", report, ...specs], { stdio: "ignore" });
  await new Promise((resolve) => child.on("exit", resolve));
  const failed = [];
  let total = 0;
  for (const [, suite, cases] of fs.readFileSync(report, "utf8").matchAll(/<testsuite [^>]*package="([^"]+)"[^>]*>(.*?)<\/testsuite>/gs)) {
    let number = 0;
    for (const [, inside] of cases.matchAll(/<testcase [^>]*>(.*?)<\/testcase>/gs)) {
      number++;
      total++;
      if (/<(failure|error)/.test(inside)) failed.push(`${suite}/${number}`);
    }
  }
  return { total, failed };
}

const skip = !full ? "runs in full" : !has("h2spec") && !has("go") ? "neither h2spec nor go is installed" : false;

// It sends half a request and then the fault, but a request without a token is answered at once: where
// the answer is first, the fault comes to a stream that is over. Asked for alone, it is seen soon.
async function failsAlways(h2spec, id) {
  for (let tries = 0; tries < 8; tries++) if (!(await run(h2spec, id)).failed.length) return false;
  return true;
}

test("h2spec finds nothing but what RFC 9113 allows", { skip }, async () => {
  const h2spec = findH2spec();
  const { total, failed } = await run(h2spec);
  assert.ok(total >= 140, `${total} cases ran`);
  const left = [];
  for (const id of failed) if (!right[id] && (await failsAlways(h2spec, id))) left.push(id);
  assert.deepEqual(left, []);
  assert.equal((await (await wrist.session()).call("ping")).status, 200);
});
