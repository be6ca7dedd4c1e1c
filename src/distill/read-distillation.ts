/** Reads back what a distillation left in its folder. */
import { join } from "node:path";
import { z } from "zod";
import { readJsonAs } from "../base/files/read-json.ts";
import { readJsonl } from "../base/files/read-jsonl.ts";
import { UsageError } from "../core/errors.ts";
import { asObject } from "../core/json-value.ts";
import type { Trajectory } from "../core/trajectory.ts";
import { trajectorySchema } from "../core/trajectory-schema.ts";
import type { DistillReport, DroppedSample } from "../report/distill-text.ts";
import type { OutcomeRecord } from "./distill-report.ts";

export async function readReport(folder: string): Promise<DistillReport> {
  const report = await readJsonAs(join(folder, "report.json"), z.custom<DistillReport>(isReport), "a report");
  if (!report)
    throw new UsageError(`${folder} has no report.json: the distillation is not finished; run the same command again`);
  return report;
}

const isReport = (value: unknown): boolean => Array.isArray(asObject(value)?.["stages"]);

/** What became of the records for which `wanted` is true, each with its chain where that was kept. */
export async function* readOutcomes(
  folder: string,
  wanted: (outcome: OutcomeRecord) => boolean,
): AsyncGenerator<{ outcome: OutcomeRecord; chain?: Trajectory }> {
  const samples = await Array.fromAsync(readJsonl<DroppedSample>(join(folder, "dropped.jsonl")));
  // Line n of kept.jsonl is the chain of the nth outcome that was kept.
  const kept = readJsonl<Trajectory>(join(folder, "kept.jsonl"))[Symbol.asyncIterator]();
  for await (const outcome of readJsonl<OutcomeRecord>(join(folder, "outcomes.jsonl"))) {
    const line = outcome.stage === null ? (await kept.next()).value : undefined;
    if (!wanted(outcome)) continue;
    const chain = line ?? samples.find(({ id, stage }) => id === outcome.id && stage === outcome.stage)?.trajectory;
    yield { outcome, ...(chain && { chain: trajectorySchema.parse(chain) }) };
  }
}

export type { OutcomeRecord } from "./distill-report.ts";
