/** The state of one running chain, and the small acts that change it: counting, recording, telling, appending. */
import type { ChainEvent } from "../core/events.ts";
import type { CallUsage } from "../core/model.ts";
import type { Task } from "../core/task.ts";
import type { Compaction, Segment, Violation } from "../core/trajectory.ts";
import { addCall, callCost, emptyUsage, type Usage } from "../core/usage.ts";
import { observationSegment } from "../language/observation.ts";
import { advance, type ChainState, startState } from "../language/profile.ts";
import { type ChainContext, chainContext } from "./chain-context.ts";
import type { ChainRecord, Replay } from "./chain-record.ts";
import type { ChainSetup } from "./chain-setup.ts";
import type { callKey } from "./tool-step.ts";

export interface ChainRun {
  readonly id: string;
  readonly task: Task;
  readonly setup: ChainSetup;
  readonly context: ChainContext;
  readonly replay: Replay;
  readonly usage: Usage;
  readonly violations: Violation[];
  /** Results so far, by what `callKey` says of a call. */
  readonly earlier: Map<ReturnType<typeof callKey>, { output: string; ok: boolean; step: number }>;
  readonly compactions: Compaction[];
  readonly emit: ((event: ChainEvent) => void) | undefined;
  state: ChainState;
  signal: AbortSignal | undefined;
  elapsedMs(): number;
}

/** A record without the fields that every record has. */
type Bare<R> = R extends ChainRecord ? Omit<R, "version" | "trajectoryId" | "elapsedMs"> : never;

/** A chain of which nothing is decoded. */
export function chainRun(id: string, task: Task, setup: ChainSetup, replay: Replay): ChainRun {
  const startedAt = setup.clock();
  return {
    id,
    task,
    setup,
    replay,
    context: chainContext(setup.prompt(task), setup.options.model, setup.count),
    usage: emptyUsage(),
    violations: [],
    earlier: new Map(),
    compactions: [],
    emit: setup.options.onEvent,
    state: startState(),
    signal: setup.options.signal,
    elapsedMs: () => replay.elapsedMs + setup.clock() - startedAt,
  };
}

/** Writes a record; it counts once this resolves. */
export async function record(run: ChainRun, entry: Bare<ChainRecord>): Promise<void> {
  const { journal } = run.setup.options;
  if (!journal) return;
  await journal.append({ version: 1, trajectoryId: run.id, elapsedMs: run.elapsedMs(), ...entry } as ChainRecord);
}

/** Counts one model call. `context` tells what of it an earlier call had already processed. */
export function countCall(run: ChainRun, usage: CallUsage, seenTokens: number): void {
  addCall(run.usage, usage, { seenTokens, costUsd: callCost(usage, run.setup.price()) });
  run.emit?.({ type: "model-call", call: run.usage.modelCalls - 1, usage });
}

/** Notes what was wrong with the form of a turn. */
export function noteViolations(run: ChainRun, violations: readonly Violation[]): void {
  for (const violation of violations) {
    run.violations.push(violation);
    run.emit?.({ type: "format-error", ...violation });
  }
}

/** Appends an observation by a tool or by the runtime and moves the state on. */
export function observe(run: ChainRun, text: string, by: "tool" | "runtime", call?: Segment["call"]): void {
  const { profile, model } = run.setup.options;
  const segment = observationSegment(profile, text, by, run.setup.layout, model);
  if (call) segment.call = call;
  const index = run.context.segments.length;
  run.emit?.({ type: "segment-start", index, tag: segment.tag, by });
  run.context.append(segment);
  run.state = advance(profile, run.state, segment);
  run.emit?.({ type: "segment-end", index, segment });
}
