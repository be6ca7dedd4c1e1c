import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { openJsonl } from "../../src/base/files/open-jsonl.ts";
import { readAllJsonl } from "../../src/base/files/read-jsonl.ts";
import { writeFileAtomically } from "../../src/base/files/write-file.ts";
import { currentFolder, writeFolder } from "../../src/base/files/write-folder.ts";
import { recordingDisk } from "./disk-layers.ts";

const root = await mkdtemp(join(tmpdir(), "coa-power-"));
after(() => rm(root, { recursive: true, force: true }));
let count = 0;
const fresh = () => join(root, `f${count++}`);

/** Calls `check` with what a power cut after every operation leaves, unflushed bytes kept and lost. */
async function everyPrefix(
  disk: ReturnType<typeof recordingDisk>,
  check: (folder: string, operations: number) => Promise<void>,
): Promise<void> {
  for (const lost of [false, true]) {
    for (let operations = 0; operations <= disk.operations.length; operations++) {
      const folder = fresh();
      await disk.replay(disk.operations, operations, folder, lost);
      await check(folder, operations);
    }
  }
}

describe("a power cut", () => {
  it("leaves every acknowledged record of a flushed log, and a log that can be continued", async () => {
    const folder = fresh();
    const disk = recordingDisk(folder);
    const writer = await openJsonl<{ n: number }>(join(folder, "log.jsonl"), { disk, sync: true, lock: false });
    const acknowledged: number[] = []; // [n] = operations done when record n was acknowledged
    for (let n = 0; n < 6; n++) {
      await writer.append({ n });
      acknowledged.push(disk.operations.length);
    }
    await writer.close();
    await everyPrefix(disk, async (left, operations) => {
      const file = join(left, "log.jsonl");
      const again = await openJsonl<{ n: number }>(file, { lock: false });
      await again.append({ n: 99 });
      await again.close();
      const read = (await readAllJsonl<{ n: number }>(file)).map(({ n }) => n);
      const safe = acknowledged.filter((at) => at <= operations).length;
      assert.deepEqual(read.slice(0, safe), [...Array(safe).keys()], `after ${operations} operations`);
      assert.equal(read.at(-1), 99);
    });
  });

  it("leaves the old file or the whole new one", async () => {
    const folder = fresh();
    const disk = recordingDisk(folder);
    await writeFileAtomically(join(folder, "state.json"), "old", disk);
    const before = disk.operations.length;
    await writeFileAtomically(join(folder, "state.json"), "new ".repeat(1000), disk);
    await everyPrefix(disk, async (left, operations) => {
      if (operations < before) return;
      const text = await readFile(join(left, "state.json"), "utf8");
      assert.ok(text === "old" || text === "new ".repeat(1000), `${operations}: ${text.slice(0, 20)}`);
    });
  });

  it("leaves the old folder or the whole new one", async () => {
    const folder = fresh();
    const disk = recordingDisk(folder);
    const fill = (word: string) => async (temporary: string) => {
      for (const name of ["a", "b"]) await writeFileAtomically(join(temporary, name), word, disk);
    };
    await writeFolder(join(folder, "model"), fill("old"), disk);
    const before = disk.operations.length;
    await writeFolder(join(folder, "model"), fill("new"), disk);
    await everyPrefix(disk, async (left, operations) => {
      if (operations < before) return;
      const model = await currentFolder(join(left, "model"));
      assert.deepEqual((await readdir(model)).sort(), ["a", "b"], `after ${operations} operations`);
      const words = await Promise.all(["a", "b"].map((name) => readFile(join(model, name), "utf8")));
      assert.ok(words[0] === words[1] && ["old", "new"].includes(words[0]!), `${operations}: ${words}`);
    });
  });
});
