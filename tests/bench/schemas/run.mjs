// SPDX-License-Identifier: Apache-2.0
// Flattening beside @apidevtools/json-schema-ref-parser and a plain converter to the OpenAPI subset:
// the same schema, one after the other, CPU time.
//   node run.mjs PATH_OF_BENCH      (npm install first)
import { execFileSync } from 'node:child_process';
import { writeFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import $RefParser from '@apidevtools/json-schema-ref-parser';

const bench = process.argv[2];
const folder = mkdtempSync(join(tmpdir(), 'wrist-bench-'));

function toolSchema(properties, definitions) {
  const $defs = {};
  for (let i = 0; i < definitions; i++)
    $defs[`D${i}`] = { type: 'object', description: `definition ${i} of a thing that tools share`,
      properties: { name: { type: 'string', description: 'what it is called', minLength: 1 },
        kind: { anyOf: [{ type: 'string', enum: ['file', 'folder', 'link'] }, { type: 'null' }] },
        size: { type: 'integer', minimum: 0 }, tags: { type: 'array', items: { type: 'string' } } },
      required: ['name'] };
  const props = {};
  for (let i = 0; i < properties; i++)
    props[`p${i}`] = i % 2 ? { $ref: `#/$defs/D${i % definitions}` }
      : { type: 'string', description: `an argument, the number ${i} of them`, maxLength: 100 };
  return { type: 'object', properties: props, required: ['p0'], $defs };
}

function allOfGemini(s) { // what a converter to the OpenAPI subset must do at least
  if (Array.isArray(s)) return s.map(allOfGemini);
  if (s === null || typeof s !== 'object') return s;
  const out = {};
  for (const [k, v] of Object.entries(s))
    if (k === 'properties') out[k] = Object.fromEntries(Object.entries(v).map(([n, x]) => [n, allOfGemini(x)]));
    else if (!['$defs', 'definitions', '$schema', 'additionalProperties'].includes(k)) out[k] = allOfGemini(v);
  if (Array.isArray(out.anyOf)) {
    const rest = out.anyOf.filter((b) => b.type !== 'null');
    if (rest.length < out.anyOf.length) out.nullable = true;
    if (rest.length === 1) { delete out.anyOf; Object.assign(out, rest[0]); }
  }
  return out;
}

async function javascript(schema) {
  let bytes = 0, runs = 0, used = 0;
  const start = process.cpuUsage();
  while (used < 1e6) {
    const whole = await $RefParser.dereference(JSON.parse(JSON.stringify(schema)), { mutateInputSchema: true });
    bytes += JSON.stringify(allOfGemini(whole)).length;
    runs++;
    const now = process.cpuUsage(start);
    used = now.user + now.system;
  }
  return { rate: bytes / used, each: used / runs };
}

console.log('schema               provider    ours MB/s  theirs MB/s  ratio of time');
let low = Infinity, slow = Infinity;
for (const [properties, definitions] of [[10, 4], [200, 20], [2000, 50], [20000, 50]]) {
  const schema = toolSchema(properties, definitions);
  const file = join(folder, 'schema.json');
  writeFileSync(file, JSON.stringify(schema));
  const theirs = await javascript(schema);
  for (const provider of ['gemini', 'openai', 'anthropic']) {
    const [bytes, seconds, runs] = execFileSync(bench, [provider, file]).toString().split(' ').map(Number);
    const ratio = theirs.each / (seconds * 1e6 / runs);
    const rate = bytes / seconds / 1e6;
    console.log(`${`${properties} properties`.padEnd(20)} ${provider.padEnd(10)} ${rate.toFixed(0).padStart(9)} ${theirs.rate.toFixed(1).padStart(12)} ${ratio.toFixed(1).padStart(14)}`);
    if (provider === 'gemini') { low = Math.min(low, ratio); slow = Math.min(slow, rate); }
  }
}
rmSync(folder, { recursive: true });
console.log(`slowest for gemini: ${slow.toFixed(0)} MB/s of output (bar 50), ${low.toFixed(1)} times as fast (bar 20)`);
