import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { appendFile, mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { z } from "zod";
import { testSize } from "../../../test/fixtures/test-size.ts";
import { taskSchema } from "../../core/task-schema.ts";
import { syncJsonl } from "./append-sync.ts";
import { acquireLock } from "./lock.ts";
import { jsonlJournal, openJsonl } from "./open-jsonl.ts";
import { type BadLine, readAllJsonl, readingWith } from "./read-jsonl.ts";
import { writeJson } from "./write-file.ts";
import { currentFolder, writeFolder } from "./write-folder.ts";

const folder = await mkdtemp(join(tmpdir(), "coa-store-"));
after(() => rm(folder, { recursive: true, force: true }));
let count = 0;
const fresh = () => join(folder, `file-${count++}.jsonl`);

describe("openJsonl", () => {
  it("reads back what was appended, in order", async () => {
    const file = fresh();
    const writer = await openJsonl<{ n: number }>(file);
    await Promise.all(Array.from({ length: 500 }, (_, n) => writer.append({ n })));
    await writer.close();
    assert.deepEqual(
      (await readAllJsonl<{ n: number }>(file)).map(({ n }) => n),
      [...Array(500).keys()],
    );
  });

  it("writes files that only their owner reads, and so do the other writers of records and state", async () => {
    const [journal, recorded, state] = [fresh(), fresh(), fresh()];
    await (await openJsonl(journal)).close();
    syncJsonl(recorded).close();
    await writeJson(state, {});
    for (const file of [journal, recorded, state]) assert.equal((await stat(file)).mode & 0o777, 0o600);
  });

  it("sets a torn last line aside and continues after it", async () => {
    const file = fresh();
    await writeFile(file, '{"n":1}\n{"n":2');
    const torn: BadLine[] = [];
    assert.deepEqual(await readAllJsonl(file, undefined, { onTorn: (bad) => torn.push(bad) }), [{ n: 1 }]);
    assert.equal(torn[0]?.line, 2);
    const writer = await openJsonl(file);
    assert.equal(writer.tornBytes, 6);
    await writer.append({ n: 3 });
    await writer.close();
    assert.deepEqual(await readAllJsonl(file), [{ n: 1 }, { n: 3 }]);
    assert.equal(await readFile(`${file}.torn`, "utf8"), '{"n":2\n');
  });

  it("keeps a whole last record that lacks only its newline", async () => {
    const file = fresh();
    await writeFile(file, '{"n":1}\n{"n":2}');
    assert.deepEqual(await readAllJsonl(file), [{ n: 1 }, { n: 2 }]);
    const writer = await openJsonl(file);
    await writer.append({ n: 3 });
    await writer.close();
    assert.deepEqual(await readAllJsonl(file), [{ n: 1 }, { n: 2 }, { n: 3 }]);
  });

  it("lets a killed writer lose nothing that it had acknowledged", async () => {
    const file = fresh();
    const rounds = testSize(8, 100);
    const acknowledged: string[] = [];
    const script = join(import.meta.dirname, "../../../test/fixtures/kill-target.ts");
    for (let round = 0; round < rounds; round++) acknowledged.push(...(await killedWriter(script, file, round)));
    const records = await readAllJsonl<{ id: string }>(file);
    const ids = new Set(records.map((record) => record.id));
    assert.ok(acknowledged.length > rounds, `only ${acknowledged.length} records were acknowledged`);
    assert.deepEqual(
      acknowledged.filter((id) => !ids.has(id)),
      [],
    );
    assert.equal(ids.size, records.length);
  });
});

/** Starts a writer, kills it with SIGKILL after a pseudo-random number of acknowledgements, returns those. */
function killedWriter(script: string, file: string, round: number): Promise<string[]> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [script, file, String(round)], { stdio: ["ignore", "pipe", "inherit"] });
    const killAfter = 1 + ((round * 7919) % 23);
    let text = "";
    child.stdout.on("data", (chunk) => {
      text += chunk;
      if (text.split("\n").length > killAfter) child.kill("SIGKILL");
    });
    child.on("error", reject);
    child.on("close", () => resolve(text.split("\n").slice(0, -1)));
  });
}

