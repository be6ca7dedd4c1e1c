/**
 * From recorded runs of another framework to a dataset that a trainer reads. Traces of a Vercel AI SDK app are
 * used as an example: give your own files (OTLP, LangSmith, OpenAI traces, wire records, message logs…), or record live
 * with `coa record proxy` and point the app at it.
 *
 *   node recipes/distill-your-traces.ts [trace files…]
 */
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { exportDataset } from "../src/dataset/index.ts";
import { distillRun } from "../src/distill/index.ts";
import type { Trajectory } from "../src/index.ts";
import { multiProfile } from "../src/language/profiles.ts";
import { importFiles, refusedForTraining } from "../src/record/index.ts";
import { runTree } from "../src/record/run-summary.ts";

const given = process.argv.slice(2);
const files = given.length > 0 ? given : [join(import.meta.dirname, "../test/fixtures/traces/wire.aisdk.jsonl")];

// 1. Who called whom, with which messages and tools: the run as a tree, with tokens per agent.
const runs = await importFiles(files);
for (const run of runs) console.log(runTree(run));

// 2. One chain per run. A recording that lost content is refused; a run that can't be converted says at which step.
const chains: Trajectory[] = [];
for (const run of runs) {
  const refusal = refusedForTraining(run);
  if (refusal) {
    console.log(`${run.id}: refused, ${refusal}`);
    continue;
  }
  const { trajectory, failure } = distillRun(run, { profile: multiProfile, fill: true });
  if (trajectory) chains.push(trajectory);
  else console.log(`${run.id}: not converted, ${failure.rule} at ${failure.step}: ${failure.message}`);
}
for (const segment of chains[0]?.segments ?? [])
  console.log(`${segment.tag.padEnd(18)}${segment.text.trim().slice(0, 80)}`);

// 3. Files for a trainer: here LLaMA-Factory's, with observations as turns that are not learned.
const folder = await mkdtemp(join(tmpdir(), "distilled-"));
const { files: written, rows } = await exportDataset(chains, { format: "llama-factory", folder });
console.log(`${rows} examples in ${written.join(", ")}`);
