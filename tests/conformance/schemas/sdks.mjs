// SPDX-License-Identifier: Apache-2.0
// The providers' own SDKs as judges: what flatten writes passes their helpers as it is. Openai's
// makes schemas strict, Anthropic's moves what a strict mode lacks into descriptions, and Google's
// writes types in capitals on the way to the wire, where a local server takes the request.
//   node sdks.mjs [path of wristctl]
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { transformJSONSchema } from '@anthropic-ai/sdk/lib/transform-json-schema';
import { GoogleGenAI } from '@google/genai';
import { toStrictJsonSchema } from 'openai/lib/transform';
import { run } from './providers.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const wristctl = process.argv[2] ?? join(here, '../../../build/release/bin/wristctl');

// Applies `change` to a schema and all below it, by position.
function mapped(schema, change) {
  const out = { ...schema };
  for (const key of ['items', 'additionalProperties']) if (out[key] && typeof out[key] === 'object') out[key] = mapped(out[key], change);
  if (out.anyOf) out.anyOf = out.anyOf.map((branch) => mapped(branch, change));
  for (const key of ['properties', '$defs'])
    if (out[key]) out[key] = Object.fromEntries(Object.entries(out[key]).map(([k, v]) => [k, mapped(v, change)]));
  return change(out);
}

// What the helpers do to any schema, also to one that is right already.
const withRequired = (schema) => mapped(schema, (s) => (s.properties ? { required: [], ...s } : s));
const withHints = (schema) => mapped(schema, (s) => {
  const { type, pattern, default: value, ...out } = s;
  if (type !== undefined && out.enum === undefined && out.const === undefined) out.type = type;
  const told = Object.entries({ pattern, default: value }).filter(([, v]) => v !== undefined)
    .sort(([a], [b]) => Object.keys(s).indexOf(a) - Object.keys(s).indexOf(b));
  if (told.length > 0)
    out.description = `${out.description ? `${out.description}\n\n` : ''}{${told.map(([k, v]) => `${k}: ${JSON.stringify(v)}`).join(', ')}}`;
  return out;
});
// Google's assigns by key, so that a property called __proto__ is lost in it.
const inCapitals = (schema) => mapped(schema, (s) => {
  const out = { ...s };
  if (typeof s.type === 'string') out.type = s.type.toUpperCase();
  if (s.properties) out.properties = Object.fromEntries(Object.entries(s.properties).filter(([k]) => k !== '__proto__'));
  return out;
});

const server = createServer((request, response) => {
  let body = '';
  request.on('data', (piece) => { body += piece; });
  request.on('end', () => {
    server.last = JSON.parse(body);
    response.setHeader('content-type', 'application/json');
    response.end('{"candidates":[{"content":{"parts":[{"text":"ok"}]}}]}');
  });
});
await new Promise((done) => server.listen(0, '127.0.0.1', done));
const google = new GoogleGenAI({ apiKey: 'none', httpOptions: { baseUrl: `http://127.0.0.1:${server.address().port}` } });

async function throughGoogle(member, schema) {
  await google.models.generateContent({ model: 'm', contents: 'x',
    config: { tools: [{ functionDeclarations: [{ name: 'f', description: 'd', [member]: schema }] }] } });
  return server.last.tools[0].functionDeclarations[0][member];
}

const sorted = (schema) => JSON.parse(JSON.stringify(schema, (key, value) =>
  value && typeof value === 'object' && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))) : value));

const judges = {
  'openai-strict': (schema) => assert.deepEqual(toStrictJsonSchema(structuredClone(schema)), withRequired(schema)),
  'anthropic-strict': (schema) => assert.deepEqual(sorted(transformJSONSchema(schema)), sorted(withHints(schema))),
  gemini: async (schema) => assert.deepEqual(await throughGoogle('parameters', schema), inCapitals(schema)),
  'gemini-json': async (schema) => assert.deepEqual(await throughGoogle('parametersJsonSchema', schema), schema),
};

let passed = 0, failed = 0;
for (const line of readFileSync(join(here, 'schema_cases.jsonl'), 'utf8').split('\n').filter(Boolean)) {
  const c = JSON.parse(line);
  if (c.kind === 'names' || c.provider === 'gemini-result' || c.input_raw) continue;
  for (const [provider, judge] of Object.entries(judges)) {
    const flat = run(wristctl, 'flatten', provider, 'schema', JSON.stringify(c.input));
    if (flat.code === 3) continue;
    try {
      await judge(JSON.parse(flat.out));
      passed++;
    } catch (e) {
      failed++;
      console.log(`${c.id} ${provider}: ${e.message.slice(0, 900)}\n   ${flat.out.slice(0, 600)}`);
    }
  }
}
server.close();
console.log(`schema SDKs: ${passed} passed, ${failed} failed, 0 skipped`);
process.exit(failed > 0 ? 1 : 0);
