/** Flags that say what a finished chain earns, for training here and for the rollouts of other trainers. */
import type { Grader, Reward } from "../../core/grader.ts";
import type { Profile } from "../../core/profile.ts";
import { outcomeReward } from "../../graders/reward.ts";
import { numberOf, type Options, type Values } from "../command.ts";
import { choiceOf } from "../flag-values.ts";

export const rewardFlags = {
  "format-factor": { type: "string", valueName: "rule", describe: "Reward 0 where the form is wrong: reference (the paper's rule for code calls) or strict (any rule)" },
  "overlong-tokens": { type: "string", valueName: "n", describe: "Longest answer that is fully rewarded" },
  overlong: { type: "string", default: "punish", valueName: "way", describe: "What becomes of longer ones: punish (from 7/8 on), filter (cut-off rollouts leave their group) or both" },
} as const satisfies Options; // biome-ignore format: one flag a line

/** The reward of those flags. */
export function rewardOf(values: Values<typeof rewardFlags>, grader: Grader, profile: Profile): Reward {
  const tokens = numberOf(values["overlong-tokens"], "overlong-tokens", { min: 8, integer: true });
  const how = choiceOf(values.overlong, "overlong", ["punish", "filter", "both"]);
  const given = values["format-factor"];
  const rule = given === undefined ? undefined : choiceOf(given, "format-factor", ["reference", "strict"]);
  const format = rule === undefined ? undefined : rule === "strict" ? { rule, profile } : { rule };
  return outcomeReward(grader, { format, overlong: tokens === undefined ? undefined : { tokens, how } });
}