describe("readJsonl", () => {
  it("names file, line and what was expected", async () => {
    const file = fresh();
    const good = JSON.stringify({ version: 1, id: "a", question: "?", kind: "qa" });
    await writeFile(file, `${good}\n{"version":9,"id":"b","question":"?","kind":"qa"}\nnot json\n${good}\n`);
    await assert.rejects(readAllJsonl(file, taskSchema), /file-\d+\.jsonl:2: unknown version 9.*`onBad`/s);
    const bad: BadLine[] = [];
    assert.equal((await readAllJsonl(file, taskSchema, { onBad: (line) => bad.push(line) })).length, 2);
    assert.deepEqual(
      bad.map(({ line, kind }) => [line, kind]),
      [
        [2, "schema"],
        [3, "syntax"],
      ],
    );
  });

  it("keeps characters whole that are split between two reads", async () => {
    const file = fresh();
    const text = "é".repeat(400_000);
    await appendFile(file, `${JSON.stringify({ text })}\n`);
    const [record] = await readAllJsonl(file, z.object({ text: z.string() }));
    assert.equal(record?.text, text);
  });

  it("passes over a line that was cut off in the middle, and reports it", async () => {
    const file = fresh();
    await writeFile(file, '{"n":1}\n{"n":2,"text":"hal\n{"n":3}\n{"n":[4,\n{"n":5}\n');
    const torn: BadLine[] = [];
    const read = await readAllJsonl<{ n: number }>(file, undefined, { onTorn: (bad) => torn.push(bad) });
    assert.deepEqual(
      read.map(({ n }) => n),
      [1, 3, 5],
    );
    assert.deepEqual(
      torn.map(({ line, kind }) => [line, kind]),
      [
        [2, "torn"],
        [4, "torn"],
      ],
    );
  });

  it("takes a byte order mark, and says what is wrong with a line that is null", async () => {
    const file = fresh();
    const good = JSON.stringify({ version: 1, id: "a", question: "?", kind: "qa" });
    await writeFile(file, `\uFEFF${good}\n`);
    assert.equal((await readAllJsonl(file, taskSchema)).length, 1);
    await writeFile(file, `${good}\nnull\n`);
    await assert.rejects(readAllJsonl(file, taskSchema), /file-\d+\.jsonl:2: a record is an object, not null/);
    for (const line of ["null", "12", '"text"']) {
      await writeFile(file, `{}\n${line}\n`);
      await assert.rejects(readAllJsonl(file), /file-\d+\.jsonl:2: a record is an object, not /);
    }
    await writeFile(file, Buffer.from(`\uFEFF${good}\n`, "utf16le"));
    await assert.rejects(readAllJsonl(file), /UTF-16.*UTF-8/);
  });

  it("gives readers the options of the work they are part of, and of no other", async () => {
    const file = fresh();
    await writeFile(file, "nonsense\n");
    const bad: BadLine[] = [];
    await readingWith({ onBad: (line) => bad.push(line) }, () => readAllJsonl(file));
    assert.equal(bad.length, 1);
    await assert.rejects(readAllJsonl(file), /not JSON/);
  });

  it("finds nothing in a file that is not there", async () => {
    assert.deepEqual(await readAllJsonl(fresh()), []);
  });
});

describe("acquireLock", () => {
  it("refuses a second writer and takes over from a dead one", async () => {
    const file = fresh();
    const journal = await jsonlJournal<number>(file);
    await assert.rejects(openJsonl(file), /held by process/);
    await journal.close();
    await writeFile(
      `${file}.lock`,
      JSON.stringify({ pid: 2 ** 22 + 1, host: (await import("node:os")).hostname(), startedAt: "1" }),
    );
    const lock = await acquireLock(`${file}.lock`);
    await lock.release();
  });
});

describe("writeFolder", () => {
  it("replaces a folder whole, or not at all", async () => {
    const path = join(folder, "model");
    await writeFolder(path, (temporary) => writeFile(join(temporary, "a"), "1"));
    await assert.rejects(
      writeFolder(path, async (temporary) => {
        await writeFile(join(temporary, "a"), "2");
        throw new Error("half way");
      }),
    );
    assert.equal(await readFile(join(path, "a"), "utf8"), "1");
    await writeFolder(path, (temporary) => writeFile(join(temporary, "b"), "2"));
    assert.deepEqual(await readdir(path), ["b"]);
    assert.ok(!(await readdir(folder)).some((name) => name.startsWith(".model")));
    await rename(path, join(folder, ".model.previous"));
    assert.equal(await currentFolder(path), join(folder, ".model.previous"));
    await writeFolder(path, (temporary) => writeFile(join(temporary, "c"), "3"));
    assert.equal(await currentFolder(path), path);
    assert.deepEqual(await readdir(path), ["c"]);
  });
});
