/** The scripted team as a corrector of lab chains: what it would have done in the student's place. */

import type { Task } from "../core/task.ts";
import type { Tool } from "../core/tool.ts";
import { distillRun } from "../distill/distill-run.ts";
import { taskGrader } from "../graders/grade-task.ts";
import { runTeam } from "../team/run-team.ts";
import type { Corrector } from "../train/corrections.ts";
import { teamCorrector } from "../train/team-corrector.ts";
import { labProfile } from "./profile.ts";
import { scriptedSpecialists } from "./scripted-specialists.ts";

/** A corrector played by the scripted specialists, with the tools of each task's world. */
export function labCorrector(tools: (task: Task) => readonly Tool[] | Promise<readonly Tool[]>): Corrector {
  const roles = scriptedSpecialists();
  return teamCorrector({
    name: "scripted team",
    profile: labProfile,
    grader: taskGrader(),
    tools,
    async play(task, given, { id, signal }) {
      const run = await runTeam(task, { roles, tools: given, id, signal });
      const { trajectory, failure } = distillRun(run, { profile: labProfile, systemPrompt: false });
      return { chain: trajectory ?? null, reason: failure?.message, usage: trajectory?.usage };
    },
  });
}
