// SPDX-License-Identifier: Apache-2.0
// The official Python SDK over TLS, in a virtual environment of its own; skipped by name where the
// package index cannot be reached.
import assert from "node:assert/strict";
import { execFile, execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { after, before, test } from "node:test";
import { promisify } from "node:util";
import { Wrist, root } from "../harness/wrist.mjs";

const run = promisify(execFile);
const venv = path.join(root, ".cache/python");
let missing = false;
let wrist;

function install() {
  if (fs.existsSync(path.join(venv, "installed"))) return;
  execFileSync("python3", ["-m", "venv", venv], { stdio: "pipe" });
  execFileSync(path.join(venv, "bin/pip"), ["install", "-q", "mcp==2.3.0"], { stdio: "pipe" });
  fs.writeFileSync(path.join(venv, "installed"), "");
}

before(async () => {
  try {
    install();
  } catch (error) {
    missing = `the SDK cannot be installed: ${String(error.stderr ?? error.message).trim().split("\n").at(-1)}`;
    return;
  }
  wrist = await Wrist.start();
});
after(() => wrist?.stop());

const script = `
import anyio, httpx2, sys
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
async def main():
    url, token, mode = sys.argv[1:]
    http = httpx2.AsyncClient(headers={"Authorization": "Bearer " + token}, timeout=60)
    async with Client(streamable_http_client(url, http_client=http), mode=mode) as client:
        print(sorted(tool.name for tool in (await client.list_tools()).tools))
        await client.call_tool("Write", {"file_path": "a.txt", "content": "from python"})
        print((await client.call_tool("Bash", {"command": "cat a.txt"})).content[0].text)
anyio.run(main)
`;

for (const mode of ["auto", "legacy"]) {
  test(`the Python SDK in mode ${mode} lists and calls tools`, async (t) => {
    if (missing) return t.skip(missing);
    const { stdout } = await run(path.join(venv, "bin/python"), ["-c", script, `${wrist.url}/mcp`, wrist.token, mode],
      { env: { ...process.env, SSL_CERT_FILE: wrist.tls.cert }, timeout: 60_000 });
    assert.match(stdout, /'Bash'.*'Write'/);
    assert.match(stdout, /from python/);
  });
}
