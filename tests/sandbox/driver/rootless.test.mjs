// SPDX-License-Identifier: Apache-2.0
// The driver without root. Needs root only to become someone else.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import { describe, it } from 'node:test';
import { Driver, fakeWorker, needsRuntime, newId } from './driver.mjs';

const plainUser = 64321; // in no database, so without any range

const profile = (more) => `  trial:\n    trial: true\n    worker: ${fakeWorker()}\n${more}` +
  '    limits: { disk: 64MiB, inodes: 4096, tmp: 16MiB }\n';

// The uid of someone whom /etc/subuid grants a range.
function grantedUser() {
  const read = (file) => (fs.existsSync(file) ? fs.readFileSync(file, 'utf8') : '');
  const names = read('/etc/subuid').split('\n').map((line) => line.split(':')[0]).filter(Boolean);
  for (const line of read('/etc/passwd').split('\n')) {
    const [name, , uid] = line.split(':');
    if (uid !== '0' && names.includes(name)) return Number(uid);
  }
  return undefined;
}

describe('a rootless wrist-driver', { skip: needsRuntime() }, () => {
  it('refuses to run worker and commands as one without being told to', async () => {
    const driver = new Driver({ profiles: profile(''), user: plainUser });
    await assert.rejects(driver.start(), /weak_isolation: true/);
    fs.rmSync(driver.folder, { recursive: true });
  });

  it('refuses a profile with volumes, which it could not mount', async () => {
    const driver = new Driver({
      profiles: profile('    weak_isolation: true\n    volumes: { size: 32MiB }\n'), user: plainUser,
    });
    await assert.rejects(driver.start(), /volumes are disks that are mounted/);
    fs.rmSync(driver.folder, { recursive: true });
  });

  it('works with one uid, and says at start what does not hold', async () => {
    const driver = await new Driver({
      profiles: profile('    weak_isolation: true\n'), user: plainUser, settings: 'allowed_users: [root]',
    }).start();
    assert.match(driver.log, /"event":"profile.weak_isolation"/);
    assert.match(driver.log, /"event":"profile.no_cgroups"/);
    const id = newId();
    assert.equal((await driver.create(id)).status, 201);
    const start = JSON.parse(await driver.say(id, 'start'));
    assert.equal(start.sandbox.command_uid, 0);
    assert.equal(start.isolation.isolation, 'weak');
    assert.equal(await driver.say(id, 'root echo a > /workspace/a; cat /workspace/a'), 'a\n');
    assert.match(await driver.say(id,
      'root dd if=/dev/zero of=/workspace/big bs=1M count=200 2>&1'), /No space/);
    assert.match(await driver.say(id, 'root touch /x /usr/x 2>&1'), /Read-only/);
    await driver.kill();
    await driver.start();
    assert.equal((await driver.request('GET', `/v1/sandboxes/${id}`)).body.state, 'running');
    assert.equal((await driver.remove(id)).status, 204);
    assert.deepEqual(driver.leftovers(), []);
    await driver.close();
  });

  it('gives commands a uid of their own where /etc/subuid grants a range', {
    skip: grantedUser() === undefined && 'nobody has a range in /etc/subuid',
  }, async () => {
    const driver = await new Driver({
      profiles: profile(''), user: grantedUser(), settings: 'allowed_users: [root]',
    }).start();
    assert.doesNotMatch(driver.log, /weak_isolation/);
    const id = newId();
    const made = await driver.create(id);
    assert.equal(made.status, 201, JSON.stringify(made.body));
    assert.equal(await driver.say(id, 'sh id -u; echo a > /workspace/a; cat /workspace/a'),
      '1000\na\n');
    assert.match(await driver.say(id, 'sh touch /inputs/x 2>&1'), /Permission denied/);
    await driver.remove(id);
    assert.deepEqual(driver.leftovers(), []);
    await driver.close();
  });
});
