/**
 * The chain: one model plays all the roles in one sequence, and the runtime executes the tools. The loop is short: plan
 * the next call within the limits, let the model write a turn, then answer its tool calls with observations, until it
 * answers. Nothing that model or tools do can throw out of here; how it ended is part of the trajectory.
 */
import { randomUUID } from "node:crypto";
import { isAbort, messageOf } from "../core/errors.ts";
import { advance, allowedNext, type ChainState, type Profile, tagSpec } from "../core/profile.ts";
import type { Task } from "../core/task.ts";
import type { Ending, Segment, Trajectory } from "../core/trajectory.ts";
import { validateSegments } from "../core/validate.ts";
import { callModel, nextPlan } from "./call-model.ts";
import type { ChainOptions } from "./chain-options.ts";
import { emptyReplay, type Replay, readReplays } from "./chain-record.ts";
import { type ChainRun, chainRun, noteViolations, observe, record } from "./chain-run.ts";
import { type ChainSetup, chainSetup } from "./chain-setup.ts";
import type { CallPlan, LimitName } from "./limits.ts";
import { modelTurn, type TurnFinish } from "./model-turn.ts";
import { capText } from "./observation.ts";
import { type RequestedCall, runToolStep } from "./tool-step.ts";

/** Lets the model work on a task with the tools, and returns everything it decoded. Only wrong options make it throw. */
export async function runChain(task: Task, options: ChainOptions): Promise<Trajectory> {
  const setup = chainSetup(options);
  const id = options.id ?? (options.journal ? `${task.id}#0` : `${task.id}-${randomUUID()}`);
  const replay = options.replay ?? (options.journal && (await readReplays(options.journal)).get(id));
  return runPrepared(id, task, setup, replay ?? emptyReplay());
}

/** The same with everything prepared, for batches. */
export async function runPrepared(id: string, task: Task, setup: ChainSetup, replay: Replay): Promise<Trajectory> {
  // A chain that ended in an error (a server was down) is worth another try; any other end is final.
  if (replay.trajectory && replay.trajectory.ending.reason !== "error") return replay.trajectory;
  const run = chainRun(id, task, setup, replay);
  const { model, profile } = setup.options;
  const { question, id: taskId } = task;
  const unprepared = await model.prepare?.(run.signal).catch((error: unknown) => ({ error }));
  run.emit?.({ type: "chain-start", trajectoryId: id, taskId, question, profile: profile.name, model: model.name });
  let result: Result;
  try {
    if (unprepared) throw unprepared.error;
    if (!replay.started) await record(run, { type: "start", taskId, profile: profile.name, model: model.name });
    result = await decode(run);
  } catch (error) {
    const aborted = run.signal?.aborted === true || isAbort(error);
    result = { answer: null, ending: { reason: aborted ? "aborted" : "error", detail: messageOf(error) } };
  }
  model.endSession?.(id);
  const trajectory = describe(run, result);
  if (result.ending.reason !== "aborted") {
    try {
      await record(run, { type: "end", trajectory });
    } catch (error) {
      trajectory.meta = { ...trajectory.meta, notRecorded: messageOf(error) };
    }
  }
  run.emit?.({ type: "chain-end", trajectory });
  return trajectory;
}

interface Result {
  answer: string | null;
  ending: Ending;
}

/** The loop. Each round is one turn of the model and what it calls for. */
async function decode(run: ChainRun): Promise<Result> {
  const { options, limits, enforcement } = run.setup;
  const { profile } = options;
  let asked: LimitName | undefined; // the limit for which the answer was asked
  let refusals = 0;
  for (;;) {
    run.signal?.throwIfAborted();
    const from = run.context.segments.length;
    const turn = modelTurn(profile, from, run.emit);
    let finish: TurnFinish | undefined;
    let plan: CallPlan;
    let failure: unknown;
    for (;;) {
      plan = await nextPlan(run, turn);
      if (plan.kind === "none" || (plan.kind === "final" && (asked || turn.text() !== ""))) break;
      if (plan.kind === "final") {
        asked = plan.limit;
        observe(run, requestToAnswer(profile, plan.limit), "runtime");
        plan = await nextPlan(run, turn); // the request itself takes room
        if (plan.kind === "none") break;
      }
      const before = turn.text().length;
      try {
        finish = await callModel(run, turn, plan);
      } catch (error) {
        failure = error;
        break;
      }
      if (finish !== "length" || turn.text().length === before) break;
    }
    const written = turn.finish();
    run.context.appendTurn(written.segments);
    noteViolations(run, written.violations);
    if (failure !== undefined) throw failure;
    if (finish === undefined) return byLimit(run, asked ?? limitOf(plan));

    const calls: RequestedCall[] = [];
    const refused = new Map<number, string>(); // [call] -> why
    const strict = enforcement !== "report" && refusals < limits.maxRepairs && asked === undefined;
    let answer: Segment | undefined;
    let answerRefused = false;
    for (const segment of written.segments) {
      const complete =
        !written.unclosed.has(segment) ||
        (segment === written.segments.at(-1) && (finish === "end" || finish === "stop"));
      const spec = tagSpec(profile, segment.tag);
      const isMove = complete && spec !== undefined && (spec.tool !== undefined || segment.tag === profile.answer);
      const problem = isMove && strict ? refusal(profile, run.state, segment) : null;
      if (isMove && spec.tool !== undefined) {
        if (problem) refused.set(calls.length, problem);
        calls.push({ spec, body: segment.text });
      } else if (isMove && problem) {
        refusals++;
        answerRefused = true;
        observe(run, problem, "runtime");
        break;
      } else if (segment.tag === profile.answer && (complete || asked)) answer = segment;
      run.state = advance(profile, run.state, segment);
    }
    if (answer) {
      const detail = asked ? { detail: `asked at the limit: ${asked}` } : {};
      return { answer: answer.text.trim(), ending: { reason: "answered", ...detail } };
    }
    if (asked) return byLimit(run, asked);
    if (calls.length > 0) {
      refusals = refused.size > 0 ? refusals + 1 : 0;
      await answerCalls(run, calls, refused);
    } else if (finish === "end" || finish === "stop") {
      if (answerRefused) continue;
      if (enforcement === "report" || refusals >= limits.maxRepairs) return withoutAnswer(run);
      refusals++;
      observe(
        run,
        `format error: the turn ended without a tool call or an answer. ${whatNext(profile, run.state)}`,
        "runtime",
      );
    } else if (written.segments.length === 0 && finish === "length") return withoutAnswer(run);
  }
}

