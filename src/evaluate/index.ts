/** Evaluation: systems, figures, comparison, reports. Every export is named here, one by one; what is not here is not public. */

export { comparisonTable } from "../report/comparison-table.ts";
export { bestOf } from "./best-of.ts";
export { type ChainSystemOptions, chainSystem } from "./chain-system.ts";
export { byMajority, type Choose } from "./choose.ts";
export { compareEvaluations } from "./compare-evaluations.ts";
export type { EvaluationRecord } from "./evaluation-record.ts";
export { byJudge } from "./judge-choice.ts";
export { readEvaluation, type StoredEvaluation } from "./read-evaluation.ts";
export { type Evaluation, type EvaluationOptions, runEvaluation } from "./run-evaluation.ts";
export { comparePaired, passAtK } from "./statistics.ts";
export { type TeamSystemOptions, teamSystem } from "./team-system.ts";
