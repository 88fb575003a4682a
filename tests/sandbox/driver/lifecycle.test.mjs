// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Driver, needsRuntime, newId, until } from './driver.mjs';

describe('wrist-driver', { skip: needsRuntime() }, () => {
  let driver;
  before(async () => { driver = await new Driver().start(); });
  after(() => driver.close());

  it('makes a sandbox, tells about it, and leaves nothing of it', async () => {
    const id = newId();
    const made = await driver.create(id);
    assert.equal(made.status, 201);
    assert.equal(made.body.state, 'running');
    assert.match(made.body.digest, /^sha256:[0-9a-f]{64}$/);
    assert.equal(made.body.endpoint, `unix:${driver.run}/sandboxes/${id}/link.sock`);
    assert.deepEqual((await driver.request('GET', `/v1/sandboxes/${id}`)).body, made.body);
    assert.deepEqual((await driver.create(id)).body, made.body);
    assert.equal((await driver.create(id)).status, 200);
    assert.equal((await driver.create(id, { generation: 2 })).status, 409);
    assert.equal((await driver.remove(id, 7)).status, 204);
    assert.equal((await driver.request('GET', `/v1/sandboxes/${id}`)).status, 200);
    assert.equal((await driver.remove(id)).status, 204);
    assert.deepEqual(driver.leftovers(), []);
    assert.equal((await driver.request('GET', `/v1/sandboxes/${id}`)).status, 404);
    assert.equal((await driver.remove(id)).status, 204);
  });

  it('gives the worker its start document and three capabilities, commands none', async () => {
    const id = newId();
    await driver.create(id);
    const start = JSON.parse(await driver.say(id, 'start'));
    assert.equal(start.sandbox.id, id);
    assert.equal(start.sandbox.secret, 'ab'.repeat(32));
    assert.match(await driver.say(id, 'root grep CapEff /proc/self/status'), /00000000000000e0/);
    assert.match(await driver.say(id, 'sh grep CapEff /proc/self/status'), /0000000000000000/);
    assert.match(await driver.say(id, 'sh grep -E "NoNewPrivs|Seccomp:" /proc/self/status'),
      /NoNewPrivs:\s1\nSeccomp:\s2/);
    assert.equal(await driver.say(id, 'root tr "\\0" "\\n" < /proc/1/environ'), 'HOME=/\n');
    await driver.remove(id);
  });

  it('shows a read-only root, a writable capped workspace, and inputs that commands cannot write',
    async () => {
      const id = newId();
      await driver.create(id);
      const sh = (command) => driver.say(id, `sh ${command}`);
      assert.match(await sh('touch /x /usr/x /etc/x /dev/x /inputs/x 2>&1 | wc -l'), /^5/);
      assert.equal(await sh('echo a > /workspace/a && echo b > /tmp/b && cat /workspace/a /tmp/b'),
        'a\nb\n');
      assert.equal(await driver.say(id, 'root echo i > /inputs/i'), '');
      assert.equal(await sh('cat /inputs/i'), 'i\n');
      assert.match(await sh('dd if=/dev/zero of=/workspace/big bs=1M count=200 2>&1'), /No space/);
      assert.match(await sh('rm /workspace/big; i=0; while [ $i -lt 5000 ]; do : > /workspace/f$i ' +
        '|| break; i=$((i+1)); done 2>&1 | tail -1'), /No space/);
      assert.equal(await sh('ls /sys /usr/local /run | grep -v : | tr -d "\\n"'), '');
      assert.equal(await sh('cat /proc/net/dev | tail -n +3 | cut -d: -f1 | tr -d " "'), 'lo\n');
      assert.match(await sh('unshare -r true 2>&1'), /Operation not permitted/);
      assert.match(await sh('printf "int main(){return 7;}" > /tmp/a.c && cc -o /tmp/a /tmp/a.c; ' +
        '/tmp/a; echo $?'), /^7/);
      await driver.remove(id);
    });

  it('ends a sandbox that takes too much memory or too many processes, and says why', async () => {
    const lines = [];
    const events = http.request({ socketPath: driver.socket, path: '/v1/events', agent: false },
      (response) => response.on('data', (text) => lines.push(...String(text).trim().split('\n'))));
    events.end();
    await until('events are open', () => lines.length === 1);
    assert.deepEqual(JSON.parse(lines[0]), { event: 'hello' });
    const id = newId();
    await driver.create(id);
    assert.match(await driver.say(id, 'sh i=0; while [ $i -lt 100 ]; do sleep 2 & i=$((i+1)); ' +
      'done 2>&1'), /(fork|Resource)/);
    driver.say(id, 'eat').catch(() => {});
    await until('the exit is told', () => lines.length === 2);
    assert.deepEqual(JSON.parse(lines[1]),
      { event: 'exited', id, generation: 1, reason: 'out of memory' });
    const record = (await driver.request('GET', `/v1/sandboxes/${id}`)).body;
    assert.equal(record.state, 'exited');
    const other = newId();
    await driver.create(other);
    driver.say(other, 'exit 3').catch(() => {});
    await until('the exit is told', () => lines.length === 3);
    assert.equal(JSON.parse(lines[2]).reason, 'ended with status 3');
    assert.equal((await driver.remove(id)).status, 204);
    assert.equal((await driver.remove(other)).status, 204);
    assert.deepEqual(driver.leftovers(), []);
    events.destroy();
  });

  it('keeps a note beside a sandbox, and refuses a large one', async () => {
    const id = newId();
    await driver.create(id);
    const put = (note) => driver.request('PUT', `/v1/sandboxes/${id}/note`, { note });
    assert.equal((await put('bound')).status, 204);
    assert.equal((await driver.request('GET', `/v1/sandboxes/${id}`)).body.note, 'bound');
    assert.equal((await put('x'.repeat(1025))).status, 413);
    assert.equal((await put(7)).status, 400);
    await driver.remove(id);
  });

  it('refuses what it does not know with a typed error', async () => {
    const unknown = await driver.create(newId(), { profile: 'other' });
    assert.equal(unknown.status, 404);
    assert.equal(unknown.body.error.fault, 'NOT_FOUND');
    assert.equal((await driver.create('../../etc')).status, 400);
    assert.equal((await driver.request('GET', '/v1/sandboxes/..%2f..%2fetc')).status, 404);
    assert.equal((await driver.request('PATCH', '/v1/sandboxes')).status, 404);
    assert.deepEqual(driver.leftovers(), []);
  });

  it('hears only the users on its list', () => {
    const ask = (uid) => spawnSync('curl', ['-s', '-o', '/dev/null', '-w', '%{http_code}', '--unix-socket',
      path.join(driver.run, 'driver.sock'), 'http://driver/v1/profiles'], { uid, cwd: '/', encoding: 'utf8' });
    assert.equal(ask(0).stdout, '200');
    assert.equal(ask(65534).stdout, '000');
  });

  it('deletes a sandbox while it is being made', async () => {
    const id = newId();
    const making = driver.create(id);
    await until('it is known', async () => (await driver.list()).some((s) => s.id === id));
    assert.equal((await driver.remove(id)).status, 204);
    assert.ok([201, 499].includes((await making).status));
    assert.deepEqual(driver.leftovers(), []);
  });

  it('lists by fleet and describes its profiles', async () => {
    const id = newId();
    await driver.create(id, { fleet: 'e'.repeat(32) });
    const of = async (f) => (await driver.request('GET', `/v1/sandboxes?fleet=${f.repeat(32)}`))
      .body.sandboxes.map((s) => s.id);
    assert.deepEqual(await of('e'), [id]);
    assert.deepEqual(await of('d'), []);
    const [profile] = (await driver.request('GET', '/v1/profiles')).body.profiles;
    assert.equal(profile.name, 'trial');
    assert.equal(profile.trial, true);
    await driver.remove(id);
  });

  it('leaves foreign things alone', async () => {
    const folder = path.join(driver.run, 'sandboxes', 'not-an-id');
    fs.mkdirSync(folder);
    await driver.kill('SIGTERM');
    await driver.start();
    assert.ok(fs.existsSync(folder));
    fs.rmdirSync(folder);
  });
});
