/** The lab's tools for a task: a task of the lab names its world, and the tools are made once for each world. */
import { UsageError } from "../core/errors.ts";
import type { Task } from "../core/task.ts";
import type { Tool } from "../core/tool.ts";
import { createWorld, type World } from "./create-world.ts";
import { memoryLabTools } from "./memory-lab-tools.ts";

/** How many worlds stay in memory: tasks of one world usually come together. */
const keptWorlds = 8;

/**
 * Tools in memory of the task's own world; `home` is the world of tasks that name none; `wrap` may make them fail or
 * limit them.
 */
export function labToolsByTask(home?: World, wrap: (tools: Tool[]) => Tool[] = (tools) => tools) {
  const known = new Map<string, Tool[]>();
  return ({ world: origin, id }: Task): Tool[] => {
    if (origin === undefined && home === undefined)
      throw new UsageError(
        `this model was taught with the tools of the lab's made-up worlds, and the task ${id} is not from one: name a world with --lab <seed>, or take a real model (--model <folder or name>, --base-url <url> or OPENAI_BASE_URL)`,
      );
    const key = JSON.stringify(origin ?? null);
    const tools = known.get(key) ?? wrap(memoryLabTools(origin === undefined ? home! : createWorld(origin)));
    known.delete(key);
    known.set(key, tools);
    if (known.size > keptWorlds) known.delete(known.keys().next().value!);
    return tools;
  };
}
