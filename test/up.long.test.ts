/** `coa up` on traces, the whole way: where rightness comes from is said, and a number on replayed tools says so. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { coaToItsEnd, folder, tiny, traces } from "./fixtures/up-inputs.ts";

describe("coa up <traces>", () => {
  it("says how answers are known to be right, replays the tools, and counts what was not recorded", async () => {
    const { code, stdout, stderr } = await coaToItsEnd(["up", traces, ...tiny]);
    assert.equal(code, 0, stderr);
    assert.match(stderr, /no model is called/);
    assert.match(stderr, /Right answers: 22 by feedback\.\n.*2 runs are known to be wrong/);
    assert.match(stderr, /right: \d+ graded by feedback/);
    assert.match(stdout, /--recorded/);
    const home = process.env["COA_HOME"]!;
    const dataset = JSON.parse(await readFile(join(home, "up-traces", "tiny", "dataset", "dataset.json"), "utf8"));
    assert.deepEqual(Object.keys(dataset.right), ["right by feedback"]);
  });

  it("never calls an assumption success", async () => {
    const bare = join(folder, "bare.jsonl");
    const lines = (await readFile(traces, "utf8"))
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    await writeFile(bare, lines.map(({ score: _, ...line }) => `${JSON.stringify(line)}\n`).join(""));
    const asked = await coaToItsEnd(["up", bare, ...tiny]);
    assert.equal(asked.code, 1);
    assert.match(
      asked.stderr,
      /of 24 runs it is not known whether they are right: give --tasks <file>, --judge-model <name>, or --assume-right/,
    );
    const { code, stderr } = await coaToItsEnd(["up", bare, "--assume-right", ...tiny]);
    assert.equal(code, 0, stderr);
    assert.match(stderr, /right: \d+ assumed/);
    assert.match(stderr, /system +agreement /);
    assert.doesNotMatch(stderr.replaceAll("is not success", ""), /success|right \d+, wrong/);
    assert.match(stderr, /\d+ assumed\. Agreement with assumed answers is not success\./);
    const report = await readFile(join(process.env["COA_HOME"]!, "up-bare", "report.html"), "utf8");
    assert.match(report, /is not success/);
    const dataset = JSON.parse(
      await readFile(join(process.env["COA_HOME"]!, "up-bare", "tiny", "dataset", "dataset.json"), "utf8"),
    );
    assert.deepEqual(Object.keys(dataset.right), ["assumed right"]);
  });
});

describe("coa up on a disk that is full", () => {
  it("says so, and continues by the same command once there is room", (context) => {
    const small = join(folder, "small");
    const run = `"${process.execPath}" "${join(import.meta.dirname, "../src/cli/main.ts")}" up "${traces}" --student tiny --steps 2`;
    // A file system of its own, gone with the shell; the second run finds the room that the first lacked.
    const script = `mkdir -p "${small}" && mount -t tmpfs -o size=3m coa "${small}" || exit 99
      export COA_HOME="${small}/home"; head -c 2900000 /dev/zero > "${small}/filler"
      ${run}; echo "first $?"; rm "${small}/filler"; mount -o remount,size=64m "${small}"; ${run}; echo "second $?"`;
    const { status, stdout, stderr } = spawnSync("unshare", ["-m", "sh", "-c", script], { encoding: "utf8" });
    if (status === null || status === 99 || /unshare:/.test(stderr))
      return context.skip("no file system can be mounted here");
    assert.match(stderr, /the disk is full .*Make room and run the same command again/);
    assert.match(stdout, /first 1\n[\s\S]*second 0\n/, stderr);
  });
});
