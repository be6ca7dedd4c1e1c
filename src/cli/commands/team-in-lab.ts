/** The lab's tools for a team: those of the world that each task is about. */
import { UsageError } from "../../core/errors.ts";
import type { Task } from "../../core/task.ts";
import type { Tool } from "../../core/tool.ts";
import { createWorld } from "../../lab/create-world.ts";
import { realLabTools } from "../../lab/real-lab-tools.ts";
import { labToolsByTask } from "../../lab/tools-by-task.ts";
import { chooseSandbox } from "../../tools/sandbox/choose-sandbox.ts";
import { disturbance } from "../open-tools.ts";
import type { Session } from "../session.ts";

/** Opens the tools of these tasks' worlds: in memory with `fast`, else a real index, HTTP on loopback and a sandbox. */
export async function openLabTools(
  tasks: readonly Task[],
  { fast, faults }: { fast: boolean; faults?: string },
  session: Session,
): Promise<(task: Task) => Tool[]> {
  const other = tasks.find(({ world }) => world === undefined);
  if (other)
    throw new UsageError(
      `the lab's tools are for lab tasks only, and ${other.id} is not one; make some with: coa lab tasks`,
    );
  const disturb = disturbance(faults);
  if (fast) return labToolsByTask(undefined, disturb).toolsOf;
  const sandbox = session.closeAtEnd(chooseSandbox({ isolation: "run" }));
  const byWorld = new Map<string, Tool[]>();
  for (const world of tasks.map((task) => task.world!)) {
    const key = JSON.stringify(world);
    if (byWorld.has(key)) continue;
    byWorld.set(key, disturb(session.closeAtEnd(await realLabTools(createWorld(world), sandbox)).tools));
  }
  return (task) => byWorld.get(JSON.stringify(task.world))!;
}
