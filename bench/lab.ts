/** How fast the scripted team makes runs: in memory for bulk data, and with real HTTP and a warm sandbox. One process. */
import type { Figure } from "../scripts/bench.ts";
import type { Tool } from "../src/core/tool.ts";
import { createWorld } from "../src/lab/create-world.ts";
import { memoryLabTools } from "../src/lab/memory-lab-tools.ts";
import { realLabTools } from "../src/lab/real-lab-tools.ts";
import { scriptedSpecialists } from "../src/lab/scripted-specialists.ts";
import { worldTasks } from "../src/lab/world-tasks.ts";
import { runTeams } from "../src/team/run-teams.ts";
import { pyodideSandbox } from "../src/tools/sandbox/pyodide-launch.ts";

const pages = 600;
const count = 500;

async function runsPerSecond(tools: readonly Tool[], seed: number): Promise<number> {
  const world = createWorld({ seed: 1, pages, split: "test" });
  const tasks = worldTasks(world, { count, seed });
  const startedAt = performance.now();
  for await (const run of runTeams(tasks, { roles: scriptedSpecialists(), tools, concurrency: 8 })) {
    if (run.answer === null) throw new Error(`no answer for ${run.question}: ${run.ending.detail}`);
  }
  return count / ((performance.now() - startedAt) / 1000);
}

export default async function bench(): Promise<Figure[]> {
  const world = createWorld({ seed: 1, pages, split: "test" });
  const startedAt = performance.now();
  for (let seed = 0; seed < 20; seed++) memoryLabTools(createWorld({ seed, pages }));
  const worldMs = (performance.now() - startedAt) / 20;
  const sandbox = pyodideSandbox({ isolation: "run" });
  await sandbox.warmUp();
  const real = await realLabTools(world, sandbox);
  const memory = memoryLabTools(world);
  const rates = { memory: [] as number[], real: [] as number[] };
  try {
    // The first round warms both up and is not counted.
    for (let round = 0; round < 4; round++) {
      const rate = { memory: await runsPerSecond(memory, round), real: await runsPerSecond(real.tools, round) };
      if (round === 0) continue;
      rates.memory.push(rate.memory);
      rates.real.push(rate.real);
    }
  } finally {
    await real.close();
    await sandbox.close();
  }
  const median = (values: number[]) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;
  const inMemory = median(rates.memory);
  const overHttp = median(rates.real);
  return [
    { name: "team runs, tools in memory", value: inMemory, unit: "runs/s", target: ">= 100", met: inMemory >= 100 },
    { name: "team runs, HTTP and sandbox", value: overHttp, unit: "runs/s", target: ">= 30", met: overHttp >= 30 },
    { name: `world of ${pages} pages with its index`, value: worldMs, unit: "ms" },
  ];
}
