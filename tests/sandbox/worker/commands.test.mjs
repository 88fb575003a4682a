// SPDX-License-Identifier: Apache-2.0
// What a command can do, and what is left of it (reference §11: G-04, 05, 06, 09, 11, 13, 14, 38, 40,
// 49), under a real worker that is PID 1 of a pid namespace.
import assert from "node:assert/strict";
import fs from "node:fs";
import { after, before, test } from "node:test";
import { bin, isRoot, until } from "../../harness/wrist.mjs";
import { Worker, commandUid } from "./worker.mjs";

const skip = isRoot ? false : "needs root: another user for commands";
let worker;
before(async () => { if (isRoot) worker = await Worker.bound(); });
after(async () => { await worker?.stop(); });

const running = (marker) => worker.processes().filter((pid) => {
  try {
    return fs.readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0").includes(marker);
  } catch { return false; }
});

test("output, exit code and structured content agree", { skip }, async () => {
  const result = await worker.bash("echo out; echo err >&2; exit 3");
  assert.equal(result.text, "out\nerr\nexit: 3");
  assert.equal(result.isError, false);
  assert.deepEqual(result.structuredContent,
    { exit_code: 3, timed_out: false, output_bytes: 8, truncated: false, killed_at_end: 0 });
});

test("death by signal n is exit 128 + n (G-49)", { skip }, async () => {
  for (const [name, number] of [["SEGV", 11], ["TERM", 15], ["KILL", 9]]) {
    const result = await worker.bash(`kill -${name} $$`);
    assert.equal(result.structuredContent.exit_code, 128 + number);
    assert.match(result.text, new RegExp(`exit: ${128 + number}$`));
  }
});

test("a timeout leaves no process, however it hid (G-05)", { skip }, async () => {
  const result = await worker.bash(
    "echo begun; setsid sleep 7301 & (setsid nohup setsid sleep 7301 &); sleep 7301", 1);
  assert.equal(result.isError, true);
  assert.equal(result.structuredContent.timed_out, true);
  assert.match(result.text, /^begun\n[^]*timed out after 1s[^]*exit: 124$/);
  assert.deepEqual(running("7301"), []);
});

test("a background child is ended, its output kept, and told (G-14)", { skip }, async () => {
  const started = Date.now();
  const result = await worker.bash("echo one; sleep 7302 & setsid sleep 7302 & echo two");
  assert.ok(Date.now() - started < 5000);
  assert.equal(result.isError, false);
  assert.match(result.text, /^one\ntwo\n[^]*2 processes still ran[^]*exit: 0$/);
  assert.equal(result.structuredContent.killed_at_end, 2);
  assert.deepEqual(running("7302"), []);
});

test("a fork bomb is ended and the worker serves on (G-04)", { skip }, async () => {
  const result = await worker.bash("bomb() { bomb | bomb & }; bomb; sleep 7303", 2);
  assert.equal(result.structuredContent.timed_out, true);
  assert.deepEqual(running("7303"), []);
  assert.equal((await worker.bash("echo alive")).text, "alive\nexit: 0");
  // Only PID 1, its unshare, hands and this command's own processes.
  assert.ok(worker.processes().length < 12, `${worker.processes().length} processes`);
});

test("100 orphans leave no zombie (G-11)", { skip }, async () => {
  await worker.bash("for i in $(seq 100); do (setsid true &); done");
  await until(() => worker.processes().every((pid) => {
    try {
      return !/^State:\s+Z/m.test(fs.readFileSync(`/proc/${pid}/status`, "utf8"));
    } catch { return true; }
  }), "no zombies");
});

