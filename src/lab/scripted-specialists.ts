/**
 * Scripted specialists: plain functions that play the team's roles in the lab, without any LLM. Each is given exactly
 * what an LLM agent would be given, the messages and the tools, and nothing else: no gold answer, no access to the
 * world. They remember nothing between two calls, so everything they do follows from what they were shown.
 *
 * With `imperfect`, a share of the runs goes wrong in a natural way: the team misreads the question (another relation,
 * a wrong operator, a dropped term) and, since all of it misreads, its verifier does not notice.
 */

import { seededRandom } from "../base/work/random.ts";
import type { ChatRequest } from "../core/model.ts";
import { scriptedManager } from "./scripted-manager.ts";
import {
  scriptedCodeAgent,
  scriptedReader,
  scriptedReflector,
  scriptedSearchAgent,
  scriptedVerifier,
} from "./scripted-workers.ts";
import { misread, type Understood, understandQuestion } from "./understand-question.ts";

/** Plays one role: a function from what a model would see to what a model would say. */
export type Specialist = (request: ChatRequest) => {
  text?: string;
  reasoning?: string;
  toolCalls?: { name: string; input: unknown }[];
};
export type Played = ReturnType<Specialist>;

export interface SpecialistOptions {
  /** Share of runs in which the question is misread; 0 by default. */
  imperfect?: number;
  /** Decides which runs, and how; 0 by default. */
  seed?: number;
  /**
   * The manager sends several workers at the same time where their look-ups do not depend on each other; false by
   * default.
   */
  wide?: boolean;
}

/** The six roles of the team, played by scripts. */
export function scriptedSpecialists(
  options: SpecialistOptions = {},
): Record<"manager" | "search" | "reader" | "code" | "reflector" | "verifier", Specialist> {
  const { imperfect = 0, seed = 0, wide = false } = options;
  const understandFor =
    (request: ChatRequest) =>
    (question: string): Understood | null => {
      const understood = understandQuestion(question);
      if (!understood || imperfect === 0) return understood;
      // Another seed of the request is another try of the same question, which may end differently.
      const random = seededRandom("imperfect", seed, request.seed ?? 0, question);
      return random.next() < imperfect ? misread(understood, random) : understood;
    };
  return {
    manager: named("scripted-manager", (request) => scriptedManager(request, understandFor(request), wide)),
    search: named("scripted-search", scriptedSearchAgent),
    reader: named("scripted-reader", scriptedReader),
    code: named("scripted-code", scriptedCodeAgent),
    reflector: named("scripted-reflector", scriptedReflector),
    verifier: named("scripted-verifier", (request) => scriptedVerifier(request, understandFor(request))),
  };
}

/** Gives a function the name under which records list it, so that nobody takes it for a model. */
function named(name: string, specialist: Specialist): Specialist {
  return Object.defineProperty(specialist.bind(null), "name", { value: name });
}
