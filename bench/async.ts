/**
 * What groups in flight gain where tools take 1 to 5 seconds: the same reinforcement, with the same seed and as many steps, once with
 * steps that wait for their own rollouts (all of them at the same time, which is their best concurrency) and once with
 * `maxStaleness`, on the embedded engine and the real clock. Both models then answer the same 1,000 new tasks, with tools that answer
 * at once. About six minutes on an idle machine; the load is printed, for training competes with everything else that runs.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import type { Figure } from "../scripts/bench.ts";
import { sleep } from "../src/base/work/limiter.ts";
import { derivedSeed, seededRandom } from "../src/base/work/random.ts";
import type { Tool } from "../src/core/tool.ts";
import { averageModels } from "../src/engines/embedded/files/model-folder.ts";
import { comparePaired } from "../src/evaluate/statistics.ts";
import { taskGrader } from "../src/graders/grade-task.ts";
import { outcomeReward } from "../src/graders/reward.ts";
import { openLabModel, runLabChain } from "../src/lab/quickstart/open-model.ts";
import { engineModel } from "../src/models/engine-model.ts";
import type { RlOptions } from "../src/train/rl-options.ts";
import { trainRl } from "../src/train/train-rl.ts";
import { teachToy, toyChains, toyExam, toyTasks, toyTokenizer, toyTools } from "../test/fixtures/toy-student.ts";

const seed = 1;
const steps = 30;
const groups = 4;
const samples = 4;
const maxStaleness = 3;
const inFlight = 16;

const examTasks = 1000;

/** The tool, each call of which takes 1 to 5 seconds. */
function slow(tool: Tool): Tool {
  let calls = 0;
  return {
    ...tool,
    async execute(input, context) {
      const ms = 1000 + 4000 * seededRandom(derivedSeed(seed, tool.name, calls++)).next();
      await sleep(ms, context.signal);
      return tool.execute(input, context);
    },
  };
}

/** Trains from the start, and says how many rollouts it made in a minute and which of the new tasks its model answers. */
async function reinforce(start: string, folder: string, mode: NonNullable<RlOptions["collect"]>) {
  const lab = await openLabModel(start, { optimizer: "adamw" });
  try {
    const tools = toyTools().map(slow);
    const startedAt = performance.now();
    const result = await trainRl({
      engine: lab.engine,
      tokenizer: lab.tokenizer,
      folder,
      seed,
      steps,
      collect: { groups, samples, maxRounds: 2, ...mode },
      credit: { baseline: "least-variance" },
      keep: { models: 0.5, checkpointEvery: steps },
      tasks: (step, round, count) => toyTasks(count, 1000 + step * 10 + round),
      rollout: (task, run) =>
        runLabChain(task, {
          model: engineModel(run.policy, lab.tokenizer),
          tools,
          temperature: 1,
          seed: run.seed,
          signal: run.signal,
        }),
      reward: outcomeReward(taskGrader()),
      optimizer: { learningRate: 2e-4, beta1: 0.9, beta2: 0.95, gradientClip: 1 },
      schedule: { warmupSteps: 3, decay: "linear", decayShare: 1, floor: 0.2 },
      onProgress: ({ done, figures }) =>
        console.error(`${folder.split("/").at(-1)} ${done}/${steps} reward ${Number(figures?.["reward"]).toFixed(3)}`),
    });
    const minutes = (performance.now() - startedAt) / 60_000;
    const model = join(folder, "averaged");
    await averageModels(result.models, model);
    await lab.tokenizer.save(model);
    return { perMinute: result.rollouts / minutes, rollouts: result.rollouts, minutes, right: await examine(model) };
  } finally {
    await lab.engine.close();
  }
}

/** 1 for each of the new tasks that is answered right, greedily. */
async function examine(folder: string): Promise<number[]> {
  const lab = await openLabModel(folder);
  const right = await toyExam(lab.model, examTasks);
  await lab.engine.close();
  return right.map(Number);
}

export default async function bench(): Promise<Figure[]> {
  const folder = await mkdtemp(join(tmpdir(), "coa-async-"));
  const load = () => loadavg()[0]!;
  const loads = [load()];
  try {
    const chains = await toyChains(toyTasks(900, 0));
    const start = await teachToy(chains, toyTokenizer(chains), { folder: join(folder, "start"), seed, steps: 320 });
    const before = await examine(start);
    console.error(`start: ${before.reduce((sum, one) => sum + one, 0)} of ${before.length} right`);
    const waiting = await reinforce(start, join(folder, "waiting"), { concurrency: 2 * groups * samples });
    loads.push(load());
    const flying = await reinforce(start, join(folder, "in-flight"), { maxStaleness, inFlight });
    loads.push(load());
    const { difference } = comparePaired(waiting.right, flying.right);
    const percent = (right: number[]) => (100 * right.reduce((sum, one) => sum + one, 0)) / right.length;
    const ratio = flying.perMinute / waiting.perMinute;
    const low = 100 * difference.low;
    return [
      { name: "load of the machine, mean of three moments", value: loads.reduce((sum, one) => sum + one, 0) / 3, unit: "" },
      { name: `steps that wait: ${waiting.rollouts} rollouts`, value: waiting.perMinute, unit: "rollouts/min" },
      { name: `groups in flight: ${flying.rollouts} rollouts`, value: flying.perMinute, unit: "rollouts/min", peer: "steps that wait", ratio, target: ">= 2x", met: ratio >= 2 },
      { name: `success before, of ${before.length} new tasks`, value: percent(before), unit: "%" },
      { name: "success after steps that wait", value: percent(waiting.right), unit: "%" },
      { name: "success after groups in flight", value: percent(flying.right), unit: "%" },
      { name: "difference, points", value: 100 * difference.value, unit: "" },
      { name: "its lower bound (95 %)", value: low, unit: "", target: "> -2", met: low > -2 },
    ]; // biome-ignore format: one figure a line
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
