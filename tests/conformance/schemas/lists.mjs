// SPDX-License-Identifier: Apache-2.0
// The tool lists of real MCP servers: what flatten writes for each provider is accepted by check,
// keeps every property, and a second flatten changes nothing.
//   node lists.mjs [path of wristctl]
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { providers, run } from './providers.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const wristctl = process.argv[2] ?? join(here, '../../../build/release/bin/wristctl');
const servers = [['server-everything', ['stdio']], ['server-filesystem', [here]]];

async function toolsOf(name, args) {
  const file = join(here, 'node_modules/@modelcontextprotocol', name, 'dist/index.js');
  const child = spawn(process.execPath, [file, ...args], { stdio: ['pipe', 'pipe', 'ignore'] });
  const timer = setTimeout(() => child.kill('SIGKILL'), 30000);
  const send = (message) => child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  send({ id: 1, method: 'initialize', params: { protocolVersion: '2025-06-18', capabilities: {},
    clientInfo: { name: 'lists', version: '1' } } });
  try {
    for await (const line of createInterface({ input: child.stdout })) {
      const message = JSON.parse(line);
      if (message.method === 'roots/list') send({ id: message.id, result: { roots: [] } });
      if (message.method !== undefined) continue;
      if (message.id === 2) return message.result.tools;
      send({ method: 'notifications/initialized' });
      send({ id: 2, method: 'tools/list', params: {} });
    }
  } finally {
    clearTimeout(timer);
    child.kill();
  }
  throw new Error(`${name} ended without its tools`);
}

let passed = 0, failed = 0, refused = 0;
function judge(where, provider, kind, schema) {
  const first = run(wristctl, 'flatten', provider, kind, JSON.stringify(schema));
  if (first.code === 3) {
    refused++;
    return;
  }
  const problems = [];
  if (first.code !== 0) problems.push(`exit ${first.code}: ${first.err}`);
  else {
    const names = Object.keys(schema.properties ?? {});
    const kept = Object.keys(JSON.parse(first.out).properties ?? {});
    if (names.some((n) => !kept.includes(n))) problems.push(`lost a property: ${names} became ${kept}`);
    const check = run(wristctl, 'check', provider, kind, first.out);
    if (check.code !== 0) problems.push(`check refuses it: ${check.out}`);
    if (run(wristctl, 'flatten', provider, kind, first.out).out !== first.out) problems.push('a second flatten changes it');
  }
  if (problems.length === 0) passed++;
  else {
    failed++;
    console.log(`${where} ${provider} ${kind}: ${problems.join('\n   ')}\n   ${JSON.stringify(schema)}`);
  }
}

for (const [name, args] of servers) {
  const tools = await toolsOf(name, args);
  if (tools.length < 5) throw new Error(`${name} lists only ${tools.length} tools`);
  for (const tool of tools)
    for (const provider of providers) {
      judge(`${name} ${tool.name}`, provider, 'schema', tool.inputSchema);
      if (tool.outputSchema) judge(`${name} ${tool.name}`, provider, 'outputSchema', tool.outputSchema);
    }
  console.log(`${name}: ${tools.length} tools, ${tools.filter((t) => t.outputSchema).length} with an outputSchema`);
}
console.log(`tool lists: ${passed} passed, ${failed} failed, ${refused} refused by a strict mode`);
process.exit(failed > 0 || passed === 0 ? 1 : 0);
