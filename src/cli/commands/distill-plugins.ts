/** What every distillation from the command line uses: the runtime's neutraliser and the graders that need no model. */
import { neutraliser } from "../../chain/neutralise.ts";
import type { Grader } from "../../core/grader.ts";
import { type Profile, tagNames } from "../../core/profile.ts";
import { taskGrader } from "../../evaluate/graders/grade-task.ts";

/** Tool outputs as the chain runtime shows them. */
export const neutralise = (profile: Profile): ((text: string) => string) => neutraliser(tagNames(profile));

/** Exact rules by the kind of task. */
export const grade: Grader = taskGrader();
