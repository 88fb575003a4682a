// SPDX-License-Identifier: Apache-2.0
// What kill -9 of the driver, at any moment, leaves: what runs is adopted, the rest is removed.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Driver, needsRuntime, newId, until } from './driver.mjs';

const rounds = Number(process.env.WRIST_CRASH_ROUNDS ?? 6);
const parallel = 20;

describe('wrist-driver after kill -9', { skip: needsRuntime() }, () => {
  let driver;
  before(async () => {
    driver = await new Driver({ settings: 'jobs: { parallel: 4 }' }).start();
  });
  after(() => driver.close());

  it('adopts twenty running sandboxes, sees them end, and removes all of them', async () => {
    const ids = Array.from({ length: parallel }, newId);
    const made = await Promise.all(ids.map((id) => driver.create(id)));
    assert.deepEqual(made.map((answer) => answer.status), ids.map(() => 201));
    await driver.request('PUT', `/v1/sandboxes/${ids[0]}/note`, { note: 'mine' });
    await driver.kill();
    await driver.start();
    const records = await driver.list();
    assert.deepEqual(records.map((r) => r.id).sort(), [...ids].sort());
    assert.ok(records.every((r) => r.state === 'running'));
    assert.equal(records.find((r) => r.id === ids[0]).note, 'mine');
    assert.equal(await driver.say(ids[3], 'sh echo still here'), 'still here\n');
    driver.say(ids[4], 'exit 0').catch(() => {});
    await until('its end is seen', async () =>
      (await driver.request('GET', `/v1/sandboxes/${ids[4]}`)).body.state === 'exited');
    const gone = await Promise.all(ids.map((id) => driver.remove(id)));
    assert.deepEqual(gone.map((answer) => answer.status), ids.map(() => 204));
    assert.deepEqual(driver.leftovers(), []);
  });

  it('tells of sandboxes that ended while it was away', async () => {
    const id = newId();
    await driver.create(id);
    await driver.kill();
    await driver.say(id, 'exit 0').catch(() => {});
    await driver.start();
    await until('it is told', async () =>
      (await driver.request('GET', `/v1/sandboxes/${id}`)).body.state === 'exited');
    await driver.remove(id);
    assert.deepEqual(driver.leftovers(), []);
  });

  it('leaves nothing of creations and removals that were broken off', async () => {
    for (let round = 0; round < rounds; round++) {
      const ids = Array.from({ length: parallel }, newId);
      const early = ids.slice(0, 4);
      await Promise.all(early.map((id) => driver.create(id)));
      const cut = ids.slice(4).map((id) => driver.create(id).catch(() => {}));
      const removed = early.map((id) => driver.remove(id).catch(() => {}));
      // Somewhere in the middle: after a number of intents that differs by round.
      await until('some are journalled', () =>
        fs.readdirSync(path.join(driver.state, 'journal')).length >= 5 + (round % 3) * 3 ||
        driver.leftovers().length === 0);
      await driver.kill();
      await Promise.all([...cut, ...removed]);
      await driver.start();
      // What was ready is adopted and has to be deleted; everything else goes by itself.
      await until('broken-off ones are gone', async () =>
        (await driver.list()).every((record) => record.state === 'running'));
      for (const record of await driver.list())
        assert.equal((await driver.remove(record.id)).status, 204);
      assert.deepEqual(driver.leftovers(), []);
    }
  });

  it('removes what its journal does not explain', async () => {
    const id = newId();
    await driver.create(id);
    await driver.kill();
    fs.unlinkSync(path.join(driver.state, 'journal', `${id}.json`));
    await driver.start();
    await until('it is gone', () => driver.leftovers().length === 0);
  });

  it('removes a sandbox whose record is damaged', async () => {
    const id = newId();
    await driver.create(id);
    await driver.kill();
    fs.writeFileSync(path.join(driver.state, 'journal', `${id}.json`), '{"record":{"id":');
    await driver.start();
    await until('it is gone', () => driver.leftovers().length === 0);
  });

  it('does not take another process for a sandbox that ended', async () => {
    const id = newId();
    await driver.create(id);
    await driver.kill();
    const file = path.join(driver.state, 'journal', `${id}.json`);
    const entry = JSON.parse(fs.readFileSync(file, 'utf8'));
    execFileSync('kill', ['-9', String(entry.pid)]);
    fs.writeFileSync(file, JSON.stringify({ ...entry, pid: process.pid }));
    await driver.start();
    assert.equal((await driver.request('GET', `/v1/sandboxes/${id}`)).body.state, 'exited');
    await driver.remove(id);
    assert.deepEqual(driver.leftovers(), []);
  });

  it('is refused its state while another driver has it', async () => {
    const second = new Driver();
    second.config = driver.config;
    await assert.rejects(second.start(), /another driver uses/);
    fs.rmSync(second.folder, { recursive: true });
  });
});
