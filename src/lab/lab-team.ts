/**
 * The scripted team of the lab as a system, with long, shorter or short prompts. How much a chain saves depends on how
 * much the team says: `full` is told what a model would have to be told, `no-prompts` leaves the system prompts out,
 * and `terse` says no more than the chain does (no prompts, no descriptions; the tools' results are short for both), so
 * what is left to save is what the form of a team costs by itself.
 */

import type { CountTokens } from "../base/count/token-estimate.ts";
import type { System } from "../core/system.ts";
import type { Task } from "../core/task.ts";
import type { Tool } from "../core/tool.ts";
import { teamSystem } from "../evaluate/team-system.ts";
import { standardTeam } from "../team/agents.ts";
import { type SpecialistOptions, scriptedSpecialists } from "./scripted-specialists.ts";

export const teamWords = ["full", "no-prompts", "terse"] as const;
export type TeamWords = (typeof teamWords)[number];

export interface LabTeamOptions extends SpecialistOptions {
  name: string;
  tools: (task: Task) => readonly Tool[];
  topology?: "agents-as-tools" | "handoff";
  words?: TeamWords;
  countTokens?: CountTokens;
  identity?: Readonly<Record<string, unknown>>;
}

/** The scripted team as a system that can be evaluated. */
export function labTeam({ words = "full", tools, imperfect, seed, wide, ...how }: LabTeamOptions): System {
  const less = words === "terse";
  const system = teamSystem({
    ...how,
    roles: scriptedSpecialists({ imperfect, seed, wide }),
    tools: (task) =>
      tools(task).map((tool) => ({ ...tool, ...(less && { description: "", inputSchema: { type: "object" } }) })),
    team: (given) =>
      standardTeam(given).map((member) => ({
        ...member,
        ...(words !== "full" && { instructions: "" }),
        ...(less && { purpose: "" }),
      })),
  });
  return { ...system, identity: { ...system.identity, scripted: true } };
}
