// SPDX-License-Identifier: Apache-2.0
// Drives the real `wristctl schema` over every case of schema_cases.jsonl, as a user would.
//   node cases.mjs [path of wristctl] [id or provider to look at]
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { providers, run } from './providers.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const wristctl = process.argv[2] ?? join(here, '../../../build/release/bin/wristctl');
const only = process.argv[3];
const strict = new Set(['openai-strict', 'anthropic-strict', 'bedrock-strict', 'deepseek-strict', 'bedrock-nova']);
const renaming = new Set(['anthropic', 'anthropic-strict', 'bedrock', 'bedrock-strict']);
const nameRule = {
  gemini: /^[A-Za-z_][A-Za-z0-9_.:-]{0,63}$/, openai: /^[a-zA-Z0-9_-]{1,64}$/,
  mistral: /^[a-zA-Z0-9_-]{1,64}$/, bedrock: /^[a-zA-Z0-9_-]{1,64}$/,
};

const single = ['items', 'additionalItems', 'additionalProperties', 'unevaluatedProperties', 'unevaluatedItems',
  'contains', 'contentSchema', 'not', 'if', 'then', 'else', 'propertyNames'];
const lists = ['anyOf', 'oneOf', 'allOf', 'prefixItems', 'items'];
const maps = ['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas', 'dependencies'];

export function* schemas(node) {
  if (node === null || typeof node !== 'object' || Array.isArray(node)) return;
  yield node;
  for (const k of single) if (Object.hasOwn(node, k)) yield* schemas(node[k]);
  for (const k of lists) if (Array.isArray(node[k])) for (const s of node[k]) yield* schemas(s);
  for (const k of maps)
    if (node[k] && typeof node[k] === 'object' && !Array.isArray(node[k]) && Object.hasOwn(node, k))
      for (const s of Object.values(node[k])) yield* schemas(s);
}

function* keys(value) {
  if (Array.isArray(value)) for (const v of value) yield* keys(v);
  else if (value && typeof value === 'object')
    for (const [k, v] of Object.entries(value)) { yield k; yield* keys(v); }
}

const none = Symbol('none');
function pointer(root, path) {
  let at = root;
  for (const raw of path.split('/').slice(1)) {
    const token = raw.replaceAll('~1', '/').replaceAll('~0', '~');
    if (at === null || typeof at !== 'object' || !Object.hasOwn(at, token)) return none;
    at = at[token];
  }
  return at;
}

function dangles(root) {
  for (const s of schemas(root))
    if (typeof s.$ref === 'string' && s.$ref.startsWith('#') &&
        pointer(root, decodeURIComponent(s.$ref.slice(1))) === none && s.$ref !== '#') return true;
  return false;
}

function holds(token, out, text) {
  if (token.startsWith('ptr:')) {
    const at = token.indexOf('=');
    if (at < 0) return pointer(out, token.slice(4)) !== none;
    const found = pointer(out, token.slice(4, at));
    return found !== none && JSON.stringify(found) === JSON.stringify(JSON.parse(token.slice(at + 1)));
  }
  if (token.startsWith('kw:')) return [...schemas(out)].some((s) => Object.hasOwn(s, token.slice(3)));
  if (token.startsWith('key:')) return [...keys(out)].includes(token.slice(4));
  if (token === 'dangling') return dangles(out);
  return text.includes(token);
}

function judgeNames(c, provider, out) {
  const problems = [];
  const names = out.names;
  if (names.length !== c.input.names.length) problems.push('another number of names');
  for (const n of names) if (!nameRule[provider].test(n)) problems.push(`not legal: ${n}`);
  if (new Set(names).size !== names.length) problems.push('not distinct');
  for (const n of c.unchanged ?? []) if (names[c.input.names.indexOf(n)] !== n) problems.push(`changed: ${n}`);
  return problems;
}

function judge(c, provider, kind, input) {
  const r = run(wristctl, 'flatten', provider, kind, input);
  const fallback = c.must_contain.find((t) => t === 'fallback' || t.startsWith('fallback-or:'));
  if (r.code === 3) {
    const may = fallback || (c.provider === 'any' && strict.has(provider));
    return may ? [] : [`refused: ${r.err.trim()}`];
  }
  if (r.code !== 0) return [`exit ${r.code} : ${r.err.trim().slice(0, 300)}`];
  const out = JSON.parse(r.out);
  const text = JSON.stringify(out);
  const problems = [];
  if (fallback === 'fallback') problems.push('should have been refused');
  if (kind === 'names') return problems.concat(judgeNames(c, provider, out));
  for (let token of c.must_contain) {
    if (token === 'fallback') continue;
    if (token.startsWith('fallback-or:')) token = `ptr:${token.slice(12)}`;
    const mapped = c.provider === 'any' && renaming.has(provider) && token.startsWith('ptr:');
    if (!holds(token, out, text) && !mapped) problems.push(`lacks ${token}`);
  }
  for (const token of c.must_not_contain) if (holds(token, out, text)) problems.push(`has ${token}`);
  if (c.max_bytes && r.out.length > c.max_bytes) problems.push(`${r.out.length} bytes`);
  if (c.max_ms && r.ms > c.max_ms) problems.push(`${Math.round(r.ms)} ms`);
  const check = run(wristctl, 'check', provider, kind, r.out);
  if (check.code !== 0) problems.push(`check refuses the output: ${check.out.trim().slice(0, 300)}`);
  const again = run(wristctl, 'flatten', provider, kind, r.out);
  if (again.out !== r.out) problems.push(`a second flatten changes it:\n   ${r.out.slice(0, 600)}   ${again.out.slice(0, 600)}`);
  if (problems.length > 0) problems.push(`got ${r.out.trim().slice(0, 700)}`);
  return problems;
}

let passed = 0, failed = 0, calls = 0, agree = 0;
const disagree = [];
for (const line of readFileSync(join(here, 'schema_cases.jsonl'), 'utf8').split('\n').filter(Boolean)) {
  const c = JSON.parse(line);
  const input = c.input_raw ?? JSON.stringify(c.input);
  const kind = c.provider === 'gemini-result' ? 'result' : c.kind ?? 'schema';
  for (const provider of c.provider === 'any' ? providers : [c.provider]) {
    if (only && !c.id.startsWith(only) && provider !== only) continue;
    const problems = judge(c, provider, kind, input);
    if (problems.length === 0) passed++;
    else {
      failed++;
      console.log(`${c.id} ${provider}: ${problems.join('\n   ')}`);
    }
    if (kind === 'names' || !c.raw_input_rejected_for) continue;
    const raw = run(wristctl, 'check', provider, kind, input);
    calls++;
    if ((raw.code !== 0) === c.raw_input_rejected_for.includes(provider)) agree++;
    else disagree.push(`${c.id} ${provider}: check says ${raw.code !== 0 ? 'refused ' + raw.out.split('\n')[0] : 'accepted'}`);
  }
}
if (process.env.SHOW_DISAGREEMENTS) console.log(disagree.join('\n'));
console.log(`check agrees with the reports on ${agree} of ${calls} inputs as they came`);
console.log(`schema cases: ${passed} passed, ${failed} failed, 0 skipped`);
process.exit(failed > 0 ? 1 : 0);
