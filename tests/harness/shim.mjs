// SPDX-License-Identifier: Apache-2.0
// A pass-through in front of a Wrist's gateway: it notes what passes, and can add the bearer that a
// test client has no option for. Everything else goes on as it came, Host and Origin included.
import fs from "node:fs";
import http from "node:http";
import https from "node:https";

const notForwarded = new Set(["connection", "keep-alive", "transfer-encoding", "host"]);

function headersFor(request, token) {
  const headers = {};
  for (let i = 0; i < request.rawHeaders.length; i += 2) {
    const name = request.rawHeaders[i];
    if (notForwarded.has(name.toLowerCase())) continue;
    headers[name] = name in headers ? [headers[name], request.rawHeaders[i + 1]].flat() : request.rawHeaders[i + 1];
  }
  headers.Host = request.headers.host;
  if (token) headers.Authorization = `Bearer ${token}`;
  return headers;
}

const methodOf = (body) => {
  try {
    return JSON.parse(body).method ?? "";
  } catch {
    return "";
  }
};

export class Shim {
  // tls: the client speaks TLS to us as well; token: added to each request.
  static async start(wrist, { tls = false, token } = {}) {
    const shim = new Shim();
    shim.wire = []; // "POST tools/call 200", in the order in which they came
    shim.options = { wrist, token };
    const handle = (request, response) => shim.pass(request, response);
    shim.server = tls
      ? https.createServer({ cert: fs.readFileSync(wrist.tls.cert), key: fs.readFileSync(wrist.tls.key) }, handle)
      : http.createServer(handle);
    await new Promise((resolve) => shim.server.listen(0, "127.0.0.1", resolve));
    shim.url = `${tls ? "https" : "http"}://127.0.0.1:${shim.server.address().port}`;
    return shim;
  }

  async pass(request, response) {
    const row = { text: request.method };
    this.wire.push(row);
    const parts = [];
    for await (const part of request) parts.push(part);
    const body = Buffer.concat(parts);
    const { wrist, token } = this.options;
    const upstream = https.request(`${wrist.url}${request.url}`, { method: request.method,
      headers: headersFor(request, token), servername: "localhost" });
    upstream.on("response", (answer) => {
      row.text = [request.method, methodOf(body), answer.statusCode].filter(Boolean).join(" ");
      const headers = { ...answer.headers };
      for (const name of notForwarded) delete headers[name];
      response.writeHead(answer.statusCode, headers);
      response.flushHeaders();
      answer.pipe(response);
    });
    upstream.on("error", () => response.destroy());
    response.on("close", () => upstream.destroy());
    upstream.end(body);
  }

  lines() {
    return this.wire.map((row) => row.text);
  }

  stop() {
    this.server.closeAllConnections();
    return new Promise((resolve) => this.server.close(resolve));
  }
}
