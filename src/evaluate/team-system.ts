/** A team as a system under evaluation, to be compared with a chain on the same tasks (`chainSystem`). */
import type { System } from "../core/system.ts";
import type { Task } from "../core/task.ts";
import type { Tool } from "../core/tool.ts";
import type { TeamMember } from "../team/agents.ts";
import { defaultTopology, runTeam, type TeamOptions } from "../team/run-team.ts";
import { defineSystem } from "./define-system.ts";

export interface TeamSystemOptions extends Omit<TeamOptions, "id" | "seed" | "signal" | "tools" | "team"> {
  /** Default `team-` and the topology. */
  name?: string;
  /** What it is in full, as plain data; by default what the options below say. */
  identity?: System["identity"];
  /** The tools, or a function that gives those of a task. */
  tools: readonly Tool[] | ((task: Task) => readonly Tool[]);
  /** The members, or a function that makes them of a task's tools; the standard team by default. */
  team?: readonly TeamMember[] | ((tools: readonly Tool[]) => readonly TeamMember[]);
}

/** Evaluates a team; each run gets the seed of its task and sample, and an id that says both. */
export function teamSystem(options: TeamSystemOptions): System {
  const { name, identity, tools: given, team, ...rest } = options;
  const { topology = defaultTopology({ roles: options.roles }) } = options;
  return defineSystem({
    name: name ?? `team-${topology}`,
    topology,
    identity: identity ?? identityOf(options, topology),
    async run(task, { sample, seed, signal }) {
      const tools = typeof given === "function" ? given(task) : given;
      const members = typeof team === "function" ? team(tools) : team;
      return runTeam(task, { ...rest, topology, tools, team: members, seed, signal, id: `${task.id}#${sample}` });
    },
  });
}

function identityOf({ roles, tools, verify, limits, temperature }: TeamSystemOptions, topology: string) {
  const models = Object.fromEntries(Object.entries(roles).map(([role, { name }]) => [role, name]));
  const names = typeof tools === "function" ? "of each task" : tools.map((tool) => tool.name);
  return { kind: "team", topology, models, tools: names, verify, limits, temperature };
}
