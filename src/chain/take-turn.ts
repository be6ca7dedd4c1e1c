/** One turn of the model: as many calls as it needs and the limits allow, the last of them perhaps a request to answer. */
import type { Profile } from "../language/profile.ts";
import { callModel, nextPlan } from "./call-model.ts";
import { type ChainRun, noteViolations, observe } from "./chain-run.ts";
import type { LimitName } from "./limits.ts";
import { modelTurn, type TurnFinish } from "./model-turn.ts";
import type { WrittenTurn } from "./moves.ts";

export interface TakenTurn extends WrittenTurn {
  /** How its last call ended; undefined where the limits allowed none. */
  finish: TurnFinish | undefined;
  /** The limit that ended it, or for which the model was asked to answer. */
  limit: LimitName | undefined;
  /** The model was asked to answer in this turn. */
  asked: boolean;
}

/** Lets the model write. Its segments stand in the chain when this returns, or throws because the model failed. */
export async function takeTurn(run: ChainRun): Promise<TakenTurn> {
  const { profile, model } = run.setup.options;
  const turn = modelTurn(profile, run.context.segments.length, run.emit, model.tokenizer);
  let finish: TurnFinish | undefined;
  let limit: LimitName | undefined;
  let asked = false;
  try {
    for (;;) {
      let plan = await nextPlan(run, turn);
      // What is written so far has to end before the model can be asked for its answer.
      if (plan.kind === "final" && turn.text() !== "") break;
      if (plan.kind === "final") {
        limit = plan.limit;
        asked = true;
        observe(run, requestToAnswer(profile, plan.limit), "runtime");
        plan = await nextPlan(run, turn); // the request itself takes room
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
  return `The budget is nearly used up (${limit}). No tool can be called any more. Write only the ${profile.answer} now, from what is known.`;
}
