/**
 * What to do when a search finds nothing: learned by RL, against controls that cost as much processor time.
 *
 *   node bench/learning/failing-searches.ts rl   --seed 1 --out runs/rl-1      reinforcement among failing searches
 *   node bench/learning/failing-searches.ts trees --seed 1 --out runs/trees-1  the same with groups that branch at the first fault
 *   node bench/learning/failing-searches.ts kept --seed 1 --out runs/kept-1    the start's own right rollouts there, imitated
 *   node bench/learning/failing-searches.ts more --seed 1 --out runs/more-1    more team runs where searches work, imitated
 *   node bench/learning/failing-searches.ts team --seed 1 --out runs/team-1    the team's runs among failing searches, imitated
 *   node bench/learning/failing-searches.ts exam --model runs/rl-1/model --world 61 --out runs/rl-1.json
 *   node bench/learning/failing-searches.ts table start-1.json,start-2.json rl-1.json,rl-2.json
 *
 * An exam is 1,000 tasks among failing searches and 1,000 where they work, greedy; a table is paired by task and pooled over the
 * exams named together.
 */

import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import type { Example } from "../../src/core/engine.ts";
import type { Task } from "../../src/core/task.ts";
import type { Tool } from "../../src/core/tool.ts";
import type { Trajectory } from "../../src/core/trajectory.ts";
import { trajectoryToExample } from "../../src/dataset/trajectory-to-example.ts";
import { averageModels } from "../../src/engines/embedded/files/model-folder.ts";
import { taskGrader } from "../../src/graders/grade-task.ts";
import { outcomeReward } from "../../src/graders/reward.ts";
import { labModelUse } from "../../src/lab/lab-model-use.ts";
import { trainingWorld } from "../../src/lab/lab-runs.ts";
import { disturbances, memoryLabTools } from "../../src/lab/memory-lab-tools.ts";
import { labProfile } from "../../src/lab/profile.ts";
import { type LabModel, openLabModel, runLabChain } from "../../src/lab/quickstart/open-model.ts";
import { type Family, families, worldTasks } from "../../src/lab/world-tasks.ts";
import { engineModel } from "../../src/models/engine-model.ts";
import { withFaults } from "../../src/tools/with-faults.ts";
import { fromFirstFault, sharedPrefix } from "../../src/train/credit.ts";
import { fixedExamples } from "../../src/train/example-source.ts";
import { guard } from "../../src/train/extra-loss.ts";
import { saveTrained } from "../../src/train/save-trained.ts";
import { takeStep } from "../../src/train/take-step.ts";
import { trainRl } from "../../src/train/train-rl.ts";
import { bothExams, byFamily, gain, type Outcome, processorSeconds, share } from "./lab-exam.ts";
import { teamChain } from "./team-chain.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seed: { type: "string", default: "1" },
    /** The model after SFT that all begin with: `sft/model` of `coa quickstart --full`. The shipped one has met failing searches. */
    start: { type: "string", default: ".coa/quickstart-full/sft/model" },
    model: { type: "string", default: "" },
    out: { type: "string", default: ".coa/failing-searches" },
    world: { type: "string", default: "61" },
    count: { type: "string", default: "1000" },
    steps: { type: "string", default: "12" },
    rate: { type: "string", default: "3e-4" },
    /** Processor seconds of a control, its data included. */
    cpu: { type: "string", default: "260" },
  },
});
const [method = "", ...exams] = positionals;
const seed = Number(values.seed);
const practised: readonly Family[] = ["hop1", "hop1", "hop2", "mixed"];
const worlds = new Map<number, { clean: Tool[]; failing: Tool[] }>();

/** Practice worlds, a new one every three steps; supervised training saw none of them. */
const worldOf = (step: number) => 3000 + seed * 50 + Math.floor(step / 3);
const toolsOf = (task: Task) => {
  const number = Number(task.meta!["practice"]);
  let tools = worlds.get(number);
  if (!tools) {
    const clean = memoryLabTools(trainingWorld({ seed: 40 + seed, pages: 600 }, number));
    const plan = disturbances.empty(1000 + seed, 0.5);
    worlds.set(number, (tools = { clean, failing: withFaults(clean, plan) }));
  }
  return tools;
};
const tasksOf = (step: number, round: number, count: number, asked = practised): Task[] => {
  const practice = worldOf(step);
  const world = trainingWorld({ seed: 40 + seed, pages: 600 }, practice);
  const tasks = worldTasks(world, { count, families: asked, seed: 1 + step * 100 + round });
  return tasks.map((task) => ({ ...task, meta: { practice } }));
};
const reward = outcomeReward(taskGrader(), { format: { rule: "strict", profile: labProfile } });

if (method === "exam") await takeExam();
else if (method === "table") await printTable();
else if (method === "rl" || method === "trees") await reinforce();
else if (method === "kept" || method === "more" || method === "team") await imitate(method);
else throw new Error(`rl, trees, kept, more, team, exam or table, not "${method}"`);

