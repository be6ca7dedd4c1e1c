/**
 * A cascade says which answers of a model may be given and which questions go to the system that it replaces. It stands as
 * `cascade.json` beside the model's weights, with what was promised and what it was measured on.
 */
import { join } from "node:path";
import { z } from "zod";
import { readJsonAs } from "../base/files/read-json.ts";
import { writeJson } from "../base/files/write-file.ts";
import type { Trajectory } from "../core/trajectory.ts";
import { doubtNames } from "./features.ts";
import { type Features, logisticSchema, logOdds } from "./logistic.ts";

const estimateSchema = z.object({ value: z.number(), low: z.number(), high: z.number() });

/** Loss against the team, and how often an answer that the model gives itself differs from the team's, among some tasks. */
const groupSchema = z.object({
  tasks: z.number(),
  escalated: z.number(),
  loss: estimateSchema,
  /** Share of all tasks that the model answers, and differently; an audit without labels can see no more than this. */
  differs: estimateSchema,
});

/** What one task costs on average. */
const costSchema = z.object({ billedTokens: z.number(), computedTokens: z.number(), costUsd: z.number() });

export const cascadeSchema = z.object({
  version: z.literal(2),
  /** At most so many points (0.01 is one) below the team, with this confidence, on tasks like those of the calibration. */
  promise: z.object({ maxLoss: z.number(), confidence: z.number() }),
  /** Known right answers, or agreement with the team where there are none. */
  basis: z.enum(["graded", "agreement"]),
  /** What the model's answers were drawn with; the promise is for these settings alone. */
  temperature: z.number(),
  /** The model it was fitted for. */
  model: z.string(),
  score: logisticSchema,
  /** The least score with which the model answers. */
  threshold: z.number(),
  test: z.enum(["harm", "net"]),
  figures: z.object({
    fitTasks: z.number(),
    calibrationTasks: z.number(),
    /** The chance that a right answer is scored above a wrong one, on the calibration tasks. */
    auc: z.number().nullable(),
    success: z.object({ model: z.number(), team: z.number(), cascade: z.number() }),
    cost: z.object({ model: costSchema, team: costSchema, cascade: costSchema }),
    all: groupSchema,
    families: z.record(z.string(), groupSchema),
    kinds: z.record(z.string(), groupSchema),
    /** Success and cost of every threshold of the grid, from all to the team to none. */
    curve: z.array(z.object({ threshold: z.number(), escalated: z.number(), success: z.number(), billedTokens: z.number(), loss: z.number() })), // biome-ignore format: one point
  }),
  /** Names the calibration tasks; the part of the level that earlier fits or rounds had left for this one. */
  calibration: z.object({ tasks: z.string(), level: z.number() }),
});

/** Which answers of a model may be given, and what is promised of them. */
export type Cascade = z.infer<typeof cascadeSchema>;
export type GroupLoss = z.infer<typeof groupSchema>;
export type MeanCost = z.infer<typeof costSchema>;

const cascadeName = "cascade.json";

/** The cascade of a model's folder; undefined where none was fitted. */
export async function readCascade(folder: string): Promise<Cascade | undefined> {
  return readJsonAs(join(folder, cascadeName), cascadeSchema, "a cascade");
}

/** Writes a cascade beside the model's weights. */
export async function writeCascade(folder: string, cascade: Cascade): Promise<string> {
  const path = join(folder, cascadeName);
  await writeJson(path, cascade);
  return path;
}

/** How sure a cascade is of a chain's answer; -Infinity where there is none. */
export function scoreOf({ score }: Pick<Cascade, "score">, features: Features, answer: Trajectory["answer"]): number {
  if (answer === null || answer.trim() === "") return Number.NEGATIVE_INFINITY;
  // A server that no longer tells what the score was made of leaves nothing to be sure by.
  const untold = score.terms.some(({ name }) => name in features === false && doubtNames.some((one) => one === name));
  return untold ? Number.NEGATIVE_INFINITY : logOdds(score, features);
}
