import type { Grader, Reward } from "../core/grader.ts";
import type { Profile } from "../core/profile.ts";
import { outcomeReward } from "../graders/reward.ts";
import type { Section } from "./settings/index.ts";

export function rewardOf(settings: Section<"reward">, grader: Grader, profile: Profile): Reward {
  const { formatFactor: rule, overlongTokens: tokens, overlong: how } = settings;
  const format = rule === undefined ? undefined : rule === "strict" ? { rule, profile } : { rule };
  return outcomeReward(grader, { format, overlong: tokens === undefined ? undefined : { tokens, how } });
}
