import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { readManifest } from "../base/files/manifest.ts";
import type { Trajectory } from "../core/trajectory.ts";
import { emptyUsage } from "../core/usage.ts";
import { trainTokenizer } from "../tokenizers/train-tokenizer.ts";
import { buildDataset, openDataset } from "./dataset-folder.ts";
import { datasetStats } from "./dataset-stats.ts";
import { splitSide } from "./split.ts";
import { trainedTokens } from "./training-sequence.ts";
import { trajectoryToSequence } from "./trajectory-to-example.ts";

const tokenizer = trainTokenizer(["look for the answer in the page"], {
  vocabularySize: 300,
  specialTokens: ["<think>", "</think>", "<answer>", "</answer>", "<observation>", "</observation>"],
});

function chain(id: number): Trajectory {
  return {
    version: 1,
    id: `t${id}`,
    taskId: `q${id % 40}`,
    profile: "web",
    model: "m",
    prompt: [{ role: "user", content: `Question ${id}` }],
    segments: [
      { tag: "think", text: " look", by: "model" },
      { tag: "observation", text: "word ".repeat(id % 30), by: "tool" },
      { tag: "answer", text: ` ${id}`, by: "model" },
    ],
    answer: String(id),
    ending: { reason: "answered" },
    usage: emptyUsage(),
    violations: [],
  };
}
const chains = Array.from({ length: 100 }, (_, id) => chain(id));

describe("a dataset folder", () => {
  let root = "";
  before(async () => {
    root = await mkdtemp(join(tmpdir(), "coa-dataset-"));
  });
  after(() => rm(root, { recursive: true }));

  it("gives back the sequences that went in, with tokenizer, counts and fingerprint", async () => {
    const folder = join(root, "all");
    const manifest = await buildDataset(chains, { folder, tokenizer, weights: { think: 0.5 } });
    const dataset = await openDataset(folder);
    assert.deepEqual(dataset.manifest, manifest);
    assert.deepEqual((await readManifest(folder))?.progress.figures, { ...manifest.tokens });
    const sequences = await Array.fromAsync(dataset.sequences());
    const expected = chains.map((made) => {
      const weightOf = (segment: { tag: string }) => (segment.tag === "think" ? 0.5 : 1);
      return trajectoryToSequence(made, tokenizer, { weightOf }).sequence;
    });
    assert.deepEqual(sequences, expected);
    assert.equal(
      manifest.tokens.all,
      sequences.reduce((sum, one) => sum + one.tokens.length, 0),
    );
    assert.equal(
      manifest.tokens.trained,
      sequences.reduce((sum, one) => sum + trainedTokens(one), 0),
    );
    const bytes = await readFile(join(folder, "examples.jsonl"));
    assert.equal(manifest.fingerprint, createHash("sha256").update(bytes).digest("hex"));
    const loaded = await dataset.tokenizer();
    assert.deepEqual(loaded.encode("look 12"), tokenizer.encode("look 12"));
  });

  it("makes an example of each context of a chain that was shortened on the way", async () => {
    const chain = chains.find(({ segments }) => segments.filter(({ by }) => by === "model").length > 1)!;
    const fromSegment = chain.segments.findLastIndex(({ by }) => by === "model");
    const replaced = [{ segment: chain.segments.findIndex(({ by }) => by === "tool"), text: "short" }];
    const shortened = { ...chain, compactions: [{ beforeCall: 1, fromSegment, replaced }] };
    const manifest = await buildDataset([shortened], { folder: join(root, "shortened"), tokenizer });
    assert.deepEqual([manifest.trajectories, manifest.examples, manifest.dropped], [1, 2, {}]);
    const whole = trajectoryToSequence(chain, tokenizer).sequence!;
    assert.equal(manifest.tokens.trained, trainedTokens(whole));
  });

  it("counts what it drops and cuts, with reasons", async () => {
    const maxTokens = 60;
    const folder = join(root, "short");
    const manifest = await buildDataset(chains, { folder, tokenizer, maxTokens });
    const fits = chains.filter((made) => trajectoryToSequence(made, tokenizer).sequence!.tokens.length <= maxTokens);
    assert.equal(manifest.examples, fits.length);
    assert.deepEqual(manifest.dropped, { overlong: chains.length - fits.length });
    const lines = (await readFile(join(folder, "dropped.jsonl"), "utf8")).trim().split("\n");
    assert.equal(lines.length, chains.length - fits.length);
    const cut = await buildDataset(chains, { folder, tokenizer, maxTokens, overlong: "cut" });
    assert.equal(cut.cut, chains.length - fits.length);
    assert.equal(cut.examples, chains.length);
  });

  it("writes nothing when no example comes out, and leaves what was there", async () => {
    const folder = join(root, "kept");
    await buildDataset(chains, { folder, tokenizer });
    await assert.rejects(
      buildDataset(chains, { folder, tokenizer, maxTokens: 2 }),
      /overlong 100.*nothing was written/,
    );
    assert.equal((await openDataset(folder)).manifest.examples, 100);
    assert.deepEqual(
      (await readdir(root)).filter((name) => name.startsWith(".")),
      [],
    );
  });

  it("says that a folder is not a dataset", async () => {
    await assert.rejects(openDataset(join(root, "nowhere")), /is not a dataset/);
  });

  it("has statistics that agree with counting", async () => {
    const folder = join(root, "stats");
    const manifest = await buildDataset(chains, { folder, tokenizer });
    const dataset = await openDataset(folder);
    const stats = await datasetStats(dataset);
    const lengths = (await Array.fromAsync(dataset.sequences())).map((one) => one.tokens.length);
    assert.equal(stats.tasks, 40);
    assert.equal(stats.trainedTokens, manifest.tokens.trained);
    assert.equal(stats.lengths.max, Math.max(...lengths));
    assert.equal(
      stats.histogram.reduce((sum, bucket) => sum + bucket.count, 0),
      100,
    );
    const half = stats.histogram[5]!.upTo;
    assert.equal(
      stats.histogram.slice(0, 6).reduce((sum, bucket) => sum + bucket.count, 0),
      lengths.filter((length) => length <= half).length,
    );
  });
});

describe("splitSide", () => {
  it("depends on the task alone and keeps to the shares", () => {
    const sides = Array.from({ length: 4000 }, (_, id) => splitSide(`q${id}`, { validation: 0.1, test: 0.2 }));
    const share = (side: string) => sides.filter((one) => one === side).length / sides.length;
    assert.ok(Math.abs(share("validation") - 0.1) < 0.02);
    assert.ok(Math.abs(share("test") - 0.2) < 0.025);
    assert.equal(splitSide("q7", { validation: 0.5 }), splitSide("q7", { validation: 0.5 }));
    const other = Array.from({ length: 4000 }, (_, id) => splitSide(`q${id}`, { validation: 0.1, test: 0.2, seed: 1 }));
    assert.notDeepEqual(sides, other);
    assert.throws(() => splitSide("q", { validation: 0.8, test: 0.5 }), /between 0 and 1/);
  });
});
