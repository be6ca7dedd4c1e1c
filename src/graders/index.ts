/** Graders and rewards. Every export is named here, one by one; what is not here is not public. */
export { type CodeGradeOptions, gradeCode } from "./code/grade-code.ts";
export { gradeQa, type QaOptions } from "./grade-qa.ts";
export { type GradeTaskOptions, taskGrader } from "./grade-task.ts";
export { type JudgeOptions, judgeGrader } from "./judges/judge-grader.ts";
export { gradeMath } from "./math/grade-math.ts";
export { type FormatRule, outcomeReward, type RewardOptions } from "./reward.ts";
export type { Scoring } from "./scorers.ts";
