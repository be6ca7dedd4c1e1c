/** A distillation as the browser draws it: how many passed each filter, what each measured, and what another bound would change. */
import type { FilterDecision } from "../../core/chain-marks.ts";
import type { OutcomeRecord } from "../../distill/read-distillation.ts";
import type { DistillReport } from "../../report/distill-report.ts";
import type { SpreadStep } from "./spread.ts";

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

/** What the report of a distillation says, or what its journal says so far. */
export interface FunnelView
  extends Pick<DistillReport, "profile" | "records" | "kept" | "copies" | "stages" | "tokens" | "problems"> {
  folder: string;
  measured: MeasuredStage[];
  right?: DistillReport["right"];
  /** The distillation is not finished: counts are those so far. */
  unfinished: boolean;
}

/** One record that was dropped, with what the filters saw. */
export interface DroppedView extends Pick<OutcomeRecord, "id" | "family" | "detail"> {
  stage: string;
  reason: string;
  decisions: FilterDecision[];
  place: string;
}

export interface DroppedPage {
  rows: DroppedView[];
  total: number;
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
