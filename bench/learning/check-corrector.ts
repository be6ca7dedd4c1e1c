/**
 * The grade as a teacher of the check: it says what a chain's own check should have said about the answer. A student of a team
 * learns when the team's answers are wrong, which says little of its own mistakes; the grades of its own rollouts teach the
 * score where it is used. It is asked about right answers as well: a check that only ever hears "wrong" says so always.
 */

import { emptyUsage } from "../../src/core/usage.ts";
import type { Profile } from "../../src/language/profile.ts";
import type { Corrector } from "../../src/train/corrections.ts";

/** Corrects the score of the last check alone: the highest where the answer was right, the lowest that still allows an answer where it was wrong. */
export function checkCorrector(profile: Profile): Corrector {
  const check = profile.tags.find((tag) => tag.body.kind === "score");
  return {
    name: "grade",
    asks: "all",
    async correct(_, { segments, answer }, { correct } = {}) {
      const from = segments.findLastIndex(({ tag, by }) => by === "model" && tag === check?.name);
      if (check?.body.kind !== "score" || from === -1) return { correction: null, reason: "nothing was checked" };
      if (answer === null) return { correction: null, reason: "no answer was given" };
      if (correct == null) return { correction: null, reason: "the answer was not judged" };
      const { phrase, min, max } = check.body;
      const gate = profile.gates.find((one) => one.tag === check.name && one.when === "score-below");
      const score = correct ? max : gate?.when === "score-below" ? gate.min : min;
      const { text: said, raw } = segments[from]!;
      const text = `${/^\s*/.exec(said)![0]}${phrase}${score}`;
      const segment = {
        tag: check.name,
        text,
        by: "model" as const,
        ...(raw && { raw: raw.replace(said, () => text) }),
      };
      return { correction: { from, segments: [segment], usage: emptyUsage() } };
    },
  };
}
