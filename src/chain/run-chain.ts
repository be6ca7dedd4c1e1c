/**
 * The chain: one model plays all the roles in one sequence, and the runtime executes the tools. The loop is short: plan
 * the next call within the limits, let the model write a turn, then answer its tool calls with observations, until it
 * answers. Nothing that model or tools do can throw out of here; how it ended is part of the trajectory.
 */

import { randomUUID } from "node:crypto";
import { checkOptions } from "../base/work/check-options.ts";
import type { LimitName } from "../core/chain-record.ts";
import { errorEnding } from "../core/ending.ts";
import { isAbort, messageOf } from "../core/errors.ts";
import type { ChainEvent } from "../core/events.ts";
import { type Task, taskOf } from "../core/task.ts";
import { type Ending, type PendingCall, saidText, type Trajectory } from "../core/trajectory.ts";
import { validateSegments } from "../language/validate.ts";
import { type ChainOptions, type ChainSetup, chainSetup } from "./chain-options.ts";
import { type ChainRun, chainRun, observe, record } from "./chain-run.ts";
import { openCalls } from "./continue-chain.ts";
import { readMoves, whatNext } from "./moves.ts";
import { emptyReplay, type Replay, readReplays } from "./replay.ts";
import { runTools } from "./run-tools.ts";
import { takeTurn } from "./turn.ts";

/** Lets the model work on a task or a plain question with the tools, and returns everything it decoded. Only wrong options make it throw. */
export async function runChain(given: Task | string, options: ChainOptions): Promise<Trajectory> {
  checkOptions("runChain", options);
  const task = taskOf(given);
  const setup = chainSetup(options);
  const id = options.id ?? options.from?.id ?? (options.journal ? `${task.id}#0` : `${task.id}-${randomUUID()}`);
  const replay = options.replay ?? (options.journal && (await readReplays(options.journal)).get(id));
  return runPrepared(id, task, setup, replay ?? emptyReplay());
}

/** The same with everything prepared, for batches. */
export async function runPrepared(id: string, task: Task, setup: ChainSetup, replay: Replay): Promise<Trajectory> {
  if (replay.trajectory && isFinal(replay.trajectory, setup)) return replay.trajectory;
  const { model, profile } = setup;
  const { question, id: taskId } = task;
  const unprepared = await model.prepare?.(setup.signal).catch((error: unknown) => ({ error }));
  const run = chainRun(id, task, setup, replay); // with what the server said of itself
  run.onEvent?.({ type: "chain-start", trajectoryId: id, taskId, question, profile: profile.name, model: model.name });
  let result: Result;
  try {
    if (unprepared) throw unprepared.error;
    if (!replay.started) await record(run, { type: "start", taskId, profile: profile.name, model: model.name });
    result = await decode(run);
  } catch (error) {
    const aborted = run.signal?.aborted === true || isAbort(error);
    result = {
      answer: null,
      ending: aborted ? { reason: "aborted", detail: messageOf(error) } : errorEnding(error),
    };
  }
  // What the model keeps of a suspended chain is needed when it is continued.
  if (result.ending.reason !== "suspended" && run.session === undefined) model.endSession?.(id);
  const trajectory = describe(run, result);
  if (result.ending.reason !== "aborted") {
    try {
      await record(run, { type: "end", trajectory });
    } catch (error) {
      trajectory.notRecorded = messageOf(error);
    }
  }
  run.onEvent?.({ type: "chain-end", trajectory });
  return trajectory;
}

/** A chain that ended in an error (a server was down) is worth another try; a suspended one is continued where asked. */
function isFinal({ ending }: Trajectory, { from }: ChainSetup): boolean {
  return ending.reason !== "error" && !(ending.reason === "suspended" && from !== undefined);
}

interface Result {
  answer: string | null;
  ending: Ending;
  /** Calls that a suspended chain waits for. */
  pending?: PendingCall[];
}

