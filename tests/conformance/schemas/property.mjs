// SPDX-License-Identifier: Apache-2.0
// Nothing is narrowed: what is valid against a schema is valid against its flattening, for every
// provider; and the other way round but for the rows of the loss table. Judged by ajv, over the
// official suite's reference groups and over generated schemas.
//   node property.mjs [wristctl] [count of generated schemas] [seed]
// WRIST_SCHEMA_SUITE names a checkout of JSON-Schema-Test-Suite; without it, only the draft 4 group
// that the npm package carries is used.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import Ajv2020 from 'ajv/dist/2020.js';

const here = dirname(fileURLToPath(import.meta.url));
const require = createRequire(import.meta.url);
const wristctl = process.argv[2] ?? join(here, '../../../build/release/bin/wristctl');
const wanted = Number(process.argv[3] ?? 150);
let seed = Number(process.argv[4] ?? 1);
const providers = ['gemini', 'gemini-json', 'vertex', 'openai', 'openai-strict', 'anthropic',
  'anthropic-strict', 'bedrock', 'bedrock-strict', 'bedrock-nova', 'mistral', 'groq',
  'deepseek-strict', 'xai', 'moonshot', 'ollama', 'llamacpp'];
const neverNarrow = new Set(['openai', 'anthropic', 'bedrock', 'groq', 'mistral']);

const random = () => {
  seed = (seed * 1103515245 + 12345) % 2147483648;
  return seed / 2147483648;
};
const pick = (list) => list[Math.floor(random() * list.length)];

function compile(schema) {
  const ajv = new Ajv2020.default({ strict: false, validateFormats: false, logger: false });
  return ajv.compile(schema);
}

// OpenAPI's flag as JSON Schema says it.
function withoutNullable(s) {
  if (Array.isArray(s)) return s.map(withoutNullable);
  if (s === null || typeof s !== 'object') return s;
  const { nullable, ...rest } = Object.fromEntries(Object.entries(s).map(([k, v]) =>
    [k, ['enum', 'const', 'default', 'example'].includes(k) ? v : withoutNullable(v)]));
  return nullable === true ? { anyOf: [rest, { type: 'null' }] } : { ...rest };
}

function flatten(provider, schema) {
  const r = spawnSync(wristctl, ['schema', 'flatten', '--provider', provider, '-'],
    { input: JSON.stringify(schema), maxBuffer: 1 << 28 });
  if (r.status === 3) return null;
  if (r.status !== 0) throw new Error(`${provider}: exit ${r.status}: ${r.stderr}`);
  const rows = [...r.stderr.toString().matchAll(/^note ([A-Z_]+)/gm)].map((m) => m[1]);
  return { schema: withoutNullable(JSON.parse(r.stdout)), rows: new Set(rows) };
}

const cases = [];
const skips = [];
let serial = 0;

function embed(schema, dialect) {
  const id = dialect === undefined ? '$id' : 'id';
  const base = dialect === undefined ? {} : { $schema: dialect };
  const own = schema && typeof schema === 'object' && !schema[id]
    ? { [id]: `urn:wrist:suite:${serial++}`, ...base, ...schema } : schema;
  return { type: 'object', properties: { value: own }, required: ['value'] };
}

// The suite says what is valid; ajv judges only what comes out, which has plain references.
function addGroup(file, from, dialect) {
  for (const group of JSON.parse(readFileSync(file, 'utf8')))
    cases.push({ name: `${from}: ${group.description}`, schema: embed(group.schema, dialect),
      tests: group.tests.map((t) => ({ data: { value: t.data }, valid: t.valid })) });
}

const suite = process.env.WRIST_SCHEMA_SUITE;
if (suite)
  for (const name of ['ref', 'defs', 'anchor', 'dynamicRef'])
    addGroup(join(suite, 'tests/draft2020-12', `${name}.json`), name);
else
  skips.push('draft 2020-12 groups: WRIST_SCHEMA_SUITE is not set');
const old = join(dirname(require.resolve('json-schema-test-suite/package.json')), 'tests/draft4/ref.json');
if (existsSync(old)) addGroup(old, 'draft4 ref', 'http://json-schema.org/draft-04/schema#');

