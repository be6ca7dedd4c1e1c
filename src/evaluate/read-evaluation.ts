/** Reads an evaluation back from its folder, finished or not. */

import { join } from "node:path";
import { z } from "zod";
import { readManifest } from "../base/files/manifest.ts";
import { readAllJsonl, readJsonl } from "../base/files/read-jsonl.ts";
import { UsageError } from "../core/errors.ts";
import type { Grader } from "../core/grader.ts";
import type { Task } from "../core/task.ts";
import { taskSchema } from "../core/task-schema.ts";
import type { Measure, Summary } from "../report/figures.ts";
import { majoritySuccess } from "./best-of.ts";
import { type EvaluationRecord, evaluationRecordSchema, recordKey } from "./evaluation-record.ts";
import { summarise } from "./summarise.ts";

/** Everything a comparison needs of one evaluation. */
export interface StoredEvaluation {
  folder: string;
  summary: Summary;
  tasks: Task[];
  records: EvaluationRecord[];
  /** What the system is in full: model, profile, tools, sampling. */
  identity?: Readonly<Record<string, unknown>>;
}

/**
 * Reads a folder; figures are computed from the records, so an unfinished evaluation shows what it has. The grader says
 * which answers mean the same, for the majority of several samples; without one that figure is left out.
 */
export async function readEvaluation(folder: string, options: { grader?: Grader } = {}): Promise<StoredEvaluation> {
  const { system, topology, samples, measure, identity } = await readAsked(folder);
  const tasks = await readAllJsonl(join(folder, "tasks.jsonl"), taskSchema);
  const latest = new Map<string, EvaluationRecord>();
  for (const record of await readAllJsonl(join(folder, "journal.jsonl"), evaluationRecordSchema))
    latest.set(recordKey(record), record);
  const records = tasks.flatMap((task) =>
    Array.from({ length: samples }, (_, sample) => latest.get(recordKey({ taskId: task.id, sample }))).filter(
      (record) => record !== undefined,
    ),
  );
  const { grader } = options;
  const majority = samples > 1 && grader ? await majoritySuccess(tasks, records, grader) : null;
  return {
    folder,
    tasks,
    records,
    identity,
    summary: summarise(records, { system, topology, samples, tasks, majority, measure, identity }),
  };
}

const askedSchema = z.object({
  system: z.string(),
  topology: z.string().optional(),
  samples: z.number(),
  measure: z.custom<Measure>().optional(),
  identity: z.record(z.string(), z.unknown()).optional(),
});

async function readAsked(folder: string): Promise<z.infer<typeof askedSchema>> {
  const manifest = await readManifest(folder);
  if (manifest?.kind === "evaluation") return askedSchema.parse(manifest.configuration);
  throw new UsageError(`no evaluation in ${folder}: it has no manifest of one. Run one with: coa eval run`);
}

export async function readRuns(folder: string, ids: ReadonlySet<string>): Promise<Map<string, unknown>> {
  const found = new Map<string, unknown>();
  for await (const line of readJsonl<{ value: { id: string } }>(join(folder, "runs.jsonl"))) {
    if (ids.has(line.value.id)) found.set(line.value.id, line.value);
  }
  return found;
}
