/** A team on lab tasks, world by world, with the lab's tools. */
import { UsageError } from "../../core/errors.ts";
import type { Task } from "../../core/task.ts";
import { createWorld } from "../../lab/create-world.ts";
import { memoryLabTools } from "../../lab/memory-lab-tools.ts";
import { realLabTools } from "../../lab/real-lab-tools.ts";
import { runTeams, type TeamsOptions } from "../../team/run-teams.ts";
import { chooseSandbox } from "../../tools/sandbox/choose-sandbox.ts";
import { disturbance } from "../open-tools.ts";

/** Whether a task is about a made-up world of the lab: the tools of that world are the only ones of use. */
export function isLabTask(task: Task): boolean {
  return task.world !== undefined;
}

/** Runs every task in the world that it is about; returns in words with which tools. */
export async function runInLab(
  tasks: readonly Task[],
  options: Omit<TeamsOptions, "tools">,
  fast: boolean,
  faults?: string,
): Promise<string> {
  const worlds = Map.groupBy(tasks, (task) => JSON.stringify(task.world));
  const other = tasks.find(({ world }) => world === undefined);
  if (other) {
    throw new UsageError(
      `the lab's tools are for lab tasks only, and ${other.id} is not one; make some with: coa lab tasks`,
    );
  }
  // One budget over all worlds.
  const left = {
    runs: options.totalBudget?.runs ?? Number.POSITIVE_INFINITY,
    tokens: options.totalBudget?.tokens ?? Number.POSITIVE_INFINITY,
  };
  const sandbox = fast ? null : chooseSandbox({ isolation: "run" });
  try {
    for (const ofWorld of worlds.values()) {
      const world = createWorld(ofWorld[0]!.world!);
      const lab = sandbox
        ? await realLabTools(world, sandbox)
        : { tools: memoryLabTools(world), close: async () => {} };
      try {
        const tools = (await disturbance(faults))(lab.tools);
        for await (const run of runTeams(ofWorld, { ...options, totalBudget: { ...left }, tools })) {
          left.runs--;
          left.tokens -= run.usage.billedTokens;
        }
      } finally {
        await lab.close();
      }
    }
  } finally {
    await sandbox?.close();
  }
  return fast ? "lab tools in memory" : "real index, HTTP on loopback, real sandbox";
}