/** Why a move is refused, or null. A missing think is no reason to refuse a good call; wrong order is. */
function refusal(profile: Profile, state: ChainState, segment: Segment): string | null {
  const reachable =
    state.openCalls > 0 || // more calls side by side than the profile has room for are run all the same
    allowedNext(profile, state).includes(segment.tag) ||
    allowedNext(profile, { ...state, thought: !state.thought }).includes(segment.tag);
  if (reachable) {
    if (segment.tag !== profile.answer || segment.text.trim() !== "") return null;
    return "format error: the answer is empty. Write the answer itself.";
  }
  const after = state.last === null ? "at the start" : `after ${state.last}`;
  const gate = state.gate ? ", as it was judged" : "";
  return `format error: ${segment.tag} may not come ${after}${gate}. ${whatNext(profile, state)}`;
}

function whatNext(profile: Profile, state: ChainState): string {
  const thinking = allowedNext(profile, { ...state, thought: true, openCalls: 0 });
  const direct = allowedNext(profile, { ...state, thought: false, openCalls: 0 });
  const names = [...new Set([...direct, ...thinking])].filter((name) => name !== profile.think);
  return `Next may come: ${names.join(", ")}${direct.includes(profile.think) ? ` (after a ${profile.think})` : ""}.`;
}

function requestToAnswer(profile: Profile, limit: LimitName): string {
  return `The budget is nearly used up (${limit}). No tool can be called any more. Write only the ${profile.answer} now, from what is known.`;
}

async function answerCalls(
  run: ChainRun,
  calls: readonly RequestedCall[],
  refused: ReadonlyMap<number, string>,
): Promise<void> {
  const { setup, usage, task, id } = run;
  const step = usage.modelCalls - 1;
  const profile = setup.options.profile;
  const began = setup.clock();
  const accepted = calls.filter((_, index) => !refused.has(index));
  const reports = await runToolStep(accepted, {
    tools: setup.tools,
    earlier: run.earlier,
    step,
    budget: setup.limits.maxToolCalls - usage.toolCalls,
    timeoutMs: setup.limits.toolTimeoutMs,
    remainingMs: Math.max(1, setup.limits.maxWallMs - run.elapsedMs()),
    context: {
      trajectoryId: id,
      taskId: task.id,
      question: task.question,
      thought: run.context.segments.findLast((segment) => segment.tag === profile.think)?.text,
    },
    signal: run.signal,
    neutralise: setup.neutralise,
    clock: setup.clock,
    recorded: (index) => run.replay.tools.get(`${step}:${index}`),
    onOutcome: (index, outcome) => record(run, { type: "tool", call: step, index, ...outcome }),
    onCall: run.emit && ((callId, tool, input) => run.emit!({ type: "tool-call", callId, tool, input })),
    onResult:
      run.emit &&
      ((callId, { tool, ok, output, ms }) => run.emit!({ type: "tool-result", callId, tool, ok, output, ms })),
  });
  usage.toolMs += setup.clock() - began;
  for (let index = 0, next = 0; index < calls.length; index++) {
    const problem = refused.get(index);
    if (problem !== undefined) {
      observe(run, problem, "runtime");
      continue;
    }
    const { text, call, executed } = reports[next++]!;
    usage.toolCalls += executed;
    const capped = capText(text, setup.limits.maxObservationTokens, setup.count);
    observe(
      run,
      capped.text,
      "tool",
      capped.cutCharacters > 0 ? { ...call, cutCharacters: capped.cutCharacters } : call,
    );
  }
}

function limitOf(plan: CallPlan): LimitName {
  return plan.limit ?? "steps";
}

function suggested(run: ChainRun): string | undefined {
  const tag = run.setup.options.profile.suggestedAnswer;
  return run.context.segments.findLast((segment) => segment.tag === tag && segment.by === "model")?.text.trim();
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

/** The finished record of the chain. */
function describe(run: ChainRun, { answer, ending }: Result): Trajectory {
  const { options } = run.setup;
  const { context, usage } = run;
  usage.wallMs = run.elapsedMs();
  const found = validateSegments(options.profile, context.segments);
  const meta = { ...options.meta, ...(run.compactions.length > 0 ? { compactions: run.compactions } : {}) };
  return {
    version: 1,
    id: run.id,
    taskId: run.task.id,
    profile: options.profile.name,
    model: options.model.name,
    prompt: [...context.prompt],
    ...(context.promptTokens ? { promptTokens: [...context.promptTokens] } : {}),
    segments: [...context.segments],
    answer,
    ending,
    usage,
    violations: [...run.violations, ...found],
    source: { kind: "chain" },
    ...(options.policyVersion === undefined ? {} : { policyVersion: options.policyVersion }),
    ...(Object.keys(meta).length > 0 ? { meta } : {}),
  };
}
