/** The figures that evaluations compute, reports draw and the studio shows: plain data, the same in every place. */
import type { Rightness } from "../core/task.ts";

/** How an evaluation measured: which file of tasks, whose rules, which judge. Figures compare only where these agree. */
export interface Measure {
  benchmark?: string;
  file?: string;
  fileHash?: string;
  split?: string;
  /** The figure's name; it says so where programs were graded on their public tests alone. */
  metric?: string;
  scoring?: string;
  scorers: string[];
  /** How many answers are known to be right by what, where not all come from a file of tasks. */
  right?: Partial<Record<Rightness, number>>;
  judges: { name: string; promptHash: string; model: string }[];
}

/** A figure with the interval that it is believed to lie in. */
export interface Estimate {
  value: number;
  low: number;
  high: number;
}

/** The difference of two systems on the same tasks. */
export interface PairedComparison {
  tasks: number;
  /** Mean of the second minus mean of the first. */
  difference: Estimate;
  /** Two-sided: how often chance alone would make a difference this large. */
  pValue: number;
  method: "exact" | "simulated";
  /** Tasks where the first, or the second, did better. */
  firstBetter: number;
  secondBetter: number;
}

export interface Costs {
  billedTokens: number;
  computedTokens: number;
  toolCalls: number;
  wallMs: number;
  costUsd: number;
  /** Model turns that had to wait for each other, and the time along them; absent where records do not say. */
  rounds?: number;
  pathMs?: number;
  /** Times that the model broke the form of its language; absent where it has none. */
  formatErrors?: number;
}

/** The figures of one system on one set of tasks. */
export interface Summary {
  version: 1;
  tasks: number;
  success: Estimate;
  /** Mean of one run of one task, over the runs that were made. */
  perTask: Costs;
  /** Null where there was no success to divide by. */
  perSuccess: Costs | null;
  system: string;
  topology?: string;
  /** Which model, profile, tools and sampling it is, in a line. */
  what?: string;
  /** The last stage of the model's training: `sft`, `rl`. */
  learned?: string;
  /** What was made to fail while it was measured: "four in ten searches find nothing". Absent where tools work. */
  condition?: string;
  /** Its agents are programs: their time says nothing of a team of models. */
  scripted?: true;
  samples: number;
  /** How it was measured: file of tasks, scorers, judges. @internal */
  measure?: Measure;
  /** Root mean square of how sure answers were less how often right, where a judge read that; null elsewhere. */
  calibrationError?: number | null;
  score: number;
  /** pass@k without bias, for k = 1, 2, 4, … and the number of samples. */
  passAtK: Record<string, number>;
  /** Success of the answer that most samples of a task agree on; null with one sample. */
  majority: number | null;
  /** Mean costs of right runs alone; null where there were none. */
  whenRight: Costs | null;
  runs: number;
  successes: number;
  wrong: number;
  unanswered: number;
  crashed: number;
  /** Graders that could not decide: a judge that failed, code without a sandbox. */
  undecided: number;
  /** Planned and not run (stopped early). */
  missing: number;
  /** Calls that recordings answered instead of tools, and how many of them they lacked. */
  replayed?: { calls: number; missing: number };
  toolCalls: Record<string, number>;
  tokensByRole: Record<string, number>;
  byFamily: Record<string, Pick<Summary, "tasks" | "success" | "perTask" | "perSuccess">>;
  byLevel: Summary["byFamily"];
}
export type GroupFigures = Summary["byFamily"][string];

export interface ComparisonRow {
  system: string;
  topology: string;
  summary: Summary;
  /** The system that it is measured against; absent for that one itself. */
  against?: string;
  paired?: PairedComparison;
  /** Against the same kind of model before its last stage of training, under the same conditions. */
  since?: { system: string; stage: string; paired: PairedComparison };
  /** Share saved per success, with its interval; negative where it costs more. Null without successes. */
  saving?: {
    billedTokens: Estimate | null;
    computedTokens: Estimate | null;
    toolCalls: Estimate | null;
    costUsd: Estimate | null;
    rounds?: Estimate | null;
  };
}

export interface Comparison {
  /** The same comparison in the tokens of a tokenizer that belongs to no side. */
  recounted?: { name: string; rows: Pick<ComparisonRow, "system" | "summary" | "saving">[] };
  baseline: { system: string; topology: string };
  /** Tasks that every system was run on: only these are compared. */
  tasks: number;
  rows: ComparisonRow[];
  /** Tasks on which the systems did not all have the same result. */
  differing: {
    taskId: string;
    outcomes: Record<string, { success: number; answer: string | null; reason: string; runId?: string }>;
  }[];
}
