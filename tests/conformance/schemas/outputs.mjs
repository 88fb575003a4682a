// SPDX-License-Identifier: Apache-2.0
// Results for Gemini and the schema of them belong together: what a server's structuredContent is
// rewritten to is valid for the validator of the official TypeScript SDK, by the rewritten
// outputSchema, whenever it was valid before.
//   node outputs.mjs [path of wristctl]
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/sdk/validation/ajv';
import { run } from './providers.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const wristctl = process.argv[2] ?? join(here, '../../../build/release/bin/wristctl');
const validator = new AjvJsonSchemaValidator();
const object = (properties, more = {}) => ({ type: 'object', properties, ...more });
const s = { type: 'string' }, n = { type: 'number' };

// [schema, results that are valid]
const rows = [
  [object({ $ref: s, a: n }, { required: ['$ref'] }), { $ref: '#/x', a: 1 }, { $ref: 'x', other: { $ref: 1 } }],
  [object({ $ref: s, _$ref: n }, { required: ['$ref', '_$ref'], additionalProperties: false }), { $ref: '#/x', _$ref: 2 }],
  [object({ l: { type: 'array', items: object({ $ref: s }, { required: ['$ref'] }) } }), { l: [{ $ref: 'a' }, { $ref: 'b', z: 1 }] }],
  [object({ d: { $ref: '#/$defs/D' } }, { $defs: { D: object({ $ref: s, next: { $ref: '#/$defs/D' } }, { required: ['$ref'] }) } }),
    { d: { $ref: 'a', next: { $ref: 'b', next: { $ref: 'c' } } } }],
  [object({ u: { anyOf: [object({ $ref: s }, { required: ['$ref'] }), { type: 'null' }] } }), { u: { $ref: 'x' } }, { u: null }],
  [object({ u: { allOf: [object({ $ref: s }), object({ b: n }, { required: ['b'] })] } }), { u: { $ref: 'x', b: 2 } }],
  [object({ e: { enum: [{ $ref: 'x' }, '$ref'] } }), { e: { $ref: 'x' } }, { e: '$ref' }],
  [object({ c: { const: { a: [{ $ref: 1 }] } } }), { c: { a: [{ $ref: 1 }] } }],
  [object({ m: { type: 'object', additionalProperties: n } }), { m: { $ref: 1, x: 2 } }],
  [object({ m: { type: 'object', patternProperties: { '^\\$ref$': n }, additionalProperties: false } }), { m: { $ref: 1 } }],
  [object({ m: { type: 'object', propertyNames: { enum: ['$ref', 'a'] } } }), { m: { $ref: 1, a: 2 } }],
  [object({ m: object({ a: n, $ref: n }, { dependentRequired: { a: ['$ref'] } }) }), { m: { a: 1, $ref: 2 } }],
  [object({ m: object({ a: n }, { dependentSchemas: { $ref: { required: ['a'] } } }) }), { m: { a: 1, $ref: 2 } }],
  [{ type: 'array', items: object({ $ref: s }) }, [{ $ref: 'x' }], []],
  [{ type: 'string' }, 'text'], [{ type: ['integer', 'null'] }, 3, null], [{}, 1, [2], { $ref: 3 }, null, 'x'],
  [{ anyOf: [{ type: 'string' }, object({ $ref: s }, { required: ['$ref'] })] }, 'x', { $ref: 'y' }],
  [{ $ref: '#/$defs/L', $defs: { L: { type: 'array', items: { anyOf: [{ type: 'integer' }, { $ref: '#/$defs/L' }] } } } }, [1, [2, [3]]]],
  [object({ s: { type: 'string', minLength: 1 } }), { s: '\u0000' }, { s: '\ud800x' }],
  [object({ '': s, title: s, default: n }), { '': 'x', title: 'y', default: 1 }],
];

let passed = 0, failed = 0;
function judge(provider, schema, value) {
  const outer = run(wristctl, 'flatten', provider, 'outputSchema', JSON.stringify(schema));
  const result = run(wristctl, 'flatten', 'gemini-result', 'result', JSON.stringify(value));
  const problems = [];
  if (outer.code !== 0 || result.code !== 0) problems.push(`exit ${outer.code} and ${result.code}: ${outer.err}${result.err}`);
  else {
    const told = validator.getValidator(JSON.parse(outer.out))(JSON.parse(result.out));
    if (!told.valid) problems.push(`refused: ${told.errorMessage}\n   ${outer.out}   ${result.out}`);
    if (run(wristctl, 'check', 'gemini-result', 'result', result.out).code !== 0) problems.push(`check refuses ${result.out}`);
  }
  if (problems.length === 0) passed++;
  else {
    failed++;
    console.log(`${provider}: ${JSON.stringify(schema)} for ${JSON.stringify(value)}: ${problems.join('; ')}`);
  }
}

for (const [schema, ...values] of rows)
  for (const provider of ['gemini', 'gemini-json', 'vertex'])
    for (const value of values) {
      if (!validator.getValidator(schema)(value).valid) throw new Error(`not valid before: ${JSON.stringify([schema, value])}`);
      judge(provider, schema, value);
    }
console.log(`schemas of results: ${passed} passed, ${failed} failed, 0 skipped`);
process.exit(failed > 0 || passed === 0 ? 1 : 0);
