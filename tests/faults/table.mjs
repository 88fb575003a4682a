// SPDX-License-Identifier: Apache-2.0
// Prints what the fault tests noted, as a table; fails where something was left behind.
import fs from "node:fs";
const rows = fs.readFileSync(process.env.WRIST_FAULT_ROWS, "utf8").split("\n").filter(Boolean).map((line) => JSON.parse(line));
const cell = (value) => value === undefined || value === null ? "-" : String(value);
console.log("\n| fault | sessions affected | recovered in | leaked |\n| --- | --- | --- | --- |");
for (const r of rows)
  console.log(`| ${r.fault} | ${cell(r.sessions)} | ${r.recovered === undefined ? "-" : `${(r.recovered / 1000).toFixed(1)} s`} | ${cell(r.leaked)} |`);
process.exit(rows.some((r) => r.leaked > 0) ? 1 : 0);
