// SPDX-License-Identifier: Apache-2.0
// Nothing is narrowed: what is valid against a generated schema is valid against its flattening, for
// every provider; and the other way round but for the rows of the loss table. Judged by ajv.
//   node property.mjs [wristctl] [count of generated schemas] [seed]
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Ledger, compile, flatten, providers } from './providers.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const wristctl = process.argv[2] ?? join(here, '../../../build/release/bin/wristctl');
const wanted = Number(process.argv[3] ?? 150);
let seed = Number(process.argv[4] ?? 1);

const random = () => {
  seed = (seed * 1103515245 + 12345) % 2147483648;
  return seed / 2147483648;
};
const pick = (list) => list[Math.floor(random() * list.length)];
const cases = [];

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

const ledger = new Ledger();
for (const provider of providers)
  for (const c of cases) ledger.judge(provider, c.name, c.schema, flatten(wristctl, provider, c.schema), c.tests);
ledger.print();
console.log(`schema properties: ${cases.length * providers.length - ledger.failed} passed, ${ledger.failed} failed, 0 skipped`);
process.exit(ledger.failed > 0 ? 1 : 0);
