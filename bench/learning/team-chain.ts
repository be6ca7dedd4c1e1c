/** What the scripted team shows: its run on a task as a chain to imitate, if its answer is right. */
import type { Task } from "../../src/core/task.ts";
import type { Tool } from "../../src/core/tool.ts";
import type { Trajectory } from "../../src/core/trajectory.ts";
import { distillRun } from "../../src/distill/distill-run.ts";
import { labProfile } from "../../src/lab/profile.ts";
import { scriptedSpecialists } from "../../src/lab/scripted-specialists.ts";
import { runTeam } from "../../src/team/run-team.ts";

const roles = scriptedSpecialists();

export async function teamChain(task: Task, tools: readonly Tool[]): Promise<Trajectory | undefined> {
  const run = await runTeam(task, { roles, tools, id: `${task.id}-team` });
  return run.answer === task.answers[0]
    ? distillRun(run, { profile: labProfile, systemPrompt: false }).trajectory
    : undefined;
}
