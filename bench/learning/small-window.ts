/**
 * A window that is too small for the chain: old observations are cut, or summarised, or the model practises in such a window. The
 * shipped model on walks of three facts (it was never taught longer ones), greedily, and RL whose rollouts all are shortened on the way.
 *
 *   node bench/learning/small-window.ts [--window 330] [--family hop3] [--count 200] [--steps 8] [--rate 2e-4]
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { readAllJsonl } from "../../src/base/files/read-jsonl.ts";
import type { CompactionOptions } from "../../src/chain/compaction.ts";
import { runChain } from "../../src/chain/run-chain.ts";
import { inParallel } from "../../src/core/limiter.ts";
import type { Model } from "../../src/core/model.ts";
import type { Task } from "../../src/core/task.ts";
import type { Tool } from "../../src/core/tool.ts";
import { taskGrader } from "../../src/graders/grade-task.ts";
import { outcomeReward } from "../../src/graders/reward.ts";
import { createWorld } from "../../src/lab/create-world.ts";
import { labLimits } from "../../src/lab/lab-model-use.ts";
import { trainingWorld } from "../../src/lab/lab-runs.ts";
import { memoryLabTools } from "../../src/lab/memory-lab-tools.ts";
import { labProfile } from "../../src/lab/profile.ts";
import { openLabModel, shippedModel } from "../../src/lab/quickstart/open-model.ts";
import { type Family, worldTasks } from "../../src/lab/world-tasks.ts";
import { engineModel } from "../../src/models/engine-model.ts";
import type { Metrics } from "../../src/train/run-folder.ts";
import { trainRl } from "../../src/train/train-rl.ts";
import { processorSeconds } from "./lab-exam.ts";

const { values } = parseArgs({
  options: {
    window: { type: "string", default: "330" },
    family: { type: "string", default: "hop3" },
    count: { type: "string", default: "200" },
    steps: { type: "string", default: "8" },
    rate: { type: "string", default: "2e-4" },
    model: { type: "string", default: shippedModel },
  },
});
const window = Number(values.window);
const families = [values.family as Family];
const cut: CompactionOptions = { maxTokens: 12, keepNewest: 1, targetShare: 0.5 };
/** The first line of what was found or read: the best result, or what the page is about. */
const summarised: CompactionOptions = {
  ...cut,
  maxTokens: 24,
  summarise: async (text) => ({
    text: text
      .split(/\n|(?<=\.) /)
      .slice(0, 2)
      .join(" "),
  }),
};

const lab = await openLabModel(values.model, { optimizer: "adamw", threads: 1 });
const folder = await mkdtemp(join(tmpdir(), "coa-window-"));
const test = createWorld({ seed: 121, pages: 600, split: "test" });
const tasks = worldTasks(test, { count: Number(values.count), families, seed: 5 });

function chain(
  task: Task,
  how: {
    model: Model;
    tools: Tool[];
    compaction: CompactionOptions;
    tokens: number;
    temperature: number;
    seed: number;
  },
) {
  const { model, temperature, seed } = how;
  return runChain(task, {
    model: { ...model, capabilities: { ...model.capabilities, contextWindow: how.tokens } },
    tools: how.tools,
    profile: labProfile,
    systemPrompt: false,
    enforcement: "repair",
    limits: { ...labLimits, maxTokensPerCall: 100 },
    compaction: how.compaction,
    sampling: { temperature, seed },
  });
}

async function exam(name: string, compaction: CompactionOptions, tokens = window): Promise<void> {
  const model = engineModel(await lab.engine.publish(), lab.tokenizer);
  const tools = memoryLabTools(test);
  const chains = await inParallel(tasks, 64, (task, seed) =>
    chain(task, { model, tools, compaction, tokens, temperature: 0, seed }),
  );
  const right = chains.filter(({ answer }, at) => answer?.trim() === tasks[at]!.answers[0]).length;
  const shortened = chains.filter(({ compactions }) => compactions).length;
  console.log(
    `${name}: ${right} of ${tasks.length} right, ${shortened} shortened (${Math.round(processorSeconds())} s)`,
  );
}

await exam("whole window", cut, 1024);
await exam("cut", cut);
await exam("summarised", summarised);

const practice = trainingWorld({ seed: 70, pages: 600 }, 5000);
const tools = memoryLabTools(practice);
const shares: number[] = [];
const result = await trainRl({
  engine: lab.engine,
  tokenizer: lab.tokenizer,
  folder: join(folder, "run"),
  seed: 1,
  steps: Number(values.steps),
  groups: 10,
  samples: 8,
  maxRounds: 2,
  concurrency: 96,
  updatesPerEpoch: 3,
  baseline: "least-variance",
  maxRatioGap: 1e-3,
  context: [{ fromStep: 0, tokens: window }],
  tasks: (step, round, count) => worldTasks(practice, { count, families, seed: 1 + step * 100 + round }),
  async rollout(task, { policy, seed, maxContext }) {
    const model = engineModel(policy, lab.tokenizer);
    const made = await chain(task, { model, tools, compaction: cut, tokens: maxContext, temperature: 1, seed });
    shares.push(made.compactions ? 1 : 0);
    return made;
  },
  reward: outcomeReward(taskGrader()),
  optimizer: { learningRate: Number(values.rate), beta1: 0.9, beta2: 0.95, gradientClip: 1 },
  schedule: { warmupSteps: 2, decay: "linear", floor: 0.2 },
});
const metrics = await readAllJsonl<Metrics>(join(folder, "run", "metrics.jsonl"));
console.log(`rewards ${metrics.map((line) => Number(line["meanReward"]).toFixed(2)).join(" ")}`);
console.log(`largest ratioGap ${Math.max(...metrics.map((line) => Number(line["ratioGap"] ?? 0))).toPrecision(2)}`);
console.log(
  `${result.rollouts} rollouts, ${((100 * shares.reduce((a, b) => a + b, 0)) / shares.length).toFixed(1)} % shortened`,
);
await exam("trained, cut", cut);
await lab.engine.close();
await rm(folder, { recursive: true });
