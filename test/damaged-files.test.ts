/** What we wrote and find damaged is named in our words, and never gives other results in silence. */
import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { readModelUse } from "../src/base/files/model-use-file.ts";
import { runSteps } from "../src/base/files/resumable-steps.ts";
import { currentFolder } from "../src/base/files/write-folder.ts";
import { derivedSeed } from "../src/base/work/random.ts";
import { CoaError } from "../src/core/errors.ts";
import { openDataset } from "../src/dataset/dataset-folder.ts";
import { readReport } from "../src/distill/read-distillation.ts";
import { openSqlite } from "../src/serve/store/sqlite.ts";
import { checkpointStore } from "../src/serve/trainer/checkpoints.ts";
import { readViews } from "../src/studio/api/views-routes.ts";
import { readCascade } from "../src/switch/cascade.ts";
import { indexWriter, loadIndex } from "../src/tools/local-index/index-file.ts";

let folder = "";
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "coa-damaged-"));
});
after(() => rm(folder, { recursive: true, force: true }));

/** In our words: an error of ours that names the file. */
const ours = (file: RegExp) => (error: unknown) => {
  assert.ok(error instanceof CoaError, String(error));
  assert.match(error.message, file);
  return true;
};

describe("a damaged file of ours", () => {
  it("that is a search index is refused wherever one bit is turned, or gives the same results", async () => {
    const path = join(folder, "index");
    const writer = await indexWriter(path);
    const words = ["ada", "lyon", "tower", "river", "north", "bridge", "copper"];
    for (let i = 0; i < 60; i++) {
      const pick = (n: number) => words[derivedSeed(7, i, n) % words.length]!;
      writer.add({
        id: `d${i}`,
        title: pick(0),
        text: `${pick(1)} ${pick(2)} ${pick(3)}`,
        url: `https://x.example/${i}`,
      });
    }
    await writer.finish();
    const results = async () => {
      const index = await loadIndex(path);
      try {
        return words.map((word) => index.search(word, 60));
      } finally {
        index.close();
      }
    };
    const right = await results();
    const current = await currentFolder(path);
    const counts = { refused: 0, same: 0 };
    for (const file of await readdir(current)) {
      const whole = await readFile(join(current, file));
      for (let turn = 0; turn < 120; turn++) {
        const bytes = Buffer.from(whole);
        const bit = derivedSeed(11, turn, file) % (bytes.length * 8);
        bytes[bit >> 3]! ^= 1 << (bit & 7);
        await writeFile(join(current, file), bytes);
        try {
          assert.deepEqual(await results(), right, `${file}, bit ${bit}`);
          counts.same++;
        } catch (error) {
          if (error instanceof assert.AssertionError) throw error;
          ours(/build (?:the index|it|one)/)(error);
          counts.refused++;
        }
      }
      await writeFile(join(current, file), whole);
    }
    assert.ok(counts.refused > 300, JSON.stringify(counts));
    assert.deepEqual(await results(), right);
  });

  it("that is state is named", async () => {
    const broken = '{"half": ';
    await writeFile(join(folder, "report.json"), broken);
    await assert.rejects(readReport(folder), ours(/report\.json is not JSON/));
    const step = { name: "one", run: async () => 1 };
    for (const damaged of ["null", "[]", "7"]) {
      await writeFile(join(folder, "report.json"), damaged);
      await assert.rejects(readReport(folder), ours(/report\.json is not a report/));
      await writeFile(join(folder, "coa.json"), damaged);
      await assert.rejects(readModelUse(folder), ours(/coa\.json is not how a model is used/));
      await writeFile(join(folder, "cascade.json"), damaged);
      await assert.rejects(readCascade(folder), ours(/cascade\.json is not a cascade/));
      await writeFile(join(folder, "dataset.json"), damaged);
      await assert.rejects(openDataset(folder), ours(/dataset\.json is not a dataset's/));
    }
    for (const damaged of ["[7]", '{"one":{"state":"done"}}']) {
      await writeFile(join(folder, "steps.json"), damaged);
      await assert.rejects(runSteps(folder, [step]), ours(/steps\.json is not a list of steps/));
    }
    for (const damaged of [broken, '{"views":1}']) {
      await writeFile(join(folder, "studio-views.json"), damaged);
      const views = async () => readViews(new URLSearchParams(), { home: folder } as never);
      await assert.rejects(views, ours(/studio-views\.json/));
    }
    await writeFile(join(folder, "state.sqlite"), "no database ".repeat(1000));
    await assert.rejects(openSqlite(join(folder, "state.sqlite")), ours(/state\.sqlite/));
    const store = checkpointStore(join(folder, "checkpoints"));
    await assert.rejects(store.find("tinker://m/weights/one"), /Checkpoint not found/);
    const note = { base_model: "b", created_at: "2026-01-01" } as never;
    await store.save("m", "weights", "one", note, async (to) => writeFile(join(to, "x"), "x"));
    const at = (await store.find("tinker://m/weights/one")).folder;
    const file = (await readdir(at)).find((name) => name.endsWith(".json"))!;
    await writeFile(join(at, file), broken);
    await assert.rejects(store.find("tinker://m/weights/one"), ours(/checkpoints\/m\/weights\/one/));
  });
});
