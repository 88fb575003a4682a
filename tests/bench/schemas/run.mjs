// SPDX-License-Identifier: Apache-2.0
// Flattening beside @apidevtools/json-schema-ref-parser and a plain converter to the OpenAPI subset:
// the same schema, one after the other, CPU time.
// Then every provider, and what twice the size costs.
//   node run.mjs PATH_OF_BENCH [TOOLS_LIST.json...]      (npm install first)
// A tools list is the result of tools/list as a server gave it; its schemas are flattened one by one.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import $RefParser from '@apidevtools/json-schema-ref-parser';

const [bench, ...lists] = process.argv.slice(2);
const providers = ['gemini', 'gemini-json', 'vertex', 'openai', 'openai-strict', 'anthropic',
  'anthropic-strict', 'bedrock', 'bedrock-strict', 'bedrock-nova', 'mistral', 'groq',
  'deepseek-strict', 'xai', 'moonshot', 'ollama', 'llamacpp'];
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

let files = 0;
function save(schema) {
  const file = join(folder, `${files++}.json`);
  writeFileSync(file, JSON.stringify(schema));
  return file;
}

function ours(provider, paths) { // the best of three: others use the machine too
  let best = { rate: 0, each: Infinity };
  for (let i = 0; i < 3; i++) {
    const [bytes, seconds, runs] = execFileSync(bench, [provider, ...paths]).toString().split(' ').map(Number);
    if (seconds / runs < best.each) best = { rate: bytes / seconds / 1e6, each: seconds / runs };
  }
  return best;
}

console.log('schema               provider    ours MB/s  theirs MB/s  ratio of time');
let low = Infinity;
for (const [properties, definitions] of [[10, 4], [200, 20], [2000, 50], [20000, 50]]) {
  const schema = toolSchema(properties, definitions);
  const file = save(schema);
  const theirs = await javascript(schema);
  for (const provider of ['gemini', 'openai', 'anthropic']) {
    const { rate, each } = ours(provider, [file]);
    const ratio = theirs.each / (each * 1e6);
    console.log(`${`${properties} properties`.padEnd(20)} ${provider.padEnd(10)} ${rate.toFixed(0).padStart(9)} ${theirs.rate.toFixed(1).padStart(12)} ${ratio.toFixed(1).padStart(14)}`);
    // The converter makes what Gemini takes; for others it is only a figure beside.
    if (provider === 'gemini') low = Math.min(low, ratio);
  }
}

const corpora = [['made', [save(toolSchema(200, 20))]]];
for (const list of lists) {
  const { tools } = JSON.parse(readFileSync(list, 'utf8'));
  corpora.push([list.split('/').pop(), tools.flatMap((t) => [t.inputSchema, t.outputSchema]).filter(Boolean).map(save)]);
}
console.log('\ncorpus, MB/s of output');
let slow = Infinity;
for (const [name, paths] of corpora)
  for (const provider of providers) {
    const { rate } = ours(provider, paths);
    slow = Math.min(slow, rate);
    console.log(`${name.padEnd(34)} ${provider.padEnd(18)} ${rate.toFixed(0).padStart(5)}`);
  }

const times = (n, make) => Object.fromEntries(Array.from({ length: n }, (_, i) => make(i)));
const root = (more) => ({ type: 'object', properties: {}, ...more });
const shapes = {
  properties: (n) => root({ properties: times(n, (i) => [`p${i}`, { type: 'string', minLength: 1 }]) }),
  'one definition, used': (n) => root({ properties: times(n, (i) => [`p${i}`, { $ref: '#/$defs/d' }]),
    $defs: { d: { type: 'object', properties: { a: { type: 'string' }, b: { type: 'integer' } } } } }),
  'definitions, each once': (n) => root({ properties: times(n, (i) => [`p${i}`, { $ref: `#/$defs/d${i}` }]),
    $defs: times(n, (i) => [`d${i}`, { type: 'object', properties: { a: { type: 'string' } } }]) }),
  'allOf per property': (n) => root({ properties: times(n, (i) => [`p${i}`, { allOf: [
    { type: 'object', properties: { a: { type: 'string' } } }, { properties: { b: { type: 'integer' } } }] }]) }),
  'anyOf per property': (n) => root({ properties: times(n, (i) => [`p${i}`, { type: 'object',
    properties: { k: { type: 'string' } }, anyOf: [{ required: ['k'] }, { properties: { z: { type: 'integer' } } }] }]) }),
  'oneOf per property': (n) => root({ properties: times(n, (i) => [`p${i}`, { oneOf: [
    { type: 'string', pattern: '^a' }, { type: 'string', pattern: '^b' }, { type: 'number' }] }]) }),
  'enum of strings': (n) => root({ properties: { e: { enum: Array.from({ length: n }, (_, i) => `v${i}`) } } }),
  required: (n) => root({ properties: times(n, (i) => [`p${i}`, {}]), required: Array.from({ length: n }, (_, i) => `p${i}`) }),
  tuples: (n) => root({ properties: times(n, (i) => [`p${i}`, { type: 'array', prefixItems: [{ type: 'string' }, { type: 'number' }] }]) }),
  'one long text': (n) => root({ description: 'x"\u00e9 '.repeat(n * 4) }),
};
console.log('\nshape, time for twice the size (bar 2.3)');
let worst = 0;
for (const [name, make] of Object.entries(shapes))
  for (const provider of ['gemini', 'openai', 'anthropic-strict']) {
    const small = ours(provider, [save(make(4000))]), large = ours(provider, [save(make(8000))]);
    const ratio = large.each / small.each;
    worst = Math.max(worst, ratio);
    console.log(`${name.padEnd(34)} ${provider.padEnd(18)} ${ratio.toFixed(2).padStart(5)}`);
  }
rmSync(folder, { recursive: true });
console.log(`slowest ${slow.toFixed(0)} MB/s of output (bar 50), ${low.toFixed(1)} times as fast (bar 20), twice the size ${worst.toFixed(2)} times the time (bar 2.3)`);
