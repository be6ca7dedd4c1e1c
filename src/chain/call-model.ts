/** One call of the model within its turn: made and written down, or taken from the journal of an interrupted run. */
import { atBoundary } from "../core/errors.ts";
import type { ContinueRequest } from "../core/model.ts";
import { callCost } from "../core/usage.ts";
import { constraint } from "../language/grammar/constraint.ts";
import { observationSegment } from "../language/observation.ts";
import { type ChainRun, countCall, record } from "./chain-run.ts";
import { type CompactionOptions, chooseObservations, shorten } from "./compaction.ts";
import { iterateWithDeadline } from "./deadline.ts";
import { type CallPlan, planCall } from "./limits.ts";
import type { ModelTurn, TurnFinish } from "./model-turn.ts";

/** What the next call may be. A call in the journal was allowed when it was made. */
export async function nextPlan(run: ChainRun, turn: ModelTurn): Promise<CallPlan> {
  const known = run.replay.turns.get(run.usage.modelCalls);
  if (known) {
    await compact(run, []);
    const limit = (known.final ?? null) as never;
    return known.final ? { kind: "final", maxTokens: 0, limit } : { kind: "ordinary", maxTokens: 0, limit };
  }
  const plan = planNow(run);
  const { setup, context } = run;
  const wanted = Math.min(setup.limits.maxTokensPerCall, setup.contextWindow() / 4);
  const room = setup.contextWindow() - context.size() - setup.limits.answerReserve;
  if (room >= wanted || turn.text() !== "") return plan;
  const { profile, compaction = {} } = setup.options;
  const chosen = chooseObservations(context, profile.observation, setup.contextWindow(), compaction, setup.count);
  if (chosen.length === 0) return plan;
  await compact(run, chosen);
  return planNow(run);
}

function planNow(run: ChainRun): CallPlan {
  const { limits } = run.setup;
  return planCall({
    limits,
    usage: run.usage,
    contextTokens: run.context.size(),
    contextWindow: run.setup.contextWindow(),
    elapsedMs: run.elapsedMs(),
    price: run.setup.price(),
  });
}

/** Summaries cost calls of their own; where the budget does not hold them, observations are cut instead. */
function affordable(run: ChainRun, chosen: readonly number[]): CompactionOptions {
  const { limits, count, options, price } = run.setup;
  const { summarise, ...cutting } = options.compaction ?? {};
  const written = chosen.length * (cutting.maxTokens ?? 128);
  const read = chosen.reduce((sum, index) => sum + count(run.context.segments[index]!.text) + 128, 0);
  const cost = callCost({ promptTokens: read, completionTokens: written }, price());
  const half = (limit: number, used: number) => (limit - used) / 2; // the chain itself needs the rest
  const fits =
    written <= half(limits.maxCompletionTokens, run.usage.completionTokens) &&
    read + written <= half(limits.maxTotalTokens, run.usage.billedTokens) &&
    cost <= half(limits.maxCostUsd, run.usage.costUsd);
  return fits ? { ...cutting, summarise } : cutting;
}

/** Puts short forms in the place of old observations, as chosen now or as the journal says. */
async function compact(run: ChainRun, chosen: readonly number[]): Promise<void> {
  const { setup, context, usage } = run;
  const call = usage.modelCalls;
  const known = run.replay.compactions.get(call);
  if (!known && chosen.length === 0) return;
  const tokensBefore = context.size();
  const options = affordable(run, chosen);
  const made =
    known ??
    (await shorten(
      context.segments,
      chosen,
      options,
      { question: run.task.question, maxTokens: 0, signal: run.signal },
      setup.count,
    ));
  if (!known) await record(run, { type: "compaction", call, replaced: made.replaced, usage: made.usage });
  if (made.usage) {
    const { promptTokens, completionTokens } = made.usage;
    usage.promptTokens += promptTokens;
    usage.completionTokens += completionTokens;
    usage.billedTokens += promptTokens + completionTokens;
    usage.computedTokens += promptTokens + completionTokens;
    usage.costUsd += callCost(made.usage, setup.price());
  }
  const shown = made.replaced.map(({ segment, text }) => {
    const neutral = setup.neutralise(text);
    return [
      segment,
      observationSegment(setup.options.profile, neutral, "tool", setup.layout, setup.options.model),
    ] as const;
  });
  context.replace(new Map(shown));
  run.compactions.push({
    beforeCall: call,
    fromSegment: context.segments.length,
    replaced: shown.map(([segment, { text, raw, tokens }]) => ({
      segment,
      text,
      ...(raw === undefined ? {} : { raw }),
      ...(tokens ? { tokens } : {}),
    })),
  });
  run.emit?.({
    type: "compaction",
    segments: made.replaced.map((entry) => entry.segment),
    tokensBefore,
    tokensAfter: context.size(),
  });
}

/** Makes the planned call and reads it into the turn. */
export async function callModel(
  run: ChainRun,
  turn: ModelTurn,
  plan: CallPlan & { maxTokens: number },
): Promise<TurnFinish> {
  const { setup, context } = run;
  const call = run.usage.modelCalls;
  const seen = context.seen();
  const known = run.replay.turns.get(call);
  if (known) {
    turn.replay(known);
    countCall(run, known.usage, seen);
    context.counted(known.usage.promptTokens, known.keptTokens);
    return known.finish;
  }
  const { model } = setup.options;
  const request = requestFor(run, turn, plan);
  const wall = setup.limits.maxWallMs * (plan.kind === "ordinary" && setup.limits.answerReserve > 0 ? 0.9 : 1);
  const events = iterateWithDeadline(run.signal, wall - run.elapsedMs(), (signal) =>
    model.continue({ ...request, signal }),
  );
  const outcome = await atBoundary("model", `call ${call + 1} of ${model.name}`, () =>
    turn.read(events, setup.count, context.size()),
  );
  countCall(run, outcome.usage, seen);
  context.counted(outcome.usage.promptTokens, outcome.keptTokens);
  await record(run, { type: "turn", call, ...(plan.kind === "final" ? { final: plan.limit } : {}), ...outcome });
  return outcome.finish;
}

function requestFor(run: ChainRun, turn: ModelTurn, plan: CallPlan & { maxTokens: number }): ContinueRequest {
  const { setup, context } = run;
  const { sampling = {} } = setup.options;
  const tokens = context.tokens();
  const written = turn.text();
  const { seed } = sampling;
  return {
    ...sampling,
    // Each call of a chain draws differently, and the same chain draws the same again.
    ...(seed === undefined ? {} : { seed: (seed + run.usage.modelCalls * 0x9e3779b1) >>> 1 }),
    prompt: context.prompt,
    text: context.text() + written,
    tokens: tokens && written !== "" ? [...tokens, ...turn.tokens()] : tokens,
    stop: setup.stop,
    maxTokens: plan.maxTokens,
    sessionKey: run.id,
    ...(setup.enforcement === "grammar"
      ? constraint(setup.options.model, setup.options.profile, run.state, turn, plan.kind === "final")
      : {}),
  };
}
