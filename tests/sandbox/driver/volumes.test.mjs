// SPDX-License-Identifier: Apache-2.0
// Volumes on real containers: what is in them, who has them, how long they are kept.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Driver, fakeWorker, needsRuntime, newId, until } from './driver.mjs';

const fleet = 'f'.repeat(32);
const alice = 'a'.repeat(64);
const bob = 'b'.repeat(64);
const newVolume = () => randomBytes(32).toString('hex');
const profiles = () => ['trial', 'other'].map((name) =>
  `  ${name}:\n    trial: true\n    worker: ${fakeWorker()}\n` +
  '    volumes: { size: 32MiB, inodes: 2048 }\n' +
  '    limits: { disk: 64MiB, inodes: 4096, memory: 128MiB, pids: 64, tmp: 16MiB }\n').join('') +
  `  none:\n    trial: true\n    worker: ${fakeWorker()}\n` +
  '    limits: { disk: 64MiB, inodes: 4096, memory: 128MiB, pids: 64, tmp: 16MiB }\n';

describe('volumes of wrist-driver', { skip: needsRuntime() }, () => {
  let driver;
  before(async () => {
    driver = await new Driver({ profiles: profiles(), settings: 'volume_grace: 0s' }).start();
  });
  after(() => driver.close());

  const create = (volume, more = {}, id = newId()) => driver.create(id, {
    volume, volume_owner: alice, volume_label: 'a label', volume_keep_ms: 3600000,
    volumes_most: 100, ...more });
  const list = async (query = '') =>
    (await driver.request('GET', `/v1/volumes${query}`)).body.volumes;
  const find = async (volume) => (await list()).find((row) => row.id === volume);
  const drop = (volume, of = fleet) =>
    driver.request('DELETE', `/v1/volumes/${volume}?fleet=${of}`);
  const image = (volume) => path.join(driver.state, 'volumes', `${volume}.ext4`);
  const holders = (volume) => execFileSync('losetup', ['-a'], { encoding: 'utf8' })
    .split('\n').filter((line) => line.includes(volume));

  it('keeps a workspace beyond its sandbox, and a sandbox without one starts empty', async () => {
    const volume = newVolume();
    const first = (await create(volume)).body.id;
    assert.equal(await driver.say(first, 'sh echo kept > /workspace/a; mkdir -p /workspace/d; ' +
      'echo gone > /tmp/b; cat /workspace/a'), 'kept\n');
    assert.equal((await driver.request('GET', `/v1/sandboxes/${first}`)).body.volume, volume);
    assert.equal(JSON.parse(await driver.say(first, 'start')).sandbox.principal, alice);
    assert.equal((await driver.remove(first)).status, 204);
    assert.deepEqual(holders(volume), []);
    const second = (await create(volume)).body.id;
    assert.equal(await driver.say(second, 'sh cat /workspace/a; ls /workspace; ls /tmp'),
      'kept\na\nd\n');
    assert.equal(await driver.say(second, 'sh stat -c %U:%a /workspace'),
      await driver.say(second, 'sh echo $(id -un):755'));
    const plain = (await driver.create()).body.id;
    assert.equal(await driver.say(plain, 'sh ls /workspace'), '');
    assert.equal(JSON.parse(await driver.say(plain, 'start')).sandbox.principal, undefined);
    await driver.remove(plain);
    await driver.remove(second);
  });

  it('holds size, inodes, nosuid and nodev in it', async () => {
    const { id } = (await create(newVolume())).body;
    const sh = (command) => driver.say(id, `sh ${command}`);
    assert.match(await sh('grep " /workspace " /proc/self/mounts'), /ext4 rw,nosuid,nodev/);
    assert.match(await sh('dd if=/dev/zero of=/workspace/big bs=1M count=64 2>&1'), /No space/);
    assert.match(await sh('rm /workspace/big; i=0; while [ $i -lt 3000 ]; do : > /workspace/f$i ' +
      '|| break; i=$((i+1)); done 2>&1 | tail -1'), /No space/);
    await driver.remove(id);
  });

  it('gives a volume to one sandbox at a time, names who has it, and frees it with the sandbox',
    async () => {
      const volume = newVolume();
      const first = (await create(volume)).body.id;
      const refused = await create(volume);
      assert.equal(refused.status, 409);
      assert.match(refused.body.error.message, new RegExp(first));
      assert.equal((await find(volume)).sandbox, first);
      assert.equal((await drop(volume)).status, 409);
      await driver.say(first, 'root kill -9 1; exit').catch(() => {});
      const pid = fs.readFileSync(path.join(driver.run, 'sandboxes', first, 'pid'), 'utf8').trim();
      process.kill(Number(pid), 'SIGKILL'); // nobody asked for its end
      await until('it is free', async () => (await find(volume)).sandbox === undefined);
      const second = await create(volume);
      assert.equal(second.status, 201);
      await driver.remove(first);
      assert.equal((await find(volume)).sandbox, second.body.id);
      assert.equal(holders(volume).length, 1);
      await driver.remove(second.body.id);
    });

  it('makes one sandbox of twenty that want the same new volume at once', async () => {
    const volume = newVolume();
    const made = await Promise.all(Array.from({ length: 20 }, () => create(volume)));
    assert.deepEqual(made.map(({ status }) => status).sort(), [201, ...Array(19).fill(409)]);
    assert.equal(holders(volume).length, 1);
    await driver.remove(made.find(({ status }) => status === 201).body.id);
  });

  it('does not mount what another process has locked, whatever its records say', async () => {
    const volume = newVolume();
    await driver.remove((await create(volume)).body.id);
    const other = spawn('flock', ['-x', image(volume), 'sh', '-c', 'echo locked; exec sleep 60'],
      { stdio: ['ignore', 'pipe', 'ignore'], detached: true });
    await new Promise((resolve) => other.stdout.once('data', resolve));
    try {
      const refused = await create(volume);
      assert.equal(refused.status, 409);
      assert.match(refused.body.error.message, /the volume is mounted/);
      assert.equal((await drop(volume)).status, 409);
      assert.ok(fs.existsSync(image(volume)));
    } finally {
      process.kill(-other.pid, 'SIGKILL');
    }
    const again = await create(volume);
    assert.equal(again.status, 201);
    await driver.remove(again.body.id);
  });

  it('is its owner’s, its fleet’s and its profile’s for good, and counts for its owner', async () => {
    const volume = newVolume();
    await driver.remove((await create(volume)).body.id);
    const stranger = await create(volume, { volume_owner: bob });
    assert.equal(stranger.status, 403);
    assert.match(stranger.body.error.message, /another principal/);
    assert.equal((await create(volume, { fleet: 'e'.repeat(32) })).status, 403);
    assert.equal((await create(volume, { profile: 'other' })).status, 400);
    assert.match((await create(newVolume(), { profile: 'none' })).body.error.message,
      /has no volumes/);
    const count = (await list(`?fleet=${fleet}&owner=${bob}`)).length;
    assert.equal(count, 0);
    const mine = newVolume();
    const one = await create(mine, { volume_owner: bob, volumes_most: 1 });
    assert.equal(one.status, 201);
    const two = await create(newVolume(), { volume_owner: bob, volumes_most: 1 });
    assert.equal(two.status, 429);
    assert.match(two.body.error.message, /1 volumes.*limit/);
    assert.deepEqual((await list(`?fleet=${fleet}&owner=${bob}`)).map((row) => row.id), [mine]);
    await driver.remove(one.body.id);
    assert.equal((await drop(mine, 'e'.repeat(32))).status, 404);
    assert.equal((await drop(mine)).status, 204);
    assert.equal((await drop(mine)).status, 404);
    assert.ok(!fs.existsSync(image(mine)));
  });

  it('checks a volume before it is mounted after an unclean end, and says what it mended',
    async () => {
      const volume = newVolume();
      const first = (await create(volume)).body.id;
      await driver.say(first, 'sh echo safe > /workspace/a');
      await driver.remove(first);
      const header = () => execFileSync('dumpe2fs', ['-h', image(volume)],
        { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
      assert.match(header(), /Filesystem state: +clean\n/);
      // As a host leaves it that lost its power while the free counts were wrong.
      execFileSync('debugfs', ['-w', '-R', 'set_super_value free_blocks_count 17', image(volume)],
        { stdio: 'ignore' });
      execFileSync('debugfs', ['-w', '-R', 'set_super_value state 2', image(volume)],
        { stdio: 'ignore' });
      assert.match(header(), /Filesystem state: +not clean with errors/);
      const second = await create(volume);
      assert.equal(second.status, 201);
      assert.equal(await driver.say(second.body.id, 'sh cat /workspace/a'), 'safe\n');
      assert.match(driver.log, /"event":"volume.mended"/);
      await driver.remove(second.body.id);
      assert.match(header(), /Filesystem state: +clean\n/);
    });

  it('keeps data of finished writes through kill -9 of the driver, and who has the volume',
    async () => {
      const volume = newVolume();
      const first = (await create(volume)).body.id;
      await driver.say(first, 'sh echo before > /workspace/a');
      await driver.kill('SIGKILL');
      await driver.start();
      assert.equal((await find(volume)).sandbox, first);
      assert.equal((await create(volume)).status, 409);
      await driver.say(first, 'sh echo after >> /workspace/a');
      await driver.kill('SIGKILL');
      const pid = fs.readFileSync(path.join(driver.run, 'sandboxes', first, 'pid'), 'utf8').trim();
      process.kill(Number(pid), 'SIGKILL'); // while no driver watches
      await driver.start();
      let second; // until the kernel has taken the process down, its sandbox has the volume
      await until('it is free', async () => (second = await create(volume)).status === 201);
      assert.equal(await driver.say(second.body.id, 'sh cat /workspace/a'), 'before\nafter\n');
      assert.equal(holders(volume).length, 1);
      await driver.remove(second.body.id);
      await driver.remove(first);
    });

  it('deletes what nobody used for as long as it is kept, not what is in use, and says so',
    async () => {
      const [idle, busy] = [newVolume(), newVolume()];
      const user = (await create(busy, { volume_keep_ms: 300 })).body.id;
      await driver.remove((await create(idle, { volume_keep_ms: 300 })).body.id);
      await until('the unused one is gone', async () => await find(idle) === undefined);
      assert.ok(!fs.existsSync(image(idle)));
      assert.match(driver.log, new RegExp(`"event":"volume.expired","volume":"${idle.slice(0, 12)}"`));
      assert.equal((await find(busy)).sandbox, user);
      await driver.say(user, 'sh echo here > /workspace/a');
      await driver.remove(user);
    });
});
