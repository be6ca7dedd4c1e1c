import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { type Annotation, chainHash } from "../core/annotation.ts";
import type { Trajectory } from "../core/trajectory.ts";
import { emptyUsage } from "../core/usage.ts";
import { webProfile } from "../language/profiles.ts";
import { trainTokenizer } from "../tokenizers/train-tokenizer.ts";
import { buildDataset, openDataset } from "./dataset-folder.ts";
import { readAnnotations } from "./read-annotations.ts";

const tokenizer = trainTokenizer(["add the numbers and answer with the sum"], { vocabularySize: 300 });

function chain(id: number, words = "add"): Trajectory {
  return {
    version: 1,
    id: `c${id}`,
    taskId: `t${id % 3}`,
    profile: webProfile.name,
    model: "m",
    prompt: [{ role: "user", content: `Sum ${id}` }],
    segments: [
      { tag: "think", text: words, by: "model" },
      { tag: "plan", text: "add", by: "model" },
    ],
    answer: null,
    ending: { reason: "limit" },
    usage: emptyUsage(),
    violations: [],
  };
}
const chains = Array.from({ length: 8 }, (_, id) => chain(id));

describe("annotations of a dataset", () => {
  let root = "";
  before(async () => {
    root = await mkdtemp(join(tmpdir(), "coa-annotations-"));
  });
  after(() => rm(root, { recursive: true }));

  const target = (made: Trajectory) => ({ kind: "chain" as const, id: made.id, hash: chainHash(made) });

  async function built(name: string, annotations?: Annotation[]) {
    const folder = join(root, name);
    const file = join(root, `${name}.jsonl`);
    await writeFile(file, (annotations ?? []).map((one) => `${JSON.stringify(one)}\n`).join(""));
    const manifest = await buildDataset(chains, {
      folder,
      tokenizer,
      ...(annotations && { annotations: await readAnnotations(file) }),
    });
    const rows = await Array.fromAsync((await openDataset(folder)).sequences());
    return { folder, manifest, rows: new Map(rows.map((row) => [row.id, row])) };
  }

  it("keep, drop and edit what they name; the last one of a chain holds; what fits no chain is counted", async () => {
    const about = (place: number) => ({
      version: 1 as const,
      at: "2026-11-16T00:00:00Z",
      target: target(chains[place]!),
    });
    const plain = await built("plain");
    const { manifest, rows, folder } = await built("reviewed", [
      { ...about(0), verdict: "drop" },
      { ...about(1), verdict: "edit", edits: [{ segment: 0, text: "answer" }] },
      { ...about(2), verdict: "drop" },
      { ...about(2), verdict: "keep" },
      { ...about(3), verdict: "drop" },
      { ...about(3), verdict: "undo" },
      { ...about(4), verdict: "keep" },
      { ...about(7), verdict: "drop" },
      { ...about(5), target: target(chain(5, "other words")), verdict: "drop" },
      { ...about(6), verdict: "edit", edits: [{ segment: 0, text: "<answer>" }] },
      { ...about(6), target: { kind: "chain", id: "nobody", hash: "0" }, verdict: "drop" },
    ]);
    assert.deepEqual(manifest.annotations, { kept: 2, dropped: 2, edited: 1, invalid: 1, unmatched: 2, changed: 1 });
    assert.deepEqual(manifest.dropped, { review: 3 });
    assert.match(await readFile(join(folder, "dropped.jsonl"), "utf8"), /"c7".*dropped in review/);
    const differing = [...plain.rows].filter(([id, row]) => JSON.stringify(rows.get(id)) !== JSON.stringify(row));
    assert.deepEqual(differing.map(([id]) => id).sort(), ["c0", "c1", "c6", "c7"]);
    assert.match(tokenizer.decode(rows.get("c1")!.tokens), /<think>answer<\/think>/);
    assert.equal(plain.manifest.annotations, undefined);
  });
});
