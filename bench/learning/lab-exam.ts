/** Exams in lab worlds, in memory: the same tasks with searches that work and with searches that fail, greedily. */
import { readFileSync } from "node:fs";
import { inParallel } from "../../src/base/work/limiter.ts";
import type { Trajectory } from "../../src/core/trajectory.ts";
import { comparePaired } from "../../src/evaluate/statistics.ts";
import { createWorld, type World } from "../../src/lab/create-world.ts";
import { disturbances, memoryLabTools } from "../../src/lab/memory-lab-tools.ts";
import { type LabModel, runLabChain } from "../../src/lab/quickstart/open-model.ts";
import { type Family, worldTasks } from "../../src/lab/world-tasks.ts";
import { type FaultPlan, withFaults } from "../../src/tools/with-faults.ts";

/** Families that search: what the disturbed exam asks. */
export const searching: readonly Family[] = ["hop1", "hop2", "mixed"];

export interface Outcome {
  id: string;
  family: string;
  right: boolean;
}

export interface ExamOptions {
  count: number;
  families?: readonly Family[];
  plan?: FaultPlan;
  temperature?: number;
}

/** Answers of a model to tasks of a world, one attempt each. */
export async function exam(
  model: LabModel["model"],
  world: World,
  options: ExamOptions,
): Promise<{ outcomes: Outcome[]; chains: Trajectory[] }> {
  const tasks = worldTasks(world, { count: options.count, families: options.families, seed: 5 });
  const bare = memoryLabTools(world);
  const tools = options.plan ? withFaults(bare, options.plan) : bare;
  const chains = await inParallel(tasks, 64, (task, seed) =>
    runLabChain(task, { model, tools, temperature: options.temperature ?? 0, seed }),
  );
  const outcomes = tasks.map(({ id, family, answers }, at) => ({
    id,
    family: family ?? "",
    right: chains[at]!.answer?.trim() === answers[0],
  }));
  return { outcomes, chains };
}

/** Both exams of a test world: `count` tasks with failing searches, and as many of all families with searches that work. */
export async function bothExams(model: LabModel["model"], seed: number, count: number) {
  const world = createWorld({ seed, pages: 600, split: "test" });
  const plan = disturbances.empty(seed);
  const failing = await exam(model, world, { count, families: searching, plan });
  const clean = await exam(model, world, { count });
  return { failing: failing.outcomes, clean: clean.outcomes };
}

export const share = (outcomes: readonly Outcome[]) => outcomes.filter(({ right }) => right).length / outcomes.length;

/** Success by family, in percent. */
export function byFamily(outcomes: readonly Outcome[]): string {
  const families = Map.groupBy(outcomes, ({ family }) => family);
  return [...families].map(([family, some]) => `${family} ${(100 * share(some)).toFixed(1)}`).join(", ");
}

/** `58.2 -> 72.2 % (71 gained, 8 lost, p = 1e-13)`, over the tasks that both answered. */
export function gain(before: readonly Outcome[], after: readonly Outcome[]): string {
  const known = new Map(before.map((one) => [one.id, one.right]));
  const pairs = after.filter(({ id }) => known.has(id));
  const [first, second] = [pairs.map(({ id }) => Number(known.get(id))), pairs.map(({ right }) => Number(right))];
  const { pValue, firstBetter, secondBetter } = comparePaired(first, second);
  const percent = (values: number[]) =>
    ((100 * values.reduce((sum, value) => sum + value, 0)) / values.length).toFixed(1);
  return `${percent(first)} -> ${percent(second)} % (${secondBetter} gained, ${firstBetter} lost, p = ${pValue.toPrecision(2)}, n = ${pairs.length})`;
}

/** Processor seconds of this process so far, all threads, and of the processes it started (sandboxes), where the system tells. */
export function processorSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6 + childSeconds(process.pid);
}

function childSeconds(pid: number): number {
  let sum = 0;
  for (const child of readIfThere(`/proc/${pid}/task/${pid}/children`).split(" ").filter(Boolean)) {
    // After the name in brackets: user, system, and both of children that have ended, in hundredths of a second.
    const times = readIfThere(`/proc/${child}/stat`).split(") ")[1]?.split(" ").slice(11, 15) ?? [];
    sum += times.reduce((total, ticks) => total + Number(ticks) / 100, 0) + childSeconds(Number(child));
  }
  return sum;
}

function readIfThere(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}
