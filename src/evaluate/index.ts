/** Evaluation: systems, figures, comparison, reports. Every export is named here, one by one; what is not here is not public. */

export { comparisonHtml, type ReportOptions } from "../report/comparison-html.ts";
export { comparisonTable } from "../report/comparison-table.ts";
export { reportText } from "../report/distill-text.ts";
export { type BareSystemOptions, bareSystem } from "./bare-system.ts";
export { bestOf, chosenSuccess, majoritySuccess } from "./best-of.ts";
export { type ChainSystemOptions, chainSystem } from "./chain-system.ts";
export { byCheck, byMajority, type Candidate, type Choice, type Choose } from "./choose.ts";
export { compareEvaluations } from "./compare-evaluations.ts";
export { comparisonReport } from "./comparison-report.ts";
export type { EvaluationRecord } from "./evaluation-record.ts";
export { byJudge, type JudgeChoiceOptions } from "./judge-choice.ts";
export { readEvaluation, readRuns, type StoredEvaluation } from "./read-evaluation.ts";
export { recountTokens } from "./recount-tokens.ts";
export { type Evaluation, type EvaluationOptions, runEvaluation } from "./run-evaluation.ts";
export { bootstrap, comparePaired, passAtK } from "./statistics.ts";
export { type TeamSystemOptions, teamSystem } from "./team-system.ts";