test("400 MB of output take at most 16 MiB (G-13), and both ends are shown (G-40)",
  { skip: skip || (bin.includes("/asan/") && "a sanitizer's own memory would be counted") },
  async () => {
    let peak = 0;
    const look = setInterval(() => {
      let sum = 0;
      for (const pid of worker.processes()) {
        try {
          if (!/wrist-worker/.test(fs.readlinkSync(`/proc/${pid}/exe`))) continue;
          sum += Number(/^Pss:\s+(\d+)/m.exec(
            fs.readFileSync(`/proc/${pid}/smaps_rollup`, "utf8"))[1]);
        } catch { /* it ended meanwhile */ }
      }
      peak = Math.max(peak, sum);
    }, 20);
    const result = await worker.bash("echo first; yes | head -c 400000000; echo last");
    clearInterval(look);
    assert.match(result.text, /^first\n[^]*bytes of output left out here[^]*last\nexit: 0$/);
    assert.equal(result.structuredContent.output_bytes, 400000011);
    assert.equal(result.structuredContent.truncated, true);
    assert.ok(result.text.length < 101 << 10);
    assert.ok(peak > 0 && peak <= 16 << 10, `${peak} KiB`);
  });

test("commands run as another user without any right", { skip }, async () => {
  const { text } = await worker.bash("id -u; id -G; umask; cat /proc/self/status; ulimit -u -n -c");
  assert.match(text, new RegExp(`^${commandUid}\\n${commandUid}\\n0022\\n`));
  assert.match(text, /^CapEff:\t0000000000000000$/m);
  assert.match(text, /^CapPrm:\t0000000000000000$/m);
  assert.match(text, /^NoNewPrivs:\t1$/m);
  assert.match(text, /^Seccomp:\t2$/m);
  assert.match(text, /^SigBlk:\t0000000000000000$/m);
  assert.match(text, /-u\) 200$/m);
  assert.match(text, /-n\) 1024$/m);
  assert.match(text, /-c\) 0$/m);
});

test("the environment holds nothing but what is meant for commands (G-09)", { skip }, async () => {
  const { text } = await worker.bash("env | cut -d= -f1 | sort | tr '\\n' ' '; ls /proc/self/fd | wc -l");
  assert.equal(text, "HOME LANG LOGNAME PATH PWD SHELL SHLVL TERM TMPDIR USER _ 4\nexit: 0");
  assert.equal((await worker.bash("grep -l hush /proc/*/environ 2>/dev/null | wc -l")).text,
    "0\nexit: 0");
});

test("commands can neither signal, read nor trace the worker's processes (G-06)", { skip }, async () => {
  const { text } = await worker.bash(`
    for p in $(ls /proc | grep -E '^[0-9]+$'); do
      [ "$(stat -c %u /proc/$p 2>/dev/null)" = 0 ] || continue
      for s in TERM INT KILL STOP HUP CHLD; do kill -$s $p 2>/dev/null && echo "signalled $p"; done
      for f in environ mem maps; do head -c 1 /proc/$p/$f >/dev/null 2>&1 && echo "read $p/$f"; done
      ls /proc/$p/fd >/dev/null 2>&1 && echo "listed $p/fd"
      readlink /proc/$p/exe && echo "exe of $p"
    done
    ls /proc | grep -cE '^1$'`);
  assert.equal(text, "1\nexit: 0");
  assert.equal((await worker.bash("echo alive")).text, "alive\nexit: 0");
});

test("words of a denylist are just words (G-38)", { skip }, async () => {
  const { text } = await worker.bash("echo 'sudo rm -rf / | mount; halt; su' | grep -c mount");
  assert.equal(text, "1\nexit: 0");
});

test("what cannot be run says why", { skip }, async () => {
  const unknown = await worker.bash("definitely-not-a-program");
  assert.equal(unknown.isError, false);
  assert.equal(unknown.structuredContent.exit_code, 127);
  const long = await worker.call("Bash", { command: `echo ${"x".repeat(140 << 10)}` });
  assert.equal(long.isError, true);
});

test("wrong types are errors that name the argument (G-49)", { skip }, async () => {
  for (const args of [{ command: "true", timeout: "1" }, { command: 7 }, {},
    { command: "true", timeout: 601 }, { command: "true", nonsense: 1 },
    { command: "true", run_in_background: "yes" }]) {
    const result = await worker.call("Bash", args);
    assert.equal(result.isError, true, JSON.stringify(args));
    assert.match(result.text, /timeout|command|nonsense|run_in_background/);
  }
});

test("output that is not text arrives as valid JSON", { skip }, async () => {
  const result = await worker.bash("printf 'a\\377\\000b\\n'");
  assert.equal(result.text, "a\ufffd\0b\nexit: 0");
});
