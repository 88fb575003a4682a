// SPDX-License-Identifier: Apache-2.0
// Large, deeply shared tool lists: the Kubernetes API (a tool for each kind, with all that it
// reaches) and GitHub's REST description (a tool for each operation). What flatten writes is
// accepted by check, bounded, and the same when it is flattened again; where references may stay,
// each definition is written once.
//   node stress.mjs [path of wristctl] [count of tools of each list; 0: all]
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isStrict, providers, run } from './providers.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const wristctl = process.argv[2] ?? join(here, '../../../build/release/bin/wristctl');
const most = Number(process.argv[3] ?? 8) || Infinity;
const keepsDefinitions = new Set(['openai', 'anthropic', 'bedrock', 'groq', 'mistral']);
// Documented limits on one schema, past which there is no acceptable form.
const limits = { moonshot: /moonshot cannot say this: .*at most \d+ are taken/ };
const bytesMost = 24 << 20, msMost = 20000;

function bring(what) {
  const r = spawnSync(join(here, 'bring'), [what], { timeout: 300000 });
  return r.status === 0 ? r.stdout.toString().trim() : null;
}

const unescaped = (token) => decodeURIComponent(token).replaceAll('~1', '/').replaceAll('~0', '~');

// The definitions that a schema reaches, by name; `prefix` is how references to them begin.
function reached(schema, all, prefix) {
  const found = {}, queue = [schema];
  while (queue.length > 0) {
    const at = queue.pop();
    if (at === null || typeof at !== 'object') continue;
    const name = typeof at.$ref === 'string' && at.$ref.startsWith(prefix) ? unescaped(at.$ref.slice(prefix.length)) : null;
    if (name !== null && all[name] && !Object.hasOwn(found, name)) {
      found[name] = all[name];
      queue.push(all[name]);
    }
    queue.push(...Object.values(at));
  }
  return found;
}

function kubernetesTools(folder) {
  const all = JSON.parse(readFileSync(join(folder, '_definitions.json'), 'utf8')).$defs;
  return Object.entries(all).filter(([, d]) => d.properties?.apiVersion && d.properties.spec).map(([name]) => {
    const body = { $ref: `#/$defs/${name}` };
    return { name, schema: { type: 'object', properties: { namespace: { type: 'string' }, body }, required: ['body'],
      $defs: reached(body, all, '#/$defs/') } };
  });
}

function resolved(api, one) {
  if (one.$ref === undefined) return one;
  return one.$ref.slice(2).split('/').map(unescaped).reduce((at, token) => at[token], api);
}

function githubTools(folder) {
  const api = JSON.parse(readFileSync(join(folder, 'api.github.com.json'), 'utf8'));
  const tools = [];
  for (const [path, methods] of Object.entries(api.paths))
    for (const [method, operation] of Object.entries(methods)) {
      if (operation?.operationId === undefined) continue;
      const parameters = (operation.parameters ?? []).map((p) => resolved(api, p));
      const body = operation.requestBody && resolved(api, operation.requestBody).content?.['application/json']?.schema;
      const answer = Object.values(operation.responses ?? {}).map((r) => resolved(api, r).content?.['application/json']?.schema).find(Boolean);
      const properties = Object.fromEntries(parameters.map((p) => [p.name, { description: p.description, ...p.schema }]));
      const made = (props, required) => {
        const schema = { type: 'object', properties: props, required };
        const schemas = reached(schema, api.components.schemas, '#/components/schemas/');
        return { ...schema, ...(Object.keys(schemas).length > 0 && { components: { schemas } }) };
      };
      const required = parameters.filter((p) => p.required).map((p) => p.name);
      tools.push({ name: `${method} ${path}`, schema: made({ ...properties, ...(body && { body }) }, required) });
      if (answer) tools.push({ name: `${method} ${path} result`, kind: 'outputSchema', schema: made({ answer }, ['answer']) });
    }
  return tools;
}

// The largest, and as many others spread over the list.
function chosen(tools) {
  const sized = tools.map((tool) => ({ ...tool, text: JSON.stringify(tool.schema) })).sort((a, b) => b.text.length - a.text.length);
  if (sized.length <= most) return sized;
  const large = Math.ceil(most / 2), step = Math.floor((sized.length - large) / (most - large));
  return [...sized.slice(0, large), ...sized.slice(large).filter((_, i) => i % step === 0).slice(0, most - large)];
}

let passed = 0, failed = 0, skipped = 0;
function judge(list, tool, provider, sum) {
  const problems = [], kind = tool.kind ?? 'schema';
  const flat = run(wristctl, 'flatten', provider, kind, tool.text);
  if (flat.code === 3 && (isStrict(provider) || provider in limits && limits[provider].test(flat.err))) {
    sum.refused++;
    passed++;
    return;
  }
  sum.ms += flat.ms;
  sum.bytes += flat.out.length;
  sum.largest = Math.max(sum.largest, flat.out.length);
  sum.slowest = Math.max(sum.slowest, flat.ms);
  if (flat.code !== 0) problems.push(`exit ${flat.code}: ${flat.err.slice(0, 300)}`);
  else {
    const check = run(wristctl, 'check', provider, kind, flat.out);
    if (check.code !== 0) problems.push(`check refuses it: ${check.out.slice(0, 300)}`);
    if (run(wristctl, 'flatten', provider, kind, flat.out).out !== flat.out) problems.push('a second flatten changes it');
    if (flat.out.length > bytesMost) problems.push(`${flat.out.length} bytes`);
    if (flat.ms > msMost) problems.push(`${flat.ms} ms`);
    if (keepsDefinitions.has(provider) && flat.out.length > 1.1 * tool.text.length + 1000)
      problems.push(`${tool.text.length} bytes became ${flat.out.length}: definitions stand more than once`);
  }
  if (problems.length === 0) passed++;
  else {
    failed++;
    console.log(`${list} ${tool.name} ${provider}: ${problems.join('\n   ')}`);
  }
}

for (const [list, make] of [['kubernetes', kubernetesTools], ['github', githubTools]]) {
  const folder = bring(list);
  if (folder === null) {
    console.log(`skipped the tool list of ${list}: the package that carries it was not to be had`);
    skipped++;
    continue;
  }
  const all = make(folder), tools = chosen(all);
  if (all.length < 50) throw new Error(`${list} has only ${all.length} tools`);
  const read = tools.reduce((sum, tool) => sum + tool.text.length, 0);
  console.log(`${list}: ${tools.length} of ${all.length} tools, ${read} bytes, the largest ${tools[0].text.length}`);
  for (const provider of providers) {
    const sum = { ms: 0, bytes: 0, largest: 0, slowest: 0, refused: 0 };
    for (const tool of tools) judge(list, tool, provider, sum);
    console.log(`  ${provider.padEnd(17)} ${sum.bytes} bytes in ${Math.round(sum.ms)} ms; the largest ${sum.largest}, the slowest ${Math.round(sum.slowest)} ms; ${sum.refused} refused`);
  }
}
console.log(`schema stress: ${passed} passed, ${failed} failed, ${skipped} skipped`);
process.exit(failed > 0 ? 1 : 0);
