import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { after, describe, it } from "node:test";
import { tierOf, unexpectedSkips } from "./run-tests.ts";

describe("the tiers of tests", () => {
  it("are told by the file's name", () => {
    assert.equal(tierOf("src/chain/run-chain.test.ts"), "short");
    assert.equal(tierOf("test/frameworks/live-apps.long.test.ts"), "long");
    assert.equal(tierOf("test/toy-model.learning.test.ts"), "learning");
  });

  it("let CI accept only the skips that are named", () => {
    assert.deepEqual(unexpectedSkips(["set COA_TEST_PYTHON to a Python with transformers"]), []);
    assert.deepEqual(unexpectedSkips(["bubblewrap is not installed"]), ["bubblewrap is not installed"]);
  });
});

describe("the runner of tests", () => {
  const folders: string[] = [];
  after(async () => {
    for (const folder of folders) await rm(folder, { recursive: true });
  });

  /** Runs these files as the whole short tier of a project. */
  async function runFiles(
    files: Record<string, string>,
    settings: Record<string, string> = {},
  ): Promise<{ code: number; output: string }> {
    const folder = await mkdtemp(join(tmpdir(), "coa-runner-"));
    folders.push(folder);
    await mkdir(join(folder, "src"));
    for (const [name, lines] of Object.entries(files))
      await writeFile(join(folder, "src", `${name}.test.ts`), `import { it } from "node:test";\n${lines}`);
    // A runner within a runner runs nothing as long as it is told that it is one.
    const { NODE_TEST_CONTEXT: _, ...env } = process.env;
    const runner = spawn(process.execPath, [join(import.meta.dirname, "run-tests.ts")], {
      cwd: folder,
      env: { ...env, ...settings },
      stdio: ["ignore", "pipe", "inherit"],
    });
    const [output, code] = await Promise.all([
      text(runner.stdout),
      new Promise<number>((resolve) => runner.once("exit", resolve)),
    ]);
    return { code, output };
  }

  it("loses no test of a file that reports much at once", async () => {
    const many = 'for (let at = 0; at < 400; at++) it("x".repeat(1000) + at, () => {});';
    const { code, output } = await runFiles({ many, few: 'it("passes", () => console.log("y".repeat(300_000)));' });
    assert.match(output, /401 passed, 0 failed, 0 skipped\n$/);
    assert.equal(code, 0);
  });

  it("fails a file that stays open after its tests, and names what keeps it", async () => {
    const open =
      'import { createServer } from "node:http";\nit("passes", () => void createServer().listen(0, "127.0.0.1"));';
    const { code, output } = await runFiles({ open }, { COA_TEST_GRACE_MS: "200" });
    assert.match(output, /open\.test\.ts has ended its tests and does not end: .*TCPServerWrap/);
    assert.match(output, /1 passed, 1 failed/);
    assert.equal(code, 1);
  });

  it("fails a file that ends before its report, though it ends well", async () => {
    const early = 'it("passes", () => {});\nit("ends", () => process.exit(0));\nit("never runs", () => {});';
    const { code, output } = await runFiles({ early, fine: 'it("passes", () => {});' });
    assert.match(output, /ended before its whole report was here: src\/early\.test\.ts/);
    assert.equal(code, 1);
  });
});
