/** The state of one running chain, and the functions that change it: counting, recording, sending events, appending. */

import type { ChainRecord } from "../core/chain-record.ts";
import type { CallUsage } from "../core/model.ts";
import type { Task } from "../core/task.ts";
import type { Compaction, Segment, Violation } from "../core/trajectory.ts";
import { addCall, callCost, emptyUsage, type Usage } from "../core/usage.ts";
import { observation } from "../language/observation.ts";
import { advance, type ChainState, startState } from "../language/profile.ts";
import { type ChainContext, chainContext } from "./chain-context.ts";
import type { ChainSetup } from "./chain-options.ts";
import { restoreChain } from "./continue-chain.ts";
import type { Replay } from "./replay.ts";

export interface ChainRun extends ChainSetup {
  readonly id: string;
  readonly task: Task;
  readonly context: ChainContext;
  readonly replay: Replay;
  readonly usage: Usage;
  readonly violations: Violation[];
  /** Results so far, by what `callKey` says of a call. */
  readonly earlier: Map<string, { output: string; ok: boolean; step: number }>;
  readonly compactions: Compaction[];
  state: ChainState;
  elapsedMs(): number;
}

/** A record without the fields that every record has. */
type Bare<R> = R extends ChainRecord ? Omit<R, "version" | "trajectoryId" | "elapsedMs"> : never;

/** A chain of which nothing is decoded, or what `from` holds of it. */
export function chainRun(id: string, task: Task, setup: ChainSetup, replay: Replay): ChainRun {
  const startedAt = setup.now();
  const { from } = setup;
  const before = from ? from.usage.wallMs : replay.elapsedMs;
  const run: ChainRun = {
    ...setup,
    id,
    task,
    replay,
    // A chain that was put together by hand has no prompt yet.
    context: chainContext(from?.prompt.length ? from.prompt : setup.prompt(task), setup.model, setup.count, from?.promptTokens), // biome-ignore format: one argument each
    usage: emptyUsage(),
    violations: [],
    earlier: new Map(),
    compactions: [],
    state: startState(),
    elapsedMs: () => before + setup.now() - startedAt,
  };
  if (from) restoreChain(run, from);
  return run;
}

/** Writes a record; it counts once this resolves. */
export async function record(run: ChainRun, entry: Bare<ChainRecord>): Promise<void> {
  if (!run.journal) return;
  await run.journal.append({ version: 1, trajectoryId: run.id, elapsedMs: run.elapsedMs(), ...entry } as ChainRecord);
}

/** Counts one model call; `seenTokens` of its prompt were already processed by an earlier one. */
export function countCall(run: ChainRun, usage: CallUsage, seenTokens: number): void {
  addCall(run.usage, usage, { seenTokens, costUsd: callCost(usage, run.price()) });
  run.onEvent?.({ type: "model-call", call: run.usage.modelCalls - 1, usage });
}

/** Notes what was wrong with the form of a turn. */
export function noteViolations(run: ChainRun, violations: readonly Violation[]): void {
  for (const violation of violations) {
    run.violations.push(violation);
    run.onEvent?.({ type: "format-error", ...violation });
  }
}

/** Appends an observation by a tool or by the runtime and advances the state. */
export function observe(run: ChainRun, text: string, by: "tool" | "runtime", call?: Segment["call"]): void {
  const { profile, context } = run;
  const { segment, cutCharacters } = observation(profile, text, by, run.model);
  if (call) segment.call = cutCharacters > 0 ? { ...call, cutCharacters } : call;
  segment.endedAt = run.elapsedMs();
  segment.startedAt = segment.endedAt - (call?.ms ?? 0);
  const index = context.segments.length;
  run.onEvent?.({ type: "segment-start", index, tag: segment.tag, by });
  context.append(segment);
  run.state = advance(profile, run.state, segment);
  run.onEvent?.({ type: "segment-end", index, segment });
}
