import assert from "node:assert/strict";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { endlessMs } from "../../../test/fixtures/until.ts";
import { systemProgram } from "./launch.ts";
import { nsjailSandbox } from "./nsjail.ts";

const skip = process.platform !== "linux" ? "nsjail needs Linux" : !systemProgram("python3") && "there is no python3";

describe("nsjailSandbox", { skip }, () => {
  // nsjail itself is rarely installed; a stand-in that only notes its arguments shows that the command line and the
  // exchange are right. It contains nothing, so only a harmless program is run with it.
  it("gives nsjail its walls, the limits and the program", async () => {
    const folder = mkdtempSync(join(tmpdir(), "coa-nsjail-"));
    try {
      chmodSync(folder, 0o755);
      mkdirSync(join(folder, "work"));
      chmodSync(join(folder, "work"), 0o777);
      const program = join(folder, "nsjail");
      const script = `#!/bin/sh\ncd ${folder}/work\nfor a in "$@"; do echo "$a" >> arguments; [ "$a" = "--" ] && break; done\nwhile [ "$1" != "--" ]; do shift; done\nshift\nexec "$@"\n`;
      writeFileSync(program, script, { mode: 0o755 });
      const sandbox = nsjailSandbox({ path: program, limits: { wallMs: endlessMs } });
      assert.equal(sandbox.level.strength, "strong");
      const code = "import resource\nprint(input(), resource.getrlimit(resource.RLIMIT_AS)[1] >> 20)";
      const result = await sandbox.run({ language: "python", code, stdin: "hello", limits: { memoryMb: 300 } });
      assert.equal(result.stdout, "hello 300\n", result.stderr);
      const given = readFileSync(join(folder, "work", "arguments"), "utf8").split("\n");
      for (const wanted of ["65534:65534:1", "--seccomp_string", "--bindmount_ro", "/usr", "--pass_fd"]) {
        assert.ok(given.includes(wanted), wanted);
      }
      assert.ok(!given.some((argument) => argument.startsWith("--disable_clone_newnet")), "an empty network namespace");
      const own = await sandbox.run({ language: "python", code: "import sys\nsys.exit(255)" });
      assert.equal(own.exitCode, 255, "the program's own code is the program's");
      await sandbox.close();
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  it("tells nsjail's own failure to start as the sandbox's, not as the program's", async () => {
    const folder = mkdtempSync(join(tmpdir(), "coa-nsjail-"));
    try {
      chmodSync(folder, 0o755);
      const program = join(folder, "nsjail");
      writeFileSync(program, "#!/bin/sh\necho '[E] clone(): Operation not permitted' >&2\nexit 255\n", { mode: 0o755 });
      const sandbox = nsjailSandbox({ path: program, limits: { wallMs: endlessMs } });
      await assert.rejects(
        sandbox.run({ language: "python", code: "print(1)" }),
        /nsjail[\s\S]*Operation not permitted/,
      );
      await sandbox.close();
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
