// SPDX-License-Identifier: Apache-2.0
// What the driver's tests share: a real wrist-driver with a state and run directory of its own, its
// API, the link to a sandbox, and a look at what is left on the machine.
import { execFileSync, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { bin } from '../../harness/wrist.mjs';

const here = path.dirname(fileURLToPath(import.meta.url));
export const isRoot = process.getuid() === 0;

export function needsRuntime() {
  if (!isRoot) return 'needs root';
  if (!['/usr/sbin/runc', '/usr/bin/runc'].some((p) => fs.existsSync(p))) return 'needs runc';
  return false;
}

export const newId = () => randomBytes(16).toString('hex');

// Polls a condition; the only kind of waiting there is here.
export async function until(what, condition, ms = 15000) {
  const end = Date.now() + ms;
  for (;;) {
    const value = await condition();
    if (value) return value;
    if (Date.now() > end) throw new Error(`still not so after ${ms} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

// Programs that other users must be able to run, though the checkout may lie where they cannot go.
let programs;
function program(name, make) {
  if (programs === undefined) {
    programs = fs.mkdtempSync(path.join(os.tmpdir(), 'wrist-programs-'));
    fs.chmodSync(programs, 0o755);
    process.on('exit', () => fs.rmSync(programs, { recursive: true, force: true }));
  }
  const file = path.join(programs, name);
  if (!fs.existsSync(file)) make(file);
  return file;
}

export const fakeWorker = () => program('fake_worker', (file) =>
  execFileSync('cc', ['-static', '-O1', '-o', file, path.join(here, 'fake_worker.c')]));
const wristDriver = () => program('wrist-driver', (file) => {
  fs.copyFileSync(path.join(bin, 'wrist-driver'), file);
  fs.chmodSync(file, 0o755);
});

export class Driver {
  // `profiles` is YAML below `profiles:`; `settings` YAML at the top.
  constructor({ profiles, settings = '', user } = {}) {
    this.folder = fs.mkdtempSync(path.join(os.tmpdir(), 'wd-'));
    fs.chmodSync(this.folder, 0o755);
    this.state = path.join(this.folder, 'state');
    this.run = path.join(this.folder, 'run');
    this.socket = path.join(this.run, 'driver.sock');
    this.config = path.join(this.folder, 'driver.yaml');
    this.user = user;
    const trial = `  trial:\n    trial: true\n    worker: ${fakeWorker()}\n` +
      `    limits: { disk: 64MiB, inodes: 4096, memory: 128MiB, pids: 64, tmp: 16MiB }\n`;
    fs.writeFileSync(this.config,
      `listen: unix:${this.socket}\nstate_dir: ${this.state}\nrun_dir: ${this.run}\n` +
      `${settings}\nprofiles:\n${profiles ?? trial}`);
    if (user !== undefined) fs.chownSync(this.folder, user, user);
    this.log = '';
  }

  async start() {
    const options = { cwd: '/', stdio: ['ignore', 'ignore', 'pipe'] };
    if (this.user !== undefined) Object.assign(options, { uid: this.user, gid: this.user });
    const child = spawn(wristDriver(), ['--config', this.config], options);
    this.child = child;
    this.ended = new Promise((resolve) => child.on('close', (code) => {
      child.over = true;
      resolve(code);
    }));
    const from = this.log.length;
    child.stderr.on('data', (text) => { this.log += text; });
    await until('the driver is ready', () => {
      if (child.over) throw new Error(`the driver ended: ${this.log.slice(from)}`);
      return this.log.slice(from).includes('"event":"ready"');
    });
    return this;
  }

  async kill(signal = 'SIGKILL') {
    this.child.kill(signal);
    return this.ended;
  }

  request(method, target, body) {
    return new Promise((resolve, reject) => {
      const request = http.request({ socketPath: this.socket, method, path: target, agent: false },
        (response) => {
          let text = '';
          response.on('data', (piece) => { text += piece; });
          response.on('error', reject);
          response.on('end', () => resolve({
            status: response.statusCode,
            body: text === '' ? undefined : JSON.parse(text),
          }));
        });
      request.on('error', reject);
      request.end(body === undefined ? undefined : JSON.stringify(body));
    });
  }

  create(id = newId(), more = {}) {
    return this.request('POST', '/v1/sandboxes', {
      id, fleet: 'f'.repeat(32), profile: 'trial', generation: 1,
      secret: 'ab'.repeat(32), orphan_ms: 600000, ...more,
    });
  }

  remove(id, generation = 1) {
    return this.request('DELETE', `/v1/sandboxes/${id}?generation=${generation}`);
  }

  async list() {
    return (await this.request('GET', '/v1/sandboxes')).body.sandboxes;
  }

  installation() {
    return fs.readFileSync(path.join(this.state, 'installation'), 'utf8').trim();
  }

  // One command to the fake worker of a sandbox.
  say(id, line) {
    return new Promise((resolve, reject) => {
      const link = net.connect(path.join(this.run, 'sandboxes', id, 'link.sock'));
      let text = '';
      link.on('connect', () => link.write(`${line}\n`));
      link.on('data', (piece) => { text += piece; });
      link.on('error', reject);
      link.on('close', () => resolve(text));
    });
  }

  // Everything on this machine that is there because of this driver's sandboxes.
  leftovers() {
    const left = [];
    const installation = this.installation();
    const names = (folder) => (fs.existsSync(folder) ? fs.readdirSync(folder) : []);
    for (const name of names(path.join(this.run, 'sandboxes'))) left.push(`folder ${name}`);
    for (const name of names(path.join(this.run, 'runtime'))) left.push(`runtime state ${name}`);
    for (const name of names(path.join(this.state, 'journal'))) left.push(`journal ${name}`);
    const cgroups = '/sys/fs/cgroup';
    for (const hierarchy of ['', ...names(cgroups)])
      for (const name of names(path.join(cgroups, hierarchy, 'wrist', installation)))
        if (/^[0-9a-f]{32}$/.test(name)) left.push(`cgroup ${hierarchy} ${name}`);
    for (const pid of names('/proc').filter((name) => /^\d+$/.test(name))) {
      try {
        // Orphans of a killed driver are reaped by the machine's init, in its own time.
        if (/^State:\s+Z/m.test(fs.readFileSync(`/proc/${pid}/status`, 'utf8'))) continue;
        if (fs.readFileSync(`/proc/${pid}/cgroup`, 'utf8').includes(`/wrist/${installation}/`))
          left.push(`process ${pid}`);
        const line = fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8');
        if (line.includes(this.run) && Number(pid) !== this.child.pid)
          left.push(`process ${pid} ${line.replaceAll('\0', ' ')}`);
        if (fs.readFileSync(`/proc/${pid}/mountinfo`, 'utf8').includes(`${this.run}/sandboxes`))
          left.push(`mount seen by ${pid}`);
      } catch {
        // it ended meanwhile
      }
    }
    const loops = isRoot ? execFileSync('losetup', ['-a'], { encoding: 'utf8' }) : '';
    for (const line of loops.split('\n'))
      if (line.includes(this.state)) left.push(`loop device ${line}`);
    return left;
  }

  async close() {
    for (const { id, generation } of await this.list()) await this.remove(id, generation);
    const installation = this.installation();
    await this.kill('SIGTERM');
    for (const name of fs.readdirSync('/sys/fs/cgroup'))
      if (fs.existsSync(path.join('/sys/fs/cgroup', name, 'wrist', installation)))
        throw new Error(`the driver left its cgroup in ${name}`);
    fs.rmSync(this.folder, { recursive: true, force: true });
  }
}
