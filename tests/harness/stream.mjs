// SPDX-License-Identifier: Apache-2.0
// A stream of events on a connection of its own, as it comes, and that can be cut.
import https from "node:https";

// Resolves at the head: {status, text, ids, ended, failed, cut()}. `json` makes it a POST's.
export function openStream(wrist, method, { session, revision = "2025-11-25", target = "/mcp", json, headers = {} } = {}) {
  const seen = { status: 0, text: "", ended: false, failed: null };
  Object.defineProperty(seen, "ids", { get: () => [...seen.text.matchAll(/^id: (.*)$/gm)].map((found) => found[1]) });
  return new Promise((resolve, reject) => {
    const request = https.request(`${wrist.url}${target}`, { method, agent: false, headers: {
      authorization: `Bearer ${wrist.token}`, accept: json ? "application/json, text/event-stream" : "text/event-stream",
      ...(json ? { "content-type": "application/json" } : {}),
      ...(session ? { "mcp-session-id": session.id, "mcp-protocol-version": revision } : {}), ...headers } }, (response) => {
      seen.status = response.statusCode;
      response.setEncoding("utf8").on("data", (part) => (seen.text += part));
      response.on("end", () => (seen.ended = true));
      response.on("error", (error) => (seen.failed = error));
      resolve(seen);
    });
    seen.cut = () => request.destroy();
    request.on("error", reject);
    request.end(json ? JSON.stringify(json) : undefined);
  });
}
