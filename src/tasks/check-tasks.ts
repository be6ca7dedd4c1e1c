/**
 * Whether a task is worth having: the team solves it with tools, and a model alone does not know the answer without them.
 * The paper drops a question when the share of right answers without tools is above 0.3.
 */
import type { Grader } from "../core/grader.ts";
import type { Task } from "../core/task.ts";
import type { TeamRun } from "../core/team-run.ts";
import { askText, type Writer } from "./writer.ts";

export interface CheckOptions {
  grade: Grader;
  /** Runs the team on the task; omit to skip this half. */
  solve?: (task: Task, attempt: number) => Promise<TeamRun>;
  /** Tries of the team; one right answer is enough. 1 by default. */
  attempts?: number;
  /** Answers without tools; omit to skip this half. */
  model?: Writer;
  /** Tries without tools; 4 by default (the paper: 32). */
  samples?: number;
  /** The largest share of right answers without tools; 0.3 by default. */
  maxShareWithoutTools?: number;
  signal?: AbortSignal;
}

export interface TaskCheck {
  task: Task;
  keep: boolean;
  /** Why not, or "good". */
  reason: string;
  /** Right answers without tools, of all tries (one that could not be graded is not right); null where not asked. */
  shareWithoutTools: number | null;
  /** The team solved it; null where not asked. */
  solved: boolean | null;
  runs: TeamRun[];
}

const blindInstructions =
  "Answer the question from memory. Reply with the answer alone: a name, a number or a short phrase. If you do not know, give your best guess.";

/** Checks one task. The cheaper half comes first: a question that needs no tools is not given to the team. */
export async function checkTask(task: Task, options: CheckOptions): Promise<TaskCheck> {
  const { attempts = 1, maxShareWithoutTools = 0.3 } = options;
  const check: TaskCheck = { task, keep: false, reason: "good", shareWithoutTools: null, solved: null, runs: [] };
  if (task.answers.length === 0) return { ...check, reason: "the task has no answer to check against" };
  if (options.model) {
    check.shareWithoutTools = await shareWithoutTools(task, options.model, options);
    if (check.shareWithoutTools > maxShareWithoutTools) {
      return {
        ...check,
        reason: `answered without tools in ${Math.round(check.shareWithoutTools * 100)} % of the tries`,
      };
    }
  }
  if (options.solve) {
    check.solved = false;
    for (let attempt = 0; attempt < attempts && !check.solved; attempt++) {
      const run = await options.solve(task, attempt);
      check.runs.push(run);
      const grade = await options.grade(task, run.answer, { signal: options.signal });
      check.solved = grade.correct === true;
    }
    if (!check.solved) return { ...check, reason: `the team did not solve it in ${attempts} attempt(s)` };
  }
  return { ...check, keep: true };
}

async function shareWithoutTools(task: Task, model: Writer, options: CheckOptions): Promise<number> {
  const { samples = 4, signal, grade } = options;
  let right = 0;
  for (let sample = 0; sample < samples; sample++) {
    const reply = await askText(model, {
      messages: [
        { role: "system", content: blindInstructions },
        { role: "user", content: task.question },
      ],
      temperature: 1,
      seed: sample,
      signal,
    });
    const { correct } = await grade(task, reply.trim(), { signal });
    if (correct) right++;
  }
  return right / samples;
}
