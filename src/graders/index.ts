/** Graders and rewards. Every export is named here, one by one; what is not here is not public. */
export { type GradeTaskOptions, taskGrader } from "./grade-task.ts";
export { type JudgeOptions, judgeGrader } from "./judges/judge-grader.ts";
export { gradeMath } from "./math/grade-math.ts";
export { outcomeReward, type RewardOptions } from "./reward.ts";
