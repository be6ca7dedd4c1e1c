/**
 * Tools that a model never saw: the lab's tools under other names, and a tool that no task needs. First what the model does as it is, then
 * after training in which the names vary from task to task and stand in front of the question; names of the exam are never taught.
 *
 *   node bench/learning/unseen-tools.ts before [--count 60]
 *   node bench/learning/unseen-tools.ts after --seed 1 [--steps 150] [--count 60] [--out seed-1.json]
 *   node bench/learning/unseen-tools.ts table seed-1.json,seed-2.json,seed-3.json
 */
import { readFile, writeFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { inParallel } from "../../src/base/work/limiter.ts";
import { seededRandom } from "../../src/base/work/random.ts";
import { runChain } from "../../src/chain/run-chain.ts";
import type { Model } from "../../src/core/model.ts";
import type { Trajectory } from "../../src/core/trajectory.ts";
import { distillRun } from "../../src/distill/distill-run.ts";
import { mean } from "../../src/evaluate/statistics.ts";
import { successOfAll } from "../../src/evaluate/summarise.ts";
import { createWorld } from "../../src/lab/create-world.ts";
import { labLimits } from "../../src/lab/lab-model-use.ts";
import { labRuns } from "../../src/lab/lab-runs.ts";
import { memoryLabTools } from "../../src/lab/memory-lab-tools.ts";
import { labProfile } from "../../src/lab/profile.ts";
import { shippedModel } from "../../src/lab/quickstart/open-model.ts";
import {
  announceTools,
  needlessTool,
  renameTags,
  renameTools,
  type ToolNames,
  variedNames,
} from "../../src/lab/tool-names.ts";
import { type Family, worldTasks } from "../../src/lab/world-tasks.ts";
import { withTools } from "../../src/language/with-tools.ts";
import { percentWithInterval } from "../../src/report/format-figures.ts";
import { processorSeconds } from "./lab-exam.ts";
import { teach } from "./student.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seed: { type: "string", default: "1" },
    start: { type: "string", default: shippedModel },
    steps: { type: "string", default: "150" },
    chains: { type: "string", default: "1000" },
    rate: { type: "string", default: "2e-3" },
    count: { type: "string", default: "60" },
    out: { type: "string", default: "" },
  },
});
const seed = Number(values.seed);
const families: readonly Family[] = ["hop1", "arith"];
const world = createWorld({ seed: 100 + seed, pages: 600, split: "test" });
const tasks = worldTasks(world, { count: Number(values.count), families, seed: 5 });

/** Which tasks were right, by exam. */
type Results = Record<string, number[]>;

if (positionals[0] === "table") await printTable(positionals[1]!.split(","));
else await teachAndExamine(positionals[0] === "after");

async function teachAndExamine(after: boolean): Promise<void> {
  const steps = after ? Number(values.steps) : 0;
  const chains = await variedChains(after ? Number(values.chains) : 1);
  const lab = await teach(chains, { start: values.start, steps, seed, rate: Number(values.rate) });
  const results = await examine(lab.model);
  await lab.engine.close();
  if (values.out !== "") await writeFile(values.out, JSON.stringify(results));
}

async function printTable(files: readonly string[]): Promise<void> {
  const read = await Promise.all(files.map(async (file) => JSON.parse(await readFile(file, "utf8")) as Results));
  for (const title of Object.keys(read[0]!)) {
    const all = read.flatMap((results) => results[title]!);
    console.log(`${title}: ${percentWithInterval(successOfAll(all))} of ${all.length}`);
  }
}

/**
 * The team's runs, each under names of its own: the recorded calls are renamed, nothing else. A quarter keep the usual names and
 * announce nothing, so that they are not forgotten.
 */
async function variedChains(count: number): Promise<Trajectory[]> {
  const chains: Trajectory[] = [];
  for (let number = 0; chains.length < count; number++) {
    for await (const { task, run } of labRuns({ seed: 50 + seed, tasksPerWorld: 40, pages: 600, families }, number)) {
      const asUsual = seededRandom("as usual", seed, task.id).next() < 0.25;
      const names = asUsual ? {} : variedNames(`${seed}-${task.id}`, "train");
      const rename = (name: string) => names[name] ?? name;
      const steps = run.steps.map((step) => ({
        ...step,
        toolCalls: step.toolCalls.map((call) => ({ ...call, name: rename(call.name) })),
      }));
      const { question } = asUsual ? task : announceTools(task, Object.values(names));
      const profile = renameTags(labProfile, names);
      const { trajectory } = distillRun({ ...run, steps, question }, { profile, systemPrompt: false });
      if (trajectory && run.answer === task.answers[0]) chains.push(trajectory);
    }
  }
  return chains.slice(0, count);
}

async function examine(model: Model): Promise<Results> {
  const usual = Object.fromEntries(["web_search", "crawl_page", "code"].map((name) => [name, name]));
  const results: Results = {};
  const take = async (title: string, names: ToolNames | null, needless = false) => {
    results[title] = await exam(model, title, names, needless);
  };
  await take("usual names, not announced", null);
  await take("usual names and a needless tool", null, true);
  await take("usual names, announced", usual);
  await take("names of the training, announced", variedNames(seed, "train"));
  await take("unseen names, announced", variedNames(seed, "test"));
  await take("unseen names and a needless tool, announced", variedNames(seed, "test"), true);
  return results;
}

async function exam(model: Model, title: string, names: ToolNames | null, needless: boolean): Promise<number[]> {
  const bare = memoryLabTools(world);
  const renamed = names && names["web_search"] !== "web_search";
  const tools = [...(renamed ? renameTools(bare, names) : bare), ...(needless ? [needlessTool()] : [])];
  const base = renamed ? renameTags(labProfile, names) : labProfile;
  const profile = needless
    ? withTools(
        base,
        tools.map(({ name, description }) => ({ name, description, inputSchema: {} })),
      )
    : base;
  const announced = [...Object.values(names ?? {}), ...(needless ? [needlessTool().name] : [])];
  const chains = await inParallel(tasks, 32, (task, at) =>
    runChain(names ? announceTools(task, announced) : task, {
      ...{ model, tools, profile, systemPrompt: false as const, enforcement: "repair" as const, limits: labLimits },
      sampling: { temperature: 0, seed: at },
      id: `${title}-${at}`,
    }),
  );
  const right = chains.map((chain, at) => Number(chain.answer?.trim() === tasks[at]!.answers[0]));
  const called = chains.filter((chain) => chain.segments.some(({ call }) => call?.ok)).length;
  console.log(
    `${title}: ${(100 * mean(right)).toFixed(1)} % of ${right.length} right, ${called} made a call that worked (${Math.round(processorSeconds())} s)`,
  );
  return right;
}
