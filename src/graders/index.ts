/** Graders and rewards. Every export is named here, one by one; what is not here is not public. */
export { type CodeGradeOptions, gradeCode } from "./code/grade-code.ts";
export { gradeGaia } from "./grade-gaia.ts";
export { gradeQa } from "./grade-qa.ts";
export { type GradeTaskOptions, gradeTask, taskGrader } from "./grade-task.ts";
export { type JudgeOptions, judgeGrader } from "./judges/judge-grader.ts";
export { type JudgeName, type JudgePrompt, judgeNamed, judges, ownPrompt } from "./judges/judges.ts";
export { gradeMath } from "./math/grade-math.ts";
export { type FormatRule, outcomeReward, type RewardOptions } from "./reward.ts";
export { type Scorer, type Scoring, scorers } from "./scorers.ts";
