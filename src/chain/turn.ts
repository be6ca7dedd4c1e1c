/**
 * One turn of the model: as many calls as it needs and the limits allow, the last of them perhaps a request to answer.
 * Each call is planned within the limits, made room for where the context is full, sent and written down, or taken from
 * the journal of an interrupted run.
 */

import { derivedSeed } from "../base/work/random.ts";
import type { LimitName } from "../core/chain-record.ts";
import { atBoundary } from "../core/errors.ts";
import type { ContinueRequest } from "../core/model.ts";
import type { Profile } from "../core/profile.ts";
import { answerConstraint } from "../language/grammar/constraint.ts";
import { type ChainRun, countCall, noteViolations, observe, record } from "./chain-run.ts";
import { compact, isCrowded } from "./compaction.ts";
import { iterateWithDeadline } from "./deadline.ts";
import { type CallPlan, planCall } from "./limits.ts";
import { type ModelTurn, modelTurn, type TurnFinish } from "./model-turn.ts";

/** Lets the model write. Its segments are in the chain when this returns, or throws because the model failed. */
export async function takeTurn(run: ChainRun) {
  const turn = modelTurn({
    profile: run.reading,
    firstIndex: run.context.segments.length,
    tokenizer: run.model.tokenizer,
    onEvent: run.onEvent,
    now: run.elapsedMs,
  });
  let finish: TurnFinish | undefined; // how its last call ended; undefined where the limits allowed none
  let limit: LimitName | undefined; // that ended it, or for which the model was asked to answer
  let asked = false;
  try {
    for (;;) {
      let plan = await nextPlan(run, turn);
      // What is written so far has to end before the model can be asked for its answer, unless it is the answer itself.
      if (plan.kind === "final" && turn.text() !== "" && !turn.answers()) break;
      if (plan.kind === "final") {
        limit = plan.limit;
        asked = true;
        if (turn.text() === "") {
          observe(run, requestToAnswer(run.profile, plan.limit), "runtime");
          plan = await nextPlan(run, turn); // the request itself takes room
        }
      }
      if (plan.kind === "none") {
        limit ??= plan.limit;
        break;
      }
      const before = turn.text().length;
      finish = await callModel(run, turn, plan);
      if (finish !== "length" || asked || turn.text().length === before) break;
    }
  } finally {
    const { segments, violations } = turn.finish();
    run.context.appendTurn(segments);
    noteViolations(run, violations);
  }
  const { segments, unclosed } = turn.finish();
  return { segments, unclosed, ended: finish === "end" || finish === "stop", finish, limit, asked };
}

function requestToAnswer(profile: Profile, limit: LimitName): string {
  return `The budget is nearly used up (${limit}). No more tools can be called. Write only the ${profile.answer} now, from what is known.`;
}

/** What the next call may be. A call in the journal was allowed when it was made. */
async function nextPlan(run: ChainRun, turn: ModelTurn): Promise<CallPlan> {
  const known = run.replay.turns.get(run.usage.modelCalls);
  if (known) {
    await compact(run);
    if (known.final) return { kind: "final", maxTokens: 0, limit: known.final };
    return { kind: "ordinary", maxTokens: 0, limit: null };
  }
  if (turn.text() === "" && isCrowded(run)) await compact(run);
  return planCall({
    limits: run.limits,
    usage: run.usage,
    contextTokens: run.context.size(),
    contextWindow: run.contextWindow(),
    observationTokens: Math.ceil(run.profile.style.maxCharacters / 4),
    elapsedMs: run.elapsedMs(),
    price: run.price(),
  });
}

type AllowedCall = Extract<CallPlan, { maxTokens: number }>;

/** Makes the planned call and reads it into the turn. */
async function callModel(run: ChainRun, turn: ModelTurn, plan: AllowedCall): Promise<TurnFinish> {
  const { model, context, limits } = run;
  const call = run.usage.modelCalls;
  const seen = context.seen();
  const known = run.replay.turns.get(call);
  if (known) {
    turn.replay(known);
    countCall(run, known.usage, seen);
    context.counted(known.usage.promptTokens, known.keptTokens);
    return known.finish;
  }
  const request = requestFor(run, turn, plan);
  const wall = limits.maxWallMs * (plan.kind === "ordinary" && limits.answerReserve > 0 ? 0.9 : 1);
  const events = iterateWithDeadline(run.signal, wall - run.elapsedMs(), (signal) =>
    model.continue({ ...request, signal }),
  );
  const [promptTokens, before] = [context.size(), turn.text().length];
  const outcome = await atBoundary("model", `call ${call + 1} of ${model.name}`, () =>
    turn.read(events, run.count, promptTokens),
  ).catch((error: unknown) => {
    // A call that was cut off is paid for: its prompt was read, and so much of it was written.
    const completionTokens = run.count(turn.text().slice(before));
    if (run.signal?.aborted || completionTokens > 0) countCall(run, { promptTokens, completionTokens }, seen);
    throw error;
  });
  countCall(run, outcome.usage, seen);
  context.counted(outcome.usage.promptTokens, outcome.keptTokens);
  await record(run, { type: "turn", call, ...(plan.kind === "final" ? { final: plan.limit } : {}), ...outcome });
  return outcome.finish;
}

function requestFor(run: ChainRun, turn: ModelTurn, plan: AllowedCall): ContinueRequest {
  const { context, sampling } = run;
  const tokens = context.tokens();
  const written = turn.text();
  const { seed } = sampling;
  return {
    ...sampling,
    // Each call of a chain draws differently, and the same chain draws the same again.
    ...(seed === undefined ? {} : { seed: derivedSeed(seed, run.usage.modelCalls) }),
    prompt: context.prompt,
    text: context.text() + written,
    tokens: tokens && written !== "" ? [...tokens, ...turn.tokens()] : tokens,
    stop: run.stop,
    maxTokens: plan.maxTokens,
    sessionKey: run.session ?? run.id,
    ...answerConstraint(run.model, run.profile, turn),
  };
}
