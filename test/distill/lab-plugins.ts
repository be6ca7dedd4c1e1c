/** Plugins as a module, as worker threads load them: an exact grader, a filter that can fail. */

import type { Grader } from "../../src/core/grader.ts";
import { defineFilter } from "../../src/distill/stages/stage.ts";

export const grade: Grader = (task, answer) => {
  const correct = task.answers.includes(answer?.trim() ?? "");
  return { correct, score: correct ? 1 : 0, reason: `${answer} against ${task.answers.join(", ")}` };
};

export const filters = [
  defineFilter({
    name: "no-sevens",
    judge(trajectory) {
      if (trajectory.answer === "777") throw new TypeError("seven hundred and seventy-seven");
      return trajectory.answer?.endsWith("77") ? "ends with 77" : null;
    },
  }),
];