async function reinforce(): Promise<void> {
  const lab = await openLabModel(values.start, { optimizer: "adamw", threads: 1 });
  const { models, rollouts } = await trainRl({
    engine: lab.engine,
    tokenizer: lab.tokenizer,
    folder: join(values.out, "run"),
    seed,
    steps: Number(values.steps),
    collect: { groups: 12, samples: 8, maxRounds: 2, concurrency: 96 },
    updates: { perPass: 3 },
    credit: { ...fromFirstFault(), ...(method === "trees" && sharedPrefix()), baseline: "least-variance" },
    extraLosses: [guard(fixedExamples(toExamples(lab, await teamChains(false, 300)), 2048, seed))],
    keep: { models: 0.5 },
    tasks: tasksOf,
    async rollout(task, run) {
      const model = engineModel(run.policy, lab.tokenizer);
      const tools = toolsOf(task).failing;
      return runLabChain(task, { model, tools, temperature: 1, seed: run.seed, from: run.from });
    },
    reward,
    optimizer: { learningRate: Number(values.rate), beta1: 0.9, beta2: 0.95, gradientClip: 1 },
    schedule: { warmupSteps: 2, decay: "linear", decayShare: 1, floor: 0.2 },
    onProgress: ({ done, figures }) => console.log(done, figures?.["reward"], Math.round(processorSeconds())),
  });
  // Chosen on development world 40: all of what was learned costs a point where searches work, two thirds of it none.
  await averageModels(models, join(values.out, "model"), { start: { folder: values.start, share: 1 / 3 } });
  await lab.tokenizer.save(join(values.out, "model"));
  await lab.engine.close();
  console.log(`${rollouts} rollouts, ${Math.round(processorSeconds())} processor seconds`);
}

/** Imitates chains until the processor time is spent; the rate falls with it. */
async function imitate(kind: "kept" | "more" | "team"): Promise<void> {
  const lab = await openLabModel(values.start, { optimizer: kind === "kept" ? "adamw" : "muon", threads: 1 });
  const chains = kind === "kept" ? await ownChains(lab) : await teamChains(kind === "team", 3000);
  const source = fixedExamples(toExamples(lab, chains), 3072, seed);
  const budget = Number(values.cpu);
  const startedAt = processorSeconds();
  const kept: string[] = [];
  for (let step = 0; processorSeconds() < budget; step++) {
    const done = (processorSeconds() - startedAt) / (budget - startedAt);
    const factor = Math.min(1, (step + 1) / 10) * (1 - 0.95 * done);
    const learningRate = Number(values.rate);
    const optimizer = {
      learningRate,
      matrixLearningRate: learningRate * 3.3,
      beta1: 0.9,
      beta2: 0.95,
      gradientClip: 1,
    };
    const batch = (await source.batch(step)) as Example[];
    const { loss } = await takeStep(lab.engine, batch, { loss: { name: "cross_entropy" }, optimizer, factor });
    if (step % 20 === 0) console.log(step, loss.toFixed(4), Math.round(processorSeconds()));
    if (done > 0.5 + 0.08 * kept.length && kept.length < 6) {
      kept.push(join(values.out, "models", String(kept.length)));
      await lab.engine.saveModel(kept.at(-1)!);
    }
  }
  await saveTrained({ model: join(values.out, "last") }, { ...lab, use: labModelUse([]) });
  await averageModels([...kept, join(values.out, "last")], join(values.out, "model"));
  await lab.engine.close();
}

function toExamples({ tokenizer }: LabModel, chains: readonly Trajectory[]): Example[] {
  return chains.flatMap((chain) => trajectoryToExample(chain, tokenizer, { maxTokens: 1024 }).example ?? []);
}

/** Right rollouts of the starting model, five of eight among failing searches. */
async function ownChains(lab: LabModel): Promise<Trajectory[]> {
  const chains: Trajectory[] = [];
  for (let step = 0; processorSeconds() < Number(values.cpu) * 0.45; step++) {
    const jobs = tasksOf(step, 0, 16).flatMap((task) => Array.from({ length: 8 }, (_, sample) => ({ task, sample })));
    await Promise.all(
      jobs.map(async ({ task, sample }) => {
        const tools = sample < 5 ? toolsOf(task).failing : toolsOf(task).clean;
        const chain = await runLabChain(task, { model: lab.model, tools, temperature: 1, seed: step * 8 + sample });
        if ((await reward(chain, task)).reward === 1) chains.push(chain);
      }),
    );
  }
  console.log(`${chains.length} right rollouts`);
  return chains;
}

/** Runs of the scripted team, five of eight among failing searches where asked. */
async function teamChains(failing: boolean, count: number): Promise<Trajectory[]> {
  const chains: Trajectory[] = [];
  // Worlds that are not trained in.
  for (let step = 60; chains.length < count; step += 3) {
    for (const [at, task] of tasksOf(step, 0, 40, failing ? practised : families).entries()) {
      const tools = failing && at % 8 < 5 ? toolsOf(task).failing : toolsOf(task).clean;
      const chain = await teamChain(task, tools);
      if (chain) chains.push(chain);
    }
  }
  return chains;
}

async function takeExam(): Promise<void> {
  const lab = await openLabModel(values.model || values.start, { threads: 1 });
  const results = await bothExams(lab.model, Number(values.world), Number(values.count));
  await lab.engine.close();
  await writeFile(values.out, JSON.stringify(results));
  console.log(`failing ${(100 * share(results.failing)).toFixed(1)} (${byFamily(results.failing)})`);
  console.log(`clean ${(100 * share(results.clean)).toFixed(1)} (${byFamily(results.clean)})`);
}

/** The first list of exams compared with each of the others. */
async function printTable(): Promise<void> {
  const read = async (path: string) =>
    JSON.parse(await readFile(path, "utf8")) as { failing: Outcome[]; clean: Outcome[] };
  const [start, ...trained] = exams.map((list) => list.split(","));
  const pool = async (files: readonly string[]) => {
    const taken = await Promise.all(files.map(read));
    return { failing: taken.flatMap(({ failing }) => failing), clean: taken.flatMap(({ clean }) => clean) };
  };
  const before = await pool(start ?? []);
  for (const files of trained) {
    const after = await pool(files);
    console.log(
      files.join(","),
      "\n  failing",
      gain(before.failing, after.failing),
      "\n  clean",
      gain(before.clean, after.clean),
    );
  }
}
