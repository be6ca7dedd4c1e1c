/** A team as a corrector of chains: what it would have done in the student's place. */

import type { Profile } from "../core/profile.ts";
import { distillRun } from "../distill/distill-run.ts";
import { taskGrader } from "../graders/grade-task.ts";
import { runTeam, type TeamOptions } from "../team/run-team.ts";
import type { Corrector } from "../train/corrections.ts";
import { type TeamCorrectorOptions, teamCorrector } from "../train/team-corrector.ts";
import { labProfile } from "./profile.ts";
import { scriptedSpecialists } from "./scripted-specialists.ts";

type Tools = TeamCorrectorOptions["tools"];

/** A corrector played by these roles; `bare`: chains without a system prompt. */
export function playedCorrector(roles: TeamOptions["roles"], profile: Profile, bare: boolean, tools: Tools): Corrector {
  return teamCorrector({
    name: "team",
    profile,
    grader: taskGrader(),
    tools,
    async play(task, given, { id, signal }) {
      const run = await runTeam(task, { roles, tools: given, id, signal });
      const { trajectory, failure } = distillRun(run, { profile, systemPrompt: bare ? false : undefined });
      return { chain: trajectory ?? null, reason: failure?.message, usage: trajectory?.usage };
    },
  });
}

/** A corrector played by the scripted specialists, with the tools of each task's world. */
export function labCorrector(tools: Tools): Corrector {
  return playedCorrector(scriptedSpecialists(), labProfile, true, tools);
}
