// SPDX-License-Identifier: Apache-2.0
// What the tests of this folder know of the providers, and the command as they run it.
import { spawnSync } from 'node:child_process';
import Ajv2020 from 'ajv/dist/2020.js';

export const providers = ['gemini', 'gemini-json', 'vertex', 'openai', 'openai-strict', 'anthropic',
  'anthropic-strict', 'bedrock', 'bedrock-strict', 'bedrock-nova', 'mistral', 'groq',
  'deepseek-strict', 'xai', 'moonshot', 'ollama', 'llamacpp'];
export const neverNarrow = new Set(['openai', 'anthropic', 'bedrock', 'groq', 'mistral']);
export const isStrict = (provider) => provider.endsWith('-strict');

export function compile(schema) {
  return new Ajv2020.default({ strict: false, validateFormats: false, validateSchema: false, logger: false }).compile(schema);
}

// OpenAPI's flag as JSON Schema says it.
function withoutNullable(s) {
  if (Array.isArray(s)) return s.map(withoutNullable);
  if (s === null || typeof s !== 'object') return s;
  const { nullable, ...rest } = Object.fromEntries(Object.entries(s).map(([k, v]) =>
    [k, ['enum', 'const', 'default', 'example'].includes(k) ? v : withoutNullable(v)]));
  return nullable === true ? { anyOf: [rest, { type: 'null' }] } : { ...rest };
}

// Strict modes ask for every property: null stands for one that is left out.
function withNulls(data, schema, root = schema) {
  for (let hops = 0; typeof schema?.$ref === 'string' && hops < 20; hops++)
    schema = schema.$ref === '#' ? root : root.$defs?.[schema.$ref.slice('#/$defs/'.length)];
  if (data === null || typeof data !== 'object' || schema === null || typeof schema !== 'object') return data;
  if (Array.isArray(data)) return data.map((one) => withNulls(one, schema.items, root));
  const whole = { ...data };
  for (const [key, below] of Object.entries(schema.properties ?? {}))
    whole[key] = Object.hasOwn(data, key) ? withNulls(data[key], below, root) : null;
  const branches = (schema.anyOf ?? []).map((branch) => withNulls(whole, branch, root));
  return branches.find((filled, i) => isObjectBranch(schema.anyOf[i]) && fits(filled, schema.anyOf[i], root)) ?? whole;
}
const isObjectBranch = (branch) => branch.type === 'object' || branch.$ref !== undefined;
const fits = (data, schema, root) => compile({ ...schema, $defs: root.$defs })(data);

export function run(wristctl, verb, provider, kind, input) {
  const started = performance.now();
  const r = spawnSync(wristctl, ['schema', verb, '--provider', provider, '--kind', kind, '-'],
    { input, maxBuffer: 1 << 30, timeout: 60000 });
  return { code: r.status, out: r.stdout.toString(), err: r.stderr.toString(), ms: performance.now() - started };
}

// The flattening, as JSON Schema, and the rows of the loss table; null where a strict mode refuses.
export function flatten(wristctl, provider, schema) {
  const r = run(wristctl, 'flatten', provider, 'schema', JSON.stringify(schema));
  if (r.code === 3 && isStrict(provider)) return null;
  if (r.code !== 0) throw new Error(`${provider}: exit ${r.code}: ${r.err}\n  ${JSON.stringify(schema)}`);
  const rows = [...r.err.matchAll(/^note ([A-Z_]+)/gm)].map((m) => m[1]);
  return { text: r.out, schema: withoutNullable(JSON.parse(r.out)), rows: new Set(rows) };
}

// Counts, for each provider, what a validator says of instances before and after.
export class Ledger {
  constructor() {
    this.failed = 0;
    this.of = Object.fromEntries(providers.map((p) => [p, { done: 0, refused: 0, lossless: 0, wider: 0, narrower: 0, rows: {} }]));
  }

  fail(text, ...schemas) {
    this.failed++;
    console.log([text, ...schemas.map((s) => JSON.stringify(s))].join('\n  '));
  }

  // tests: {data, valid}; valid is what the source schema says.
  judge(provider, name, source, flat, tests) {
    const count = this.of[provider];
    if (flat === null) {
      count.refused++;
      return;
    }
    count.done++;
    for (const row of flat.rows) count.rows[row] = (count.rows[row] ?? 0) + 1;
    let lost = false;
    const valid = compile(flat.schema);
    for (const t of tests) {
      const now = this.#ask(valid, isStrict(provider) ? withNulls(t.data, flat.schema) : t.data, provider, name, source, flat);
      if (now === t.valid || now === undefined) continue;
      lost = true;
      if (now) {
        count.wider++;
        if (flat.rows.size === 0)
          this.fail(`${provider}: ${name}: wider without a row: ${JSON.stringify(t.data)}`, source, flat.schema);
      } else {
        count.narrower++;
        const stated = flat.rows.has('ANY_AS_UNION') && !neverNarrow.has(provider);
        if (!stated && !isStrict(provider))
          this.fail(`${provider}: ${name}: narrower: ${JSON.stringify(t.data)}`, source, flat.schema);
      }
    }
    if (!lost) count.lossless++;
  }

  #ask(valid, data, provider, name, source, flat) {
    try {
      return valid(data);
    } catch (e) {
      this.fail(`${provider}: ${name}: ${e.message}`, source, flat.schema);
    }
  }

  print() {
    console.log('provider           schemas refused lossless  wider narrower  rows');
    for (const [provider, c] of Object.entries(this.of))
      console.log(`${provider.padEnd(18)} ${String(c.done).padStart(7)} ${String(c.refused).padStart(7)} ` +
        `${(100 * c.lossless / Math.max(c.done, 1)).toFixed(1).padStart(7)}% ${String(c.wider).padStart(6)} ${String(c.narrower).padStart(8)}  ` +
        Object.entries(c.rows).map(([k, v]) => `${k}:${v}`).join(' '));
  }
}
