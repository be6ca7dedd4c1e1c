/**
 * What a running chain writes down so that a killed run can continue: each finished model turn and each finished tool call,
 * as they happen. Resuming feeds these records through the same loop instead of asking the model or the tool again, so
 * a resumed chain and an uninterrupted one can't differ.
 */
import type { z } from "zod";
import type { Journal } from "../core/journal.ts";
import { lazySchema } from "../core/lazy-schema.ts";
import { type Trajectory, trajectorySchema } from "../core/trajectory.ts";
import { limitNames } from "./limits.ts";
import { sampledTokenSchema } from "./sampled-tokens.ts";

const callUsage = lazySchema((z) =>
  z.object({
    promptTokens: z.number(),
    completionTokens: z.number(),
    cachedTokens: z.number().optional(),
  }),
);

const base = lazySchema((z) => z.object({ version: z.literal(1), trajectoryId: z.string(), elapsedMs: z.number() }));

const turnRecordSchema = lazySchema((z) =>
  z.object({
    ...base.shape,
    type: z.literal("turn"),
    /** Number of the model call, from 0. */
    call: z.number(),
    /** Set when this call asked for the answer because of that limit. */
    final: z.enum(limitNames).optional(),
    /** What was received from the model, up to the end of its turn. */
    text: z.string(),
    tokens: z.array(sampledTokenSchema).optional(),
    policyVersion: z.number().optional(),
    finish: z.enum(["stop", "length", "end", "deadline"]),
    usage: callUsage,
    keptTokens: z.number(),
  }),
);
export type TurnRecord = z.infer<typeof turnRecordSchema>;

const toolRecordSchema = lazySchema((z) =>
  z.object({
    ...base.shape,
    type: z.literal("tool"),
    call: z.number(),
    /** Which input of the turn, from 0. */
    index: z.number(),
    tool: z.string(),
    input: z.unknown(),
    ok: z.boolean(),
    /** Neutralised, not yet capped. */
    output: z.string(),
    ms: z.number(),
    answeredBy: z.enum(["recording", "not-recorded"]).optional(),
    fault: z.string().optional(),
  }),
);
export type ToolRecord = z.infer<typeof toolRecordSchema>;

const compactionRecordSchema = lazySchema((z) =>
  z.object({
    ...base.shape,
    type: z.literal("compaction"),
    call: z.number(),
    replaced: z.array(z.object({ segment: z.number(), text: z.string() })),
  }),
);
export type CompactionRecord = z.infer<typeof compactionRecordSchema>;

export const chainRecordSchema = lazySchema((z) =>
  z.discriminatedUnion("type", [
    z.object({ ...base.shape, type: z.literal("start"), taskId: z.string(), profile: z.string(), model: z.string() }),
    turnRecordSchema,
    toolRecordSchema,
    compactionRecordSchema,
    z.object({ ...base.shape, type: z.literal("end"), trajectory: trajectorySchema }),
  ]),
);
export type ChainRecord = z.infer<typeof chainRecordSchema>;

/** What is known of a chain from before. */
export interface Replay {
  started: boolean;
  turns: Map<number, TurnRecord>;
  tools: Map<string, ToolRecord>; // `call:index`
  compactions: Map<number, CompactionRecord>;
  elapsedMs: number;
  trajectory?: Trajectory;
}

export function emptyReplay(): Replay {
  return { started: false, turns: new Map(), tools: new Map(), compactions: new Map(), elapsedMs: 0 };
}

function addRecord(replay: Replay, record: ChainRecord): void {
  replay.elapsedMs = Math.max(replay.elapsedMs, record.elapsedMs);
  if (record.type === "start") replay.started = true;
  else if (record.type === "turn") replay.turns.set(record.call, record);
  else if (record.type === "tool") replay.tools.set(`${record.call}:${record.index}`, record);
  else if (record.type === "compaction") replay.compactions.set(record.call, record);
  else replay.trajectory = record.trajectory;
}

export async function readReplays(journal: Journal<ChainRecord>): Promise<Map<string, Replay>> {
  const replays = new Map<string, Replay>();
  for await (const record of journal.read()) {
    let replay = replays.get(record.trajectoryId);
    if (!replay) replays.set(record.trajectoryId, (replay = emptyReplay()));
    addRecord(replay, record);
  }
  return replays;
}
