// SPDX-License-Identifier: Apache-2.0
// What was measured, as Markdown, with each figure beside its bar.
const fixed = (value, digits = 0) => value.toFixed(digits);
const row = (...cells) => `| ${cells.join(" | ")} |`;
const table = (head, rows) => [row(...head), row(...head.map(() => "---")), ...rows.map((cells) => row(...cells))].join("\n");

function throughput(results) {
  const find = (proxy, way) => results.find((r) => r.target.proxy === proxy && r.target.way === way);
  const ratio = (r, size, proxy) => {
    const other = find(proxy, r.target.way);
    if (r.target.proxy !== "Wrist" || !other) return "";
    return `${fixed(r[size].rate / other[size].rate, 2)} ×, CPU ${fixed(r[size].cpu / other[size].cpu, 2)} ×`;
  };
  return ["1 KiB", "64 KiB"].map((size) => `### tools/call, ${size} answers, 32 connections\n\n${table(
    ["through", "requests/s", "CPU µs/request", "beside nghttpx", "beside HAProxy"],
    results.map((r) => [`${r.target.proxy ?? "direct"}, ${r.target.way}`, fixed(r[size].rate), r.target.pid ? fixed(r[size].cpu, 1) : "",
      ratio(r, size, "nghttpx"), ratio(r, size, "HAProxy")]))}`).join("\n\n");
}

function latency(results) {
  const [direct] = results;
  const rows = results.map((r) => [r.target.proxy ? `${r.target.proxy}, ${r.target.way}` : "direct", fixed(r.p50), fixed(r.p99),
    r === direct ? "" : fixed(r.p50 - direct.p50), r === direct ? "" : fixed(r.p99 - direct.p99)]);
  return `### One connection, 1 KiB: latency in µs\n\n${table(["through", "p50", "p99", "added p50", "added p99"], rows)}`;
}

const verdict = (value, bar, atLeast = false) => ((atLeast ? value >= bar : value <= bar) ? "met" : "**not met**");

function bars(g) {
  const at = (proxy, way, size = "1 KiB") => g.throughput.find((r) => r.target.proxy === proxy && r.target.way === way)?.[size];
  const wrist = at("Wrist", "h2");
  const rows = [];
  for (const other of ["nghttpx", "HAProxy"]) {
    const beside = at(other, "h2");
    rows.push([`h2, 1 KiB: requests/s beside ${other}`, `${fixed(wrist.rate / beside.rate, 2)} ×`, "≥ 1.0 ×", verdict(wrist.rate / beside.rate, 1, true)]);
    rows.push([`h2, 1 KiB: CPU/request beside ${other}`, `${fixed(wrist.cpu / beside.cpu, 2)} ×`, "≤ 1.0 ×", verdict(wrist.cpu / beside.cpu, 1)]);
  }
  for (const r of g.throughput.filter((t) => t.target.slow)) {
    const times = at("Wrist", "h1").rate / r["1 KiB"].rate;
    rows.push([`h1, 1 KiB: requests/s beside ${r.target.name}`, `${fixed(times, 1)} ×`, "≥ 10 ×", verdict(times, 10, true)]);
  }
  const [direct] = g.latency;
  const added = (proxy, p) => g.latency.find((r) => r.target.proxy === proxy && r.target.way === "h2")[p] - direct[p];
  for (const p of ["p50", "p99"]) {
    const times = added("Wrist", p) / added("HAProxy", p);
    rows.push([`h2: added latency ${p} beside HAProxy`, `${fixed(times, 2)} ×`, "≤ 1.5 ×", verdict(times, 1.5)]);
  }
  rows.push(["memory per idle stream, h2 multiplexed", `${fixed(g.multiplexed / 1024, 1)} KiB`, "≤ 12 KiB", verdict(g.multiplexed, 12 << 10)]);
  rows.push(["memory per idle stream, own TLS connection", `${fixed(g.single / 1024, 1)} KiB`, "≤ 48 KiB", verdict(g.single, 48 << 10)]);
  return rows;
}

// Bars are for real sandboxes too: what the gateway keeps of one does not depend on what is in it.
function sessionRows(s) {
  const what = `${s.few.count} → ${s.all.count} live sessions on the bench's workers`;
  return [
    [`gateway memory per session, ${what}`, `${fixed(s.each / 1024, 1)} KiB`, "≤ 16 KiB", verdict(s.each, 16 << 10)],
    [`Redis memory per session, ${what}`, `${fixed(s.redis / 1024, 2)} KiB`, "≤ 2 KiB", verdict(s.redis, 2 << 10)],
    ["Redis commands per call of a bound session", fixed(Math.max(0, s.commands), 3), "0 (≤ 0.01)", verdict(s.commands, 0.01)],
    ["warm bind (a first call less a second) / Redis round trip (redis-benchmark), p50", `${fixed(s.bindUs)} / ${fixed(s.roundTripUs)} µs = ${fixed(s.bindUs / s.roundTripUs, 1)} ×`, "≤ 10 ×", verdict(s.bindUs / s.roundTripUs, 10)],
    [`CPU per call, ${what}`, `${fixed(s.few.cpu, 1)} → ${fixed(s.all.cpu, 1)} µs`, "flat (≤ 1.2 ×)", verdict(s.all.cpu / s.few.cpu, 1.2)],
  ];
}

function workerRows(w) {
  const note = "reference §12, another machine";
  return [
    ["Read of 50 lines, p50", `${fixed(w.read.p50 / 1000, 2)} ms`, `≤ 0.35 ms (0.3 × 1.17 ms, ${note})`, verdict(w.read.p50, 351)],
    ["Bash `true`, p50", `${fixed(w.bash.p50 / 1000, 2)} ms`, `≤ 3.25 ms (1.0 ×, ${note})`, verdict(w.bash.p50, 3250)],
    ["400 MB of command output, worker's peak memory", `${fixed(w.peak / 1048576, 1)} MiB`, "≤ 16 MiB (1,049 MB there)", verdict(w.peak, 16 << 20)],
    ["warm bind: initialize and first call, p50", `${fixed(w.warm / 1000, 2)} ms`, "", ""],
    ["cold bind: initialize and first call, p50", `${fixed(w.cold / 1000, 1)} ms`, `≤ 1.3 × runc create and start (${fixed(w.bare / 1000, 1)} ms)`, verdict(w.cold / w.bare, 1.3)],
  ];
}

export function write({ gateway, sessions, worker, worst, count, streams }) {
  const rows = [...(gateway ? bars(gateway) : []), ...(sessions ? sessionRows(sessions) : []), ...(worker ? workerRows(worker) : [])];
  const parts = [`Median of ${count}; generator and upstream on core 0, the proxy on core 1; ${streams} streams. Load average at the start: ${worst}.`,
    table(["figure", "measured", "bar", ""], rows)];
  if (gateway) {
    parts.push(throughput(gateway.throughput), latency(gateway.latency));
    parts.push(`### Full TLS handshakes, one after the other\n\n${table(["server", "handshakes/s", "CPU µs each"],
      gateway.handshakes.map((h) => [h.target.proxy, fixed(h.rate), fixed(h.cpu)]))}`);
  }
  return `${parts.join("\n\n")}\n`;
}
