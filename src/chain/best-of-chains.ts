/**
 * Test-time scaling: several chains for one task, and one of them chosen. A judge model sees all candidates side by side
 * (list-wise) and picks; without a judge, or where the judge says nothing usable, the answer given most often wins.
 */
import { messageOf } from "../core/errors.ts";
import type { ChatModel } from "../core/model.ts";
import type { Task } from "../core/task.ts";
import type { Trajectory } from "../core/trajectory.ts";
import { addUsage, emptyUsage, type Usage, usageOfCall } from "../core/usage.ts";
import { parseRelaxedJson } from "../language/relaxed-json.ts";
import { type ChainsOptions, runChains } from "./run-chains.ts";

export interface Choice {
  /** Index of the chosen trajectory; null where none has an answer. */
  index: number | null;
  reason: string;
  usage: Usage;
}

/** Chooses among finished chains of one task. */
export type Chooser = (
  task: Task,
  candidates: readonly Trajectory[],
  options: { signal?: AbortSignal },
) => Promise<Choice> | Choice;

export interface BestOfChainsOptions extends Omit<ChainsOptions, "samples"> {
  /** Chains to run. */
  n: number;
  /** By default the majority. */
  choose?: Chooser;
}

export interface BestOfChains {
  chosen: Trajectory | null;
  trajectories: Trajectory[];
  reason: string;
  /** Of all chains and the judge together: choosing the best of three costs three chains. */
  usage: Usage;
}

/** Runs `n` chains for a task and chooses one. They differ by seed, so give `sampling.seed` or a temperature above 0. */
export async function bestOfChains(task: Task, options: BestOfChainsOptions): Promise<BestOfChains> {
  const trajectories = await Array.fromAsync(
    runChains([task], { ...options, samples: options.n, concurrency: options.concurrency ?? options.n }),
  );
  trajectories.sort((a, b) => (a.id < b.id ? -1 : 1));
  const choice = await (options.choose ?? majority)(task, trajectories, { signal: options.signal });
  const usage = trajectories.reduce((sum, trajectory) => addUsage(sum, trajectory.usage), choice.usage);
  return {
    chosen: choice.index === null ? null : trajectories[choice.index]!,
    trajectories,
    reason: choice.reason,
    usage,
  };
}

/** The answer given most often; of equals, the one whose chain broke fewer rules, then the first. */
export const majority: Chooser = (_task, candidates) => {
  const groups = new Map<string, number[]>();
  candidates.forEach((candidate, index) => {
    if (candidate.answer === null) return;
    const key = comparable(candidate.answer);
    groups.set(key, [...(groups.get(key) ?? []), index]);
  });
  const faults = (group: number[]) => Math.min(...group.map((index) => candidates[index]!.violations.length));
  const [best] = [...groups.values()].toSorted((a, b) => b.length - a.length || faults(a) - faults(b) || a[0]! - b[0]!);
  if (!best) return { index: null, reason: "no chain has an answer", usage: emptyUsage() };
  const index = best.toSorted(
    (a, b) => candidates[a]!.violations.length - candidates[b]!.violations.length || a - b,
  )[0]!;
  return { index, reason: `${best.length} of ${candidates.length} chains gave this answer`, usage: emptyUsage() };
};

/** Answers that differ only in case, punctuation, articles or spaces count as the same. */
function comparable(answer: string): string {
  return answer
    .toLowerCase()
    .replaceAll(/\b(?:a|an|the)\b/g, " ")
    .replaceAll(/[^\p{L}\p{N}]+/gu, " ")
    .trim();
}

/** A judge model that sees all candidates at once and picks one. */
export function listWiseJudge(judge: ChatModel, options: { maxEvidenceCharacters?: number } = {}): Chooser {
  return async (task, candidates, { signal }) => {
    const answered = candidates.flatMap((candidate, index) => (candidate.answer === null ? [] : [index]));
    if (answered.length < 2) return majority(task, candidates, { signal });
    const shown = answered.map((index, place) =>
      describe(candidates[index]!, place + 1, options.maxEvidenceCharacters ?? 2000),
    );
    const messages = [
      {
        role: "system" as const,
        content:
          "You compare candidate answers to one question. Trust evidence over confidence: an answer that its sources support beats one that is only asserted. Reply with JSON only.",
      },
      {
        role: "user" as const,
        content: `Question: ${task.question}\n\n${shown.join("\n\n")}\n\nWhich candidate is most likely right? Reply: {"reason": "one sentence", "best": number}`,
      },
    ];
    let problem: string;
    let usage = emptyUsage();
    try {
      const reply = await judge.chat({ messages, temperature: 0, json: true, maxTokens: 400, signal });
      usage = usageOfCall(reply.usage);
      const verdict = parseRelaxedJson(/\{[\s\S]*\}/.exec(reply.text)?.[0] ?? "") as {
        best?: unknown;
        reason?: unknown;
      };
      const index = answered[Number(verdict.best) - 1];
      if (index !== undefined) return { index, reason: String(verdict.reason ?? "the judge's choice"), usage };
      problem = `the judge named candidate ${String(verdict.best)} of ${answered.length}`;
    } catch (error) {
      if (signal?.aborted) throw error;
      problem = `the judge failed: ${messageOf(error)}`;
    }
    const fallback = await majority(task, candidates, { signal });
    return { ...fallback, reason: `${problem}; ${fallback.reason}`, usage };
  };
}

/** A candidate as the judge sees it: what it found, newest last, and its answer. */
function describe(trajectory: Trajectory, place: number, maxCharacters: number): string {
  const evidence = trajectory.segments
    .filter((segment) => segment.by === "tool")
    .map((segment) => `- ${segment.call?.tool ?? "tool"}: ${segment.text.replaceAll(/\s+/g, " ").slice(0, 400)}`)
    .join("\n")
    .slice(-maxCharacters);
  return `Candidate ${place}\nEvidence it gathered:\n${evidence || "(none)"}\nAnswer: ${trajectory.answer}`;
}
