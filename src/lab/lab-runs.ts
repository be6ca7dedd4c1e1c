/**
 * What the scripted team does in world after world: for each task its run, and the chain that distillation makes of it.
 * World `n` is a function of the seed and `n`, so any part of the stream can be made again. Tools work in memory: the same
 * index and page extraction as the real ones, without sockets.
 */
import type { Task } from "../core/task.ts";
import type { TeamRun } from "../core/team-run.ts";
import { runTeam } from "../team/run-team.ts";
import { createWorld, type World } from "./create-world.ts";
import { memoryLabTools } from "./memory-lab-tools.ts";
import { shortNameSeeds } from "./names.ts";
import { scriptedSpecialists } from "./scripted-specialists.ts";
import { type Family, worldTasks } from "./world-tasks.ts";

export interface LabRunOptions {
  seed: number;
  tasksPerWorld: number;
  pages: number;
  families?: readonly Family[];
  /** Share of runs in which the team makes a mistake. */
  imperfect?: number;
  /** The team sends several workers at the same time. */
  wide?: boolean;
  signal?: AbortSignal;
}

/**
 * The training world with this number. Only seeds with short names are used, as in tests; once they have all been used,
 * the same names make other worlds. Worlds of different run seeds differ.
 */
export function trainingWorld(options: Pick<LabRunOptions, "seed" | "pages">, number: number): World {
  const lap = Math.floor(number / shortNameSeeds);
  const seed = (options.seed * 97 + number) % shortNameSeeds;
  const { pages } = options;
  return createWorld({ seed, pages, split: "train", variant: options.seed * 10_000 + lap });
}

export async function* labRuns(options: LabRunOptions, number: number): AsyncGenerator<{ task: Task; run: TeamRun }> {
  const world = trainingWorld(options, number);
  const tools = memoryLabTools(world);
  const roles = scriptedSpecialists({ imperfect: options.imperfect ?? 0, seed: options.seed, wide: options.wide });
  for (const task of worldTasks(world, {
    count: options.tasksPerWorld,
    families: options.families,
    seed: options.seed,
  })) {
    options.signal?.throwIfAborted();
    yield { task, run: await runTeam(task, { roles, tools, signal: options.signal }) };
  }
}