// Generated: well-formed schemas of what tools use, with references, and instances near them.
const names = ['a', 'b', 'c', '$ref', 'title'];
function schemaOf(depth) {
  const r = random();
  const leaf = () => pick([
    { type: 'string' }, { type: 'integer', minimum: 0, maximum: 9 }, { type: 'number', exclusiveMinimum: 0 },
    { type: 'boolean' }, { enum: ['x', 'y', ''] }, { const: 1 }, { type: ['string', 'null'], minLength: 2 },
    { type: 'string', pattern: '^x' }, { enum: [1, 'x', null] }, {}, { type: 'null' },
    { type: 'string', format: 'uri' }, { type: 'integer', multipleOf: 2 }, true]);
  if (depth > 3 || r < 0.3) return leaf();
  if (r < 0.5) return {
    type: 'object', properties: Object.fromEntries(names.slice(0, 1 + Math.floor(random() * 4)).map((n) => [n, schemaOf(depth + 1)])),
    ...(random() < 0.5 && { required: [pick(names)] }), ...(random() < 0.4 && { additionalProperties: pick([false, { type: 'integer' }]) }) };
  if (r < 0.6) return { type: 'array', items: schemaOf(depth + 1), ...(random() < 0.4 && { minItems: 1, uniqueItems: true }) };
  if (r < 0.65) return { type: 'array', prefixItems: [schemaOf(depth + 1), schemaOf(depth + 1)], ...(random() < 0.5 && { items: false }) };
  if (r < 0.78) return { [pick(['anyOf', 'oneOf', 'allOf'])]: [schemaOf(depth + 1), schemaOf(depth + 1)], ...(random() < 0.3 && { type: pick(['object', 'string']) }) };
  if (r < 0.82) return { not: schemaOf(depth + 1) };
  if (r < 0.86) return { if: schemaOf(depth + 1), then: schemaOf(depth + 1), else: schemaOf(depth + 1) };
  if (r < 0.9) return { properties: { a: schemaOf(depth + 1) }, patternProperties: { '^b': schemaOf(depth + 1) }, additionalProperties: false };
  return { $ref: pick(['#/$defs/P', '#/$defs/Q', '#/properties/a']), ...(random() < 0.4 && leaf()) };
}
function valueOf(depth) {
  const r = random();
  if (depth > 3 || r < 0.6) return pick(['x', 'xy', '', 0, 1, 2.5, -1, 8, true, null, 'y', 'long']);
  if (r < 0.75) return Array.from({ length: Math.floor(random() * 3) }, () => valueOf(depth + 1));
  return Object.fromEntries(names.filter(() => random() < 0.45).map((n) => [n, valueOf(depth + 1)]));
}
for (let i = 0; i < wanted; i++) {
  const schema = { type: 'object', properties: Object.fromEntries(names.slice(0, 3).map((n) => [n, schemaOf(1)])),
    $defs: { P: schemaOf(1), Q: schemaOf(2) } };
  let valid;
  try {
    valid = compile(schema);
    const tests = Array.from({ length: 60 }, () => {
      const v = valueOf(0);
      const data = v && typeof v === 'object' && !Array.isArray(v) ? v : { [pick(names)]: v };
      return { data, valid: valid(data) };
    });
    cases.push({ name: `generated ${i}`, schema, tests });
  } catch (e) {
    i--; // references in a circle overflow the validator
  }
}

// A strict mode's null for an optional property means that it is left out.
const strict = (p) => p.endsWith('-strict');

let failed = 0;
console.log('provider           schemas refused lossless  wider narrower  rows');
for (const provider of providers) {
  let refused = 0, lossless = 0, wider = 0, narrower = 0, done = 0;
  const rows = {};
  for (const c of cases) {
    const flat = flatten(provider, c.schema);
    if (!flat) {
      refused++;
      continue;
    }
    done++;
    for (const row of flat.rows) rows[row] = (rows[row] ?? 0) + 1;
    const valid = compile(flat.schema);
    let lost = false;
    for (const t of c.tests) {
      let now;
      try {
        now = valid(t.data);
      } catch (e) {
        failed++;
        console.log(`${provider}: ${c.name}: ${e.message}\n  ${JSON.stringify(c.schema)}\n  ${JSON.stringify(flat.schema)}`);
        break;
      }
      if (now === t.valid) continue;
      lost = true;
      if (now) {
        wider++;
        if (flat.rows.size === 0) {
          failed++;
          console.log(`${provider}: ${c.name}: wider without a row: ${JSON.stringify(t.data)}\n  ${JSON.stringify(c.schema)}\n  ${JSON.stringify(flat.schema)}`);
        }
      } else {
        narrower++;
        const stated = flat.rows.has('ANY_AS_UNION') && !neverNarrow.has(provider);
        if (!stated && !strict(provider)) {
          failed++;
          console.log(`${provider}: ${c.name}: narrower: ${JSON.stringify(t.data)}\n  ${JSON.stringify(c.schema)}\n  ${JSON.stringify(flat.schema)}`);
        }
      }
    }
    if (!lost) lossless++;
  }
  console.log(`${provider.padEnd(18)} ${String(done).padStart(7)} ${String(refused).padStart(7)} ` +
    `${(100 * lossless / Math.max(done, 1)).toFixed(1).padStart(7)}% ${String(wider).padStart(6)} ${String(narrower).padStart(8)}  ` +
    Object.entries(rows).map(([k, v]) => `${k}:${v}`).join(' '));
}
for (const s of skips) console.log(`skipped ${s}`);
console.log(`schema properties: ${cases.length} schemas for ${providers.length} providers, ${failed} failed, ${skips.length} skipped`);
process.exit(failed > 0 ? 1 : 0);
