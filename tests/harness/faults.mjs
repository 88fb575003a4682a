// SPDX-License-Identifier: Apache-2.0
// What a fault did, for the table of tests/faults/run: how many sessions it touched, how long until
// all was well again, and what was left behind.
import fs from "node:fs";
import { residue, until } from "./wrist.mjs";

export function row(fault, { sessions, recovered, leaked }) {
  const file = process.env.WRIST_FAULT_ROWS;
  if (file) fs.appendFileSync(file, `${JSON.stringify({ fault, sessions, recovered, leaked })}\n`);
}

// Sandboxes that neither a pool nor a session accounts for, once those had their time to go; and
// what stands on the machine without any of them.
export async function leaked(wrist, expected, { timeout = 30_000 } = {}) {
  let rows = [];
  await until(async () => {
    rows = await wrist.sandboxes();
    return rows.length <= expected;
  }, `at most ${expected} sandboxes to be left`, { timeout }).catch(() => {});
  const known = new Set(rows.map((record) => record.id));
  const orphans = residue(wrist).cgroups.filter((cgroup) => !known.has(/[0-9a-f]{32}$/.exec(cgroup)?.[0])
    && fs.readFileSync(`${cgroup}/cgroup.procs`, "utf8").trim() !== "");
  return Math.max(0, rows.length - expected) + orphans.length;
}

// Ends both programs and every sandbox; returns how much is left then.
export async function remains(wrist) {
  await wrist.kill("gateway", "SIGTERM");
  await wrist.deleteAll();
  let left;
  await until(() => {
    left = Object.values(residue(wrist)).flat();
    return left.length === 0;
  }, "nothing to be left", { timeout: 20_000 }).catch(() => {});
  return left;
}

export const percentile = (values, p) => [...values].sort((a, b) => a - b)[Math.min(values.length - 1, Math.ceil(values.length * p) - 1)];
