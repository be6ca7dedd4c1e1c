/** What every distillation from the command line uses: the graders that need no model. */
import type { Grader } from "../../core/grader.ts";
import { taskGrader } from "../../graders/grade-task.ts";

/** Exact rules by the kind of task. */
export const grade: Grader = taskGrader();
