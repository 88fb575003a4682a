// SPDX-License-Identifier: Apache-2.0
import fs from "node:fs";
import os from "node:os";
import { parseArgs } from "node:util";

import { measureGateway } from "./gateway.mjs";
import { GENERATOR_CORE, pin } from "./measure.mjs";
import { measureSessions } from "./sessions.mjs";
import { write } from "./table.mjs";
import { measureWorker } from "./worker.mjs";

const { values } = parseArgs({ options: { out: { type: "string" } } });
const count = Number(process.env.WRIST_BENCH_ROUNDS ?? 5);
const streams = Number(process.env.WRIST_BENCH_STREAMS ?? 5000);
const parts = (process.env.WRIST_BENCH_PARTS ?? "gateway sessions worker").split(" ");
const say = (what) => console.error(`bench: ${what}`);

pin(process.pid, GENERATOR_CORE);
const worst = os.loadavg()[0].toFixed(1);
const gateway = parts.includes("gateway") ? await measureGateway({ count, streams, say }) : null;
const sessions = parts.includes("sessions") ? await measureSessions({ many: Number(process.env.WRIST_BENCH_SESSIONS ?? 10_000), say }) : null;
const worker = parts.includes("worker") ? await measureWorker({ count, say }) : null;
const text = write({ gateway, sessions, worker, worst, count, streams });
process.stdout.write(text);
if (values.out) fs.writeFileSync(values.out, text);
