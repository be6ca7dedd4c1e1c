/** The records of chains that were begun before, sorted by chain. */
import type { ChainRecord, CompactionRecord, ToolRecord, TurnRecord } from "../core/chain-record.ts";
import type { Journal } from "../core/journal.ts";
import type { Trajectory } from "../core/trajectory.ts";

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