/** The loop. Each round is one turn of the model and what it calls for. */
async function decode(run: ChainRun): Promise<Result> {
  const { profile, limits, enforcement } = run;
  let refusals = 0; // in a row
  let formRefused = false; // an answer in the wrong form is refused once
  const open = run.from && openCalls(run);
  if (open) {
    const pending = await runTools(run, open);
    if (pending.length > 0) return suspended(pending);
  }
  for (;;) {
    run.signal?.throwIfAborted();
    const turn = await takeTurn(run);
    if (turn.finish === undefined && turn.limit !== undefined) return byLimit(run, turn.limit);
    const strict = enforcement !== "report" && refusals < limits.maxRepairs && !turn.asked;
    const moves = readMoves(run, run.state, turn, {
      strict,
      last: turn.asked,
      formRefused,
      firstIndex: run.context.segments.length - turn.segments.length,
    });
    run.state = moves.state;
    formRefused ||= moves.formRefused === true;
    if (moves.answer) {
      const detail = turn.asked ? { detail: `asked at the limit: ${turn.limit}` } : {};
      return { answer: saidText(moves.answer), ending: { reason: "answered", ...detail } };
    }
    if (turn.asked) return byLimit(run, turn.limit!);
    if (moves.calls.length > 0) {
      refusals = moves.refused.size > 0 ? refusals + 1 : 0;
      const pending = await runTools(run, moves);
      if (pending.length > 0) return suspended(pending);
    } else if (turn.ended) {
      if (enforcement === "report" || refusals >= limits.maxRepairs) return withoutAnswer(run);
      refusals++;
      const nothing = `format error: the turn ended without a tool call or an answer. ${whatNext(profile, run.state)}`;
      observe(run, moves.answerRefused ?? nothing, "runtime");
    } else if (turn.segments.length === 0 && turn.finish === "length") return withoutAnswer(run);
  }
}

function suspended(pending: PendingCall[]): Result {
  return { answer: null, ending: { reason: "suspended" }, pending };
}

function suggested(run: ChainRun): string | undefined {
  const tag = run.profile.suggestedAnswer;
  const last = run.context.segments.findLast((segment) => segment.tag === tag && segment.by === "model");
  return last && saidText(last);
}

function byLimit(run: ChainRun, limit: LimitName): Result {
  const answer = suggested(run);
  if (answer) return { answer, ending: { reason: "suggested", detail: limit } };
  return { answer: null, ending: { reason: "limit", detail: limit } };
}

function withoutAnswer(run: ChainRun): Result {
  const detail = "the model ended its turn without an answer";
  const answer = suggested(run);
  if (answer) return { answer, ending: { reason: "suggested", detail } };
  return { answer: null, ending: { reason: "no-answer", detail } };
}

function describe(run: ChainRun, { answer, ending, pending }: Result): Trajectory {
  const { context, usage, profile, policyVersion, meta } = run;
  usage.wallMs = run.elapsedMs();
  const found = validateSegments(profile, context.segments, { partial: ending.reason === "suspended" });
  return {
    version: 1,
    id: run.id,
    taskId: run.task.id,
    profile: profile.name,
    language: run.language,
    model: run.model.name,
    prompt: [...context.prompt],
    ...(context.promptTokens ? { promptTokens: [...context.promptTokens] } : {}),
    segments: [...context.segments],
    ...(run.compactions.length > 0 ? { compactions: run.compactions } : {}),
    answer,
    ending,
    ...(pending ? { pending } : {}),
    usage,
    violations: [...run.violations, ...found],
    source: { kind: "chain" },
    ...(policyVersion === undefined ? {} : { policyVersion }),
    ...(meta ? { meta } : {}),
  };
}

/** Yields every event of the chain; the last is `chain-end` with the trajectory. Leaving the loop early stops the chain. */
export async function* streamChain(task: Task | string, options: ChainOptions): AsyncGenerator<ChainEvent> {
  checkOptions("streamChain", options);
  const events: ChainEvent[] = [];
  let wake: () => void = () => {};
  let finished = false;
  const controller = new AbortController();
  const running = runChain(task, {
    ...options,
    signal: AbortSignal.any([controller.signal, ...(options.signal ? [options.signal] : [])]),
    onEvent(event) {
      options.onEvent?.(event);
      events.push(event);
      wake();
    },
  }).finally(() => {
    finished = true;
    wake();
  });
  running.catch(() => {});
  try {
    for (;;) {
      while (events.length > 0) yield events.shift()!;
      if (finished) break;
      await new Promise<void>((resolve) => (wake = resolve));
    }
    await running;
  } finally {
    controller.abort();
  }
}
