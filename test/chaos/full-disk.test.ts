import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { type CallLine, callEncoder, readCalls } from "../../src/base/files/call-store.ts";
import { openJsonl } from "../../src/base/files/open-jsonl.ts";
import { type BadLine, readAllJsonl } from "../../src/base/files/read-jsonl.ts";
import { writeFileAtomically } from "../../src/base/files/write-file.ts";
import { writeFolder } from "../../src/base/files/write-folder.ts";
import { fullDisk } from "./disk-layers.ts";

const root = await mkdtemp(join(tmpdir(), "coa-full-"));
after(() => rm(root, { recursive: true, force: true }));
let count = 0;
const fresh = () => join(root, `f${count++}`);

describe("a full disk", () => {
  it("loses no acknowledged record and leaves no half line, whichever writes fail", async () => {
    for (let first = 0; first < 8; first++) {
      for (const length of [1, 2, 5]) {
        const file = fresh();
        const disk = fullDisk((write) => write >= first && write < first + length);
        const writer = await openJsonl<{ n: number; text: string }>(file, { disk, lock: false });
        const acknowledged: number[] = [];
        for (let n = 0; n < 12; n++) {
          await writer.append({ n, text: "x".repeat(50) }).then(
            () => acknowledged.push(n),
            (error: Error) => assert.match(error.message, /could not append to .*ENOSPC/),
          );
        }
        await writer.close();
        const bad: BadLine[] = [];
        const told = { onBad: (line: BadLine) => bad.push(line), onTorn: (line: BadLine) => bad.push(line) };
        const read = await readAllJsonl<{ n: number }>(file, undefined, told);
        assert.deepEqual(
          read.map(({ n }) => n),
          acknowledged,
          `full from write ${first} for ${length}`,
        );
        assert.deepEqual(bad, []);
        assert.equal(acknowledged.length, 12 - length);
      }
    }
  });

  it("keeps the words of calls that are recorded after there is space again", async () => {
    const file = fresh();
    const writer = await openJsonl<CallLine>(file, { disk: fullDisk((write) => write === 1), lock: false });
    const encoder = callEncoder();
    const messages = [{ role: "user", content: "one" }];
    const kept: unknown[] = [];
    for (const word of ["two", "three", "four"]) {
      messages.push({ role: "user", content: word });
      const call = { request: { messages: [...messages] } };
      const lines = encoder.linesOf(call);
      await writer.appendAll(lines).then(
        () => {
          encoder.written(lines);
          kept.push(call);
        },
        () => {},
      );
    }
    await writer.close();
    assert.deepEqual(await Array.fromAsync(readCalls(file)), kept);
    assert.equal(kept.length, 2);
  });

  it("leaves the old file and the old folder whole", async () => {
    for (let first = 0; first < 3; first++) {
      const file = fresh();
      await writeFileAtomically(file, "old");
      const disk = fullDisk((write) => write >= first);
      const write = writeFileAtomically(
        file,
        (async function* () {
          for (let piece = 0; piece < 3; piece++) yield "new ".repeat(10);
        })(),
        disk,
      );
      await assert.rejects(write, /could not write .*ENOSPC/);
      assert.equal(await readFile(file, "utf8"), "old");
    }
    const folder = fresh();
    await writeFolder(folder, (temporary) => writeFile(join(temporary, "a"), "old"));
    await assert.rejects(
      writeFolder(folder, async (temporary) => {
        await writeFileAtomically(
          join(temporary, "a"),
          "new",
          fullDisk(() => true),
        );
      }),
    );
    assert.equal(await readFile(join(folder, "a"), "utf8"), "old");
    assert.deepEqual(
      (await readdir(root)).filter((name) => name.startsWith(".")),
      [],
    );
  });

  it("stops a real process cleanly at the limit of its files", { skip: process.platform === "win32" }, async () => {
    const file = fresh();
    const target = join(import.meta.dirname, "../fixtures/full-disk-target.ts");
    const { status, stdout } = spawnSync(
      "sh",
      ["-c", `ulimit -f 8; exec "${process.execPath}" "${target}" "${file}"`],
      { encoding: "utf8" },
    );
    assert.equal(status, 0, stdout);
    const acknowledged = stdout.trim().split("\n").map(Number);
    const read = (await readAllJsonl<{ n: number }>(file)).map(({ n }) => n);
    assert.deepEqual(read, acknowledged);
    assert.ok(acknowledged.length > 0 && acknowledged.length < 100, `${acknowledged.length} of 100 fit`);
  });
});
