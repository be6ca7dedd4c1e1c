/** Lab runs for tests: a world, the real search and reading tools over it from memory, and the scripted team. */
import type { Task } from "../../src/core/task.ts";
import type { TeamRun } from "../../src/core/team-run.ts";
import type { Tool } from "../../src/core/tool.ts";
import { arithmeticTool } from "../../src/lab/arithmetic-tool.ts";
import { compactTools } from "../../src/lab/compact-tools.ts";
import { createWorld } from "../../src/lab/create-world.ts";
import { scriptedSpecialists } from "../../src/lab/scripted-specialists.ts";
import { memoryFetch, worldDocuments, worldIndexOptions } from "../../src/lab/world-pages.ts";
import { worldTasks } from "../../src/lab/world-tasks.ts";
import { runTeam } from "../../src/team/run-team.ts";
import { crawlPage } from "../../src/tools/crawl/crawl-page.ts";
import { buildIndex } from "../../src/tools/local-index/build-index.ts";
import { indexProvider } from "../../src/tools/search/index-provider.ts";
import { webSearch } from "../../src/tools/search/web-search.ts";

export interface LabRuns {
  tasks: Task[];
  runs: TeamRun[];
  tools: Tool[];
}

/** Runs the scripted team on tasks of a fresh world. */
export async function labRuns(options: {
  count: number;
  seed: number;
  topology?: "agents-as-tools" | "handoff";
  imperfect?: number;
}): Promise<LabRuns> {
  const world = createWorld({ seed: options.seed, pages: 300 });
  const index = buildIndex(worldDocuments(world), worldIndexOptions);
  const tools = compactTools([
    webSearch({ provider: indexProvider(index), count: 3 }),
    crawlPage({ fetchPage: memoryFetch(world) as never }),
    arithmeticTool(),
  ]);
  const tasks = worldTasks(world, { count: options.count });
  const roles = scriptedSpecialists({ imperfect: options.imperfect ?? 0, seed: options.seed });
  const runs: TeamRun[] = [];
  for (const task of tasks)
    runs.push(await runTeam(task, { roles, tools, topology: options.topology, id: `run-${task.id}` }));
  return { tasks, runs, tools };
}
