import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { runSteps } from "./resumable-steps.ts";

let folder: string;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "coa-steps-"));
});
after(() => rm(folder, { recursive: true, force: true }));

describe("runSteps", () => {
  it("runs what is not done, again what was interrupted or lost, and tells what is stale", async () => {
    const [input, output] = [join(folder, "input"), join(folder, "output")];
    await writeFile(input, "one");
    let ran: string[] = [];
    let broken = true;
    const steps = (setting: number) => [
      { name: "a", inputs: [input], outputs: [output], run: async () => ran.push("a") },
      {
        name: "b",
        identity: setting,
        async run(stale: boolean) {
          ran.push(stale ? "b, stale" : "b");
          if (broken) throw new Error("stopped");
          return setting;
        },
      },
    ];
    const run = async (setting: number) => {
      ran = [];
      const ends = await runSteps(folder, steps(setting)).catch(() => undefined);
      return [ran, ends?.["b"]?.result, ends?.["b"]?.resumed];
    };
    await writeFile(output, "");
    assert.deepEqual(await run(1), [["a", "b"], undefined, undefined]);
    broken = false;
    assert.deepEqual(await run(1), [["b"], 1, false]);
    assert.deepEqual(await run(1), [[], 1, true]);
    await rm(output);
    assert.deepEqual(await run(1), [["a"], 1, true]);
    await writeFile(input, "two");
    await writeFile(output, "");
    assert.deepEqual(await run(2), [["a", "b, stale"], 2, false]);
  });

  it("sees a file of a folder that changed", async () => {
    const corpus = join(folder, "corpus");
    await mkdir(corpus);
    await writeFile(join(corpus, "page"), "x");
    let ran = 0;
    const once = () => runSteps(folder, [{ name: "index", inputs: [corpus], run: async () => ++ran }]);
    await once();
    await once();
    assert.equal(ran, 1);
    await utimes(join(corpus, "page"), 1, 1);
    await once();
    assert.equal(ran, 2);
  });
});
