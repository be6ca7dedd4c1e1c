/** What every distillation from the command line uses: the runtime's neutraliser and the graders that need no model. */
import { defaultLimits } from "../../chain/limits.ts";
import type { Grader } from "../../core/grader.ts";
import { estimateTokens } from "../../core/token-estimate.ts";
import { taskGrader } from "../../graders/grade-task.ts";
import { neutraliser } from "../../language/neutralise.ts";
import { capText } from "../../language/observation.ts";
import { type Profile, tagNames } from "../../language/profile.ts";

/** Tool outputs as the chain runtime shows them by default. */
export function neutralise(profile: Profile): (text: string) => string {
  const clean = neutraliser(tagNames(profile));
  return (text) => capText(clean(text), defaultLimits.maxObservationTokens, estimateTokens).text;
}

/** Exact rules by the kind of task. */
export const grade: Grader = taskGrader();
