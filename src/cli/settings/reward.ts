import { choice, whole } from "../setting.ts";

/** What a finished chain earns, for training here and for the rollouts of other trainers. */
export const reward = {
  formatFactor: choice(["reference", "strict"], "Reward 0 where the form is wrong: the paper's rule for code calls, or any rule (default: the form does not count)"),
  overlongTokens: whole("Longest answer that is fully rewarded (default: any)", { min: 8 }),
  overlong: choice(["punish", "filter", "both"], "What becomes of longer ones: punished from 7/8 on, cut-off rollouts leave their group, or both", { default: "punish" }),
} as const; // biome-ignore format: one setting a line
