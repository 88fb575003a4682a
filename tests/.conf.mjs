import { Wrist } from "./harness/wrist.mjs";
import http from "node:http";
import { spawnSync, spawn } from "node:child_process";
const wrist = await Wrist.start({ profiles: { trial: {} } });
const target = new URL(wrist.plainUrl);
const shim = http.createServer((req, res) => {
  const up = http.request({ host: target.hostname, port: target.port, method: req.method, path: req.url, headers: { ...req.headers, authorization: `Bearer ${wrist.token}` } }, (r) => { res.writeHead(r.statusCode, r.headers); r.pipe(res); });
  up.on("error", () => res.destroy()); res.on("close", () => up.destroy()); req.pipe(up);
}).listen(0, "127.0.0.1", async () => {
  const url = `http://127.0.0.1:${shim.address().port}/mcp`;
  for (const s of process.argv.slice(2)) {
    const [name, ver] = s.split("@");
    const out = await new Promise((done) => { let t = ""; const c = spawn("/tmp/mcp-conf/node_modules/.bin/conformance", ["server", "--url", url, "--scenario", name, "--verbose", ...(ver ? ["--spec-version", ver] : [])], { cwd: "/tmp/mcp-conf", env: process.env }); c.stdout.on("data", (d) => t += d); c.stderr.on("data", (d) => t += d); c.on("close", () => done(t)); });
    console.log(`=== ${s}\n` + out.split("\n").slice(-400).join("\n"));
  }
  await wrist.stop(); process.exit(0);
});
