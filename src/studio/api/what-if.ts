/** What filters measured, and what another bound would change, from the recorded decisions alone. */
import type { FilterDecision } from "../../core/chain-marks.ts";
import type { OutcomeRecord } from "../../distill/read-distillation.ts";
import { type SpreadStep, spreadOf } from "./spread.ts";

/** A filter that compares a figure with a bound. */
export interface MeasuredStage {
  stage: string;
  measure: string;
  threshold: number;
  /** Which side passes: at least the bound, or at most. */
  side: "least" | "most";
  /** How many records have each value. */
  steps: SpreadStep[];
  /** What is typed before the bound in `coa distill run`: `--max-tokens `. */
  flag?: string;
}

/** What another bound of one filter would do. */
export interface WhatIfView {
  stage: string;
  threshold: number;
  /** Records that this filter dropped and would pass now. Later filters have not seen them. */
  more: number;
  /** Of those, how many would be kept if later filters drop as large a share as they did. */
  expected: number;
  /** Kept records that would be dropped: exact. */
  fewer: number;
  /** How to do it. */
  command: string;
}

/** Flags of `coa distill run` by what a filter measures; the bound follows. */
const flags: Record<string, string> = {
  interactions: "--set distill.minInteractions=",
  "drawn share": "--set distill.keepWithoutReflection=",
  tokens: "--max-tokens ",
  similarity: "--set distill.nearDuplicates=",
};

type Measured = FilterDecision & { value: number; threshold: number; measure: string };

function decisionOf(outcome: OutcomeRecord, stage: string): Measured | undefined {
  const found = outcome.decisions?.find((one) => one.stage === stage);
  return found?.value === undefined || found.threshold === undefined ? undefined : (found as Measured);
}

/** The filters that compare a figure with a bound, in the order they work. */
export function measuredStages(outcomes: readonly OutcomeRecord[]): MeasuredStage[] {
  const names = new Set(outcomes.flatMap((outcome) => (outcome.decisions ?? []).map(({ stage }) => stage)));
  return [...names].flatMap((stage) => {
    const decisions = outcomes.map((outcome) => decisionOf(outcome, stage)).filter((one) => one !== undefined);
    const first = decisions[0];
    if (!first) return [];
    const { measure, threshold } = first;
    return [{ stage, measure, threshold, side: sideOf(decisions), steps: spreadOf(decisions), flag: flags[measure] }];
  });
}

/** Which side passes is seen from what was dropped; where nothing was, from what was kept. */
function sideOf(decisions: readonly Measured[]): "least" | "most" {
  const dropped = decisions.find((one) => !one.kept && one.value !== one.threshold);
  if (dropped) return dropped.value < dropped.threshold ? "least" : "most";
  const kept = decisions.find((one) => one.kept && one.value !== one.threshold);
  return kept && kept.value < kept.threshold ? "most" : "least";
}

/** What another bound would do. */
export function whatIf(
  outcomes: readonly OutcomeRecord[],
  stage: string,
  threshold: number,
): Omit<WhatIfView, "command"> {
  const side = measuredStages(outcomes).find((one) => one.stage === stage)?.side ?? "least";
  const passes = (value: number) => (side === "least" ? value >= threshold : value <= threshold);
  let [more, fewer, entered, kept] = [0, 0, 0, 0];
  for (const outcome of outcomes) {
    const decision = decisionOf(outcome, stage);
    if (decision?.kept) {
      entered++;
      if (outcome.stage === null) kept++;
    }
    if (!decision) continue;
    if (outcome.stage === stage && !decision.kept && passes(decision.value)) more++;
    if (outcome.stage === null && !passes(decision.value)) fewer++;
  }
  // Of those that passed this filter, the share that passed all that follow.
  return { stage, threshold, more, fewer, expected: Math.round(more * (entered === 0 ? 1 : kept / entered)) };
}
