/**
 * What a turn asks for: calls to make, an answer, or neither. Under `repair` a move that breaks the order is refused
 * with a reason that the model can act on. A missing think does not refuse a good call; wrong order does.
 */

import type { Segment } from "../core/trajectory.ts";
import { readJsonAnswer } from "../language/json-schema.ts";
import { advance, allowedNext, type ChainState, type Profile, type TagSpec, tagSpec } from "../language/profile.ts";
import { bodyHint } from "../language/system-prompt.ts";

export interface RequestedCall {
  spec: TagSpec;
  body: string;
  segment: number;
}

export interface Moves {
  calls: RequestedCall[];
  /** By place in `calls`: why it is not made. */
  refused: Map<number, string>;
  answer: Segment | undefined;
  /** Why the answer was not accepted. */
  answerRefused: string | undefined;
  /** It was not accepted because of its form. */
  formRefused?: boolean;
  /** Where the chain stands after the turn; a refused answer leaves it where it was. */
  state: ChainState;
}

export interface WrittenTurn {
  segments: readonly Segment[];
  /** Segments whose closing tag never came. */
  unclosed: ReadonlySet<Segment>;
  /** The model ended its turn itself, so a last segment without its closing tag is meant to be whole. */
  ended: boolean;
}

/** Reads the moves of a turn. `strict` refuses what breaks the order; `last` takes an unfinished answer as well. */
export function readMoves(
  { profile, reading }: { profile: Profile; reading: Profile },
  state: ChainState,
  turn: WrittenTurn,
  how: { strict: boolean; last: boolean; firstIndex: number; formRefused?: boolean },
): Moves {
  const moves: Moves = { calls: [], refused: new Map(), answer: undefined, answerRefused: undefined, state };
  for (const [index, segment] of turn.segments.entries()) {
    const spec = tagSpec(reading, segment.tag);
    const isAnswer = segment.tag === profile.answer;
    const complete = !turn.unclosed.has(segment) || (turn.ended && segment === turn.segments.at(-1));
    if (spec?.tool !== undefined) {
      if (!complete) continue; // a call that was never finished is not made, and waits for no observation
      const problem = how.strict ? refusal(profile, moves.state, segment) : null;
      if (problem) moves.refused.set(moves.calls.length, problem);
      moves.calls.push({ spec, body: segment.text, segment: how.firstIndex + index });
    } else if (isAnswer && (complete || how.last)) {
      const outOfOrder = how.strict ? refusal(profile, moves.state, segment) : null;
      const wrong = how.strict && !how.formRefused ? wrongForm(profile, segment) : null;
      const problem = outOfOrder ?? wrong;
      if (problem !== null && problem === wrong) moves.formRefused = true;
      if (problem) {
        moves.answerRefused = problem;
        break;
      }
      moves.answer = segment;
    }
    moves.state = advance(profile, moves.state, segment);
  }
  return moves;
}

/** Why a move is refused, or null. */
function refusal(profile: Profile, state: ChainState, segment: Segment): string | null {
  const reachable =
    state.openCalls > 0 || // more calls in one turn than the profile allows are run all the same
    allowedNext(profile, state).includes(segment.tag) ||
    allowedNext(profile, { ...state, thought: !state.thought }).includes(segment.tag);
  if (reachable) {
    if (segment.tag !== profile.answer || segment.text.trim() !== "") return null;
    return "format error: the answer is empty. Write the answer itself.";
  }
  const place = state.last === null ? "at the start" : `after ${state.last}`;
  const judged = state.gate && tagSpec(profile, state.gate.tag)?.body.kind === "score" ? "score" : "rating";
  const gate = state.gate ? ` because of the ${judged} given there` : "";
  return `format error: ${segment.tag} is not allowed ${place}${gate}. ${whatNext(profile, state)}`;
}

/** An answer that was asked for in a schema is refused once where it is not in it; what comes then is for the caller to judge. */
function wrongForm(profile: Profile, segment: Segment): string | null {
  const body = tagSpec(profile, profile.answer)?.body;
  if (body?.kind !== "schema") return null;
  const read = readJsonAnswer(body.schema, segment.text);
  if (!("problem" in read)) return null;
  return `format error: the answer is not in the form that was asked for: ${read.problem}. Write the <${profile.answer}> again:${bodyHint(body).replace(" Body:", "")}`;
}

/** What the rules allow now, in words. */
export function whatNext(profile: Profile, state: ChainState): string {
  const thinking = allowedNext(profile, { ...state, thought: true, openCalls: 0 });
  const direct = allowedNext(profile, { ...state, thought: false, openCalls: 0 });
  const names = [...new Set([...direct, ...thinking])].filter((name) => name !== profile.think);
  const preceded = names.length > 1 ? "each preceded by" : "preceded by";
  const needed = names.some((name) => !direct.includes(name));
  return `Allowed next: ${names.join(", ")}${needed ? ` (${preceded} a ${profile.think})` : ""}.`;
}
