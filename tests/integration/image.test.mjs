// SPDX-License-Identifier: Apache-2.0
// A profile whose root is an unpacked image, and the sample configurations.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { Wrist, bin, full, isRoot, root, textOf } from "../harness/wrist.mjs";

// A small image: a shell, some programs and what they are linked with, in the layout of a merged /usr.
function makeImage(folder) {
  for (const name of ["usr/bin", "usr/lib", "usr/lib64", "etc", "srv/data"]) fs.mkdirSync(path.join(folder, name), { recursive: true, mode: 0o755 });
  for (const name of ["bin", "lib", "lib64"]) fs.symlinkSync(`usr/${name}`, path.join(folder, name));
  for (const program of ["bash", "cat", "ls", "id", "touch", "sleep", "grep", "mkdir"]) {
    const file = fs.realpathSync(`/usr/bin/${program}`);
    fs.copyFileSync(file, path.join(folder, "usr/bin", program));
    for (const [, library] of execFileSync("ldd", [file], { encoding: "utf8" }).matchAll(/(?:=> )?(\/\S+) \(0x/g)) {
      const place = path.join(folder, library.startsWith("/usr") ? library : `/usr${library}`);
      fs.mkdirSync(path.dirname(place), { recursive: true, mode: 0o755 });
      fs.copyFileSync(fs.realpathSync(library), place);
      fs.chmodSync(place, 0o755);
    }
  }
  fs.writeFileSync(path.join(folder, "etc/passwd"), "root:x:0:0::/:/bin/bash\nagent:x:1000:1000::/tmp:/bin/bash\n");
  fs.writeFileSync(path.join(folder, "srv/data/of-the-image"), "from the image\n");
}

const skip = isRoot ? false : "needs root";

test("a sandbox runs on an unpacked image, which stays as it was", { skip }, async () => {
  const folder = fs.mkdtempSync("/var/tmp/wrist-image-");
  fs.chmodSync(folder, 0o755);
  if (full) execFileSync("debootstrap", ["--variant=minbase", "bookworm", folder], { stdio: "ignore" });
  else makeImage(folder);
  const listing = () => execFileSync("find", [folder, "-xdev", "-printf", "%p %s %m %T@\n"], { encoding: "utf8", maxBuffer: 1 << 26 });
  const before = listing();
  const wrist = await Wrist.start({ profiles: { image: { driver: { trial: false, root: folder } } } });
  try {
    const session = await wrist.session();
    const bash = async (command) => textOf(await session.tool("Bash", { command }));
    assert.match(await bash("id -u; cat /proc/1/comm"), /^1000\nwrist-worker\n/);
    assert.doesNotMatch(await bash("touch /usr/bin/x"), /exit: 0$/);
    assert.match(await bash("ls /usr/bin | grep -c ."), /^[1-9]/);
    if (!full) {
      assert.match(await bash("cat /srv/data/of-the-image; ls /usr/bin/gcc"), /^from the image\n.*No such file/);
    }
    assert.ok(!(await session.tool("Write", { file_path: "a/b", content: "x\n" })).json.result.isError);
    assert.match(await bash("cat a/b"), /^x\n/);
    await session.close();
  } finally {
    await wrist.stop();
    const after = listing();
    fs.rmSync(folder, { recursive: true, force: true });
    assert.equal(after, before);
  }
});

test("the sample configurations are good", () => {
  for (const name of ["gateway", "driver"])
    assert.match(execFileSync(path.join(bin, `wrist-${name}`), ["--check-config", path.join(root, `deploy/config/${name}.yaml`)], { encoding: "utf8" }), /is good/);
});
