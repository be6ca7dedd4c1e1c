/** What evaluations grade with, put together from flags: a judge model, and a sandbox where there is code to run. */
import type { Grader } from "../../core/grader.ts";
import type { Sandbox } from "../../core/sandbox.ts";
import type { Task } from "../../core/task.ts";
import { taskGrader } from "../../graders/grade-task.ts";
import { judgeGrader } from "../../graders/judge-grader.ts";
import { openaiCompatible } from "../../models/openai-compatible.ts";
import { bubblewrapProblem } from "../../tools/sandbox/bubblewrap.ts";
import { chooseSandbox } from "../../tools/sandbox/choose-sandbox.ts";
import type { Options } from "../command.ts";

/** Flags of graders. */
export const gradingFlags = {
  "judge-model": { type: "string", valueName: "name", describe: "Model that judges answers to open questions" },
  "judge-url": { type: "string", valueName: "url", describe: "Its OpenAI-compatible server (default OPENAI_BASE_URL)" },
} as const satisfies Options;

/** A sandbox in which one program can't touch the next: a process of its own each, where the machine can do that. */
export function gradingSandbox(): Sandbox {
  const free = !process.env["COA_SANDBOX"] && !process.env["COA_SANDBOX_URL"] && !process.env["COA_NSJAIL"];
  return chooseSandbox(free && bubblewrapProblem() === undefined ? { kind: "bubblewrap", warm: 2 } : {});
}

export interface OpenGrader {
  grader: Grader;
  /** What can't be graded with these flags, in a sentence; undefined when everything can. */
  note?: string;
  close(): Promise<void>;
}

/** The grader for these tasks. */
export function openGrader(
  values: { "judge-model"?: string; "judge-url"?: string },
  tasks: readonly Task[],
): OpenGrader {
  const judged = tasks.filter((task) => task.kind === "judge").length;
  const wantsJudge = values["judge-model"] !== undefined || values["judge-url"] !== undefined;
  const model =
    judged > 0 && wantsJudge
      ? openaiCompatible({ baseURL: values["judge-url"], model: values["judge-model"] })
      : undefined;
  const sandbox = tasks.some((task) => task.kind === "code") ? gradingSandbox() : undefined;
  const note =
    judged > 0 && !model
      ? `${judged} tasks need a judge (--judge-model); without one only word-for-word matches count as right`
      : undefined;
  return {
    grader: taskGrader({ judge: model && judgeGrader(model), sandbox }),
    note,
    async close() {
      await sandbox?.close();
      await model?.close();
    },
  };
}
