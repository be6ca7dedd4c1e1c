/**
 * What a rollout earns. The outcome decides: a grader says right or wrong. A format factor may multiply it (the paper's
 * code reward, by the reference's rule or by our stricter one), and length may be penalised (DAPO's soft penalty) or
 * filtered. A grader that can't decide gives no verdict: it is asked again, and if it still can't the rollout leaves
 * its group.
 */
import type { Grader, Reward } from "../core/grader.ts";
import type { Profile } from "../core/profile.ts";
import { type Trajectory, trajectoryText } from "../core/trajectory.ts";
import { validateSegments } from "../language/validate.ts";

export interface RewardOptions {
  /**
   * Multiply by 0 where the chain is not in this form. `reference`: every code call is fenced as the reference wants it. `strict`: the
   * chain breaks no rule of its profile.
   */
  format?: { rule: "reference" } | { rule: "strict"; profile: Profile };
  /** Max tokens of a response, and what happens to a longer one. Default `punish`. */
  overlong?: {
    tokens: number;
    /** `punish`: from 7/8 of it on a penalty grows linearly to -1. `filter`: what was cut off at it leaves its group. */
    how?: "punish" | "filter" | "both";
  };
  /** Attempts of a grader that can't decide. */
  attempts?: number;
}

/** Right 1, wrong 0, with the factors of `options`. */
export function outcomeReward(grader: Grader, options: RewardOptions = {}): Reward {
  const { format, overlong, attempts = 3 } = options;
  return async (trajectory, task, signal) => {
    const how = overlong?.how ?? "punish";
    if (overlong && how !== "punish" && wasCut(trajectory, overlong.tokens))
      return { correct: null, score: 0, reason: "cut off at the length limit", reward: null, excluded: "too-long" };
    let verdict = await grader(task, trajectory.answer, { signal });
    for (let attempt = 1; verdict.correct === null && attempt < attempts; attempt++) {
      verdict = await grader(task, trajectory.answer, { signal });
    }
    if (verdict.correct === null) return { ...verdict, reward: null, excluded: "unjudged" };
    let reward = verdict.correct ? 1 : 0;
    const inForm =
      format?.rule === "strict"
        ? validateSegments(format.profile, trajectory.segments).length === 0
        : !format || inReferenceForm(trajectoryText(trajectory.segments));
    if (!inForm) reward = 0;
    if (overlong && how !== "filter") reward += overlongPenalty(trajectory.usage.completionTokens, overlong.tokens);
    return { ...verdict, reward };
  };
}

/** 0 up to 7/8 of the limit, then falling linearly to -1 at the limit and below it beyond. */
export function overlongPenalty(tokens: number, limit: number): number {
  const threshold = Math.floor((7 / 8) * limit);
  return tokens <= threshold ? 0 : -(tokens - threshold) / (limit - threshold);
}

/** Whether a chain ended because there was no room left, not because the model was done. */
function wasCut(trajectory: Trajectory, limit: number): boolean {
  if (trajectory.answer !== null && trajectory.ending.reason === "answered") return false;
  return trajectory.ending.reason === "limit" || trajectory.usage.completionTokens >= limit;
}

/**
 * The reference's format score for code: as many closing as opening tags of each kind, at least one call, and each call
 * one `py` block alone between the tags, after which one `sh` block with the input may follow.
 */
export function inReferenceForm(text: string): boolean {
  const tags = ["think", "plan", "code", "observation", "reflection", "answer"];
  const count = (part: string) => text.split(part).length - 1;
  if (tags.some((tag) => count(`<${tag}>`) !== count(`</${tag}>`))) return false;
  const calls = [...text.matchAll(/<code>([\s\S]*?)<\/code>/g)].map((match) => match[1]!);
  const form = /^\n?```py\n(?:(?!```py\n)[\s\S])*?```\n?(?:```sh\n(?:(?!```)[\s\S])*```\n?)?$/;
  return calls.length > 0 && calls.every((body) => form.test(body));
}
