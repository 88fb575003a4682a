// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { promisify } from 'node:util';

// G-01: a directory and a link to the outside change places all the time.
test('no tool escapes a race of renames that a check-then-use tool loses', async (t) => {
  const rounds = process.env.WRIST_TESTS === 'full' ? '10000' : '2000';
  const { stdout } = await promisify(execFile)('build/release/sandbox/race', [rounds]);
  for (const line of stdout.trim().split('\n')) t.diagnostic(line);
  assert.match(stdout, /^openat2: .* 0 escapes/m);
  assert.match(stdout, /^steps: .* 0 escapes/m);
});
