/**
 * Does credit from trees make a clearer gradient? Among failing searches, for as many sampled tokens each: groups of eight whole rollouts of one
 * task, credited whole or from their first fault on, against trees, in which eight continuations share everything up to a step (the
 * first fault, or a step by chance) and are compared from there on. The figure is the cosine between the gradients of two halves of the
 * batch, over all ways to halve eight parts.
 *
 *   node bench/learning/tree-credit.ts --start model-after-sft [--tokens 40000] [--seed 1]
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { inParallel } from "../../src/base/work/limiter.ts";
import { seededRandom } from "../../src/base/work/random.ts";
import { runChain } from "../../src/chain/run-chain.ts";
import type { Task } from "../../src/core/task.ts";
import type { Trajectory } from "../../src/core/trajectory.ts";
import { loadModelFolder } from "../../src/engines/embedded/files/model-folder.ts";
import { mean } from "../../src/evaluate/statistics.ts";
import { taskGrader } from "../../src/graders/grade-task.ts";
import { outcomeReward } from "../../src/graders/reward.ts";
import { labLimits } from "../../src/lab/lab-model-use.ts";
import { trainingWorld } from "../../src/lab/lab-runs.ts";
import { disturbances, memoryLabTools } from "../../src/lab/memory-lab-tools.ts";
import { labProfile } from "../../src/lab/profile.ts";
import { openLabModel } from "../../src/lab/quickstart/open-model.ts";
import { worldTasks } from "../../src/lab/world-tasks.ts";
import { withFaults } from "../../src/tools/with-faults.ts";
import { type Credit, fromFirstFault, sharedPrefix } from "../../src/train/credit.ts";
import { creditGroup, hasVariance } from "../../src/train/credit-group.ts";
import type { Rollout } from "../../src/train/run-rollout.ts";
import { type Group, upTo } from "../../src/train/sort-groups.ts";
import { processorSeconds } from "./lab-exam.ts";

const { values } = parseArgs({
  options: {
    start: { type: "string", default: ".coa/quickstart-full/sft/model" },
    seed: { type: "string", default: "1" },
    /** Sampled tokens of each kind of group. */
    tokens: { type: "string", default: "40000" },
  },
});
const seed = Number(values.seed);
const samples = 8;
const parts = 8;
const folder = await mkdtemp(join(tmpdir(), "coa-trees-"));
const lab = await openLabModel(values.start, { optimizer: "adamw", threads: 1 });
const world = trainingWorld({ seed: 40 + seed, pages: 600 }, 3400);
const tools = withFaults(memoryLabTools(world), disturbances.empty(1000 + seed, 0.5));
// The outcome alone: what follows a failed search is malformed at first even where it ends well, and a group of zeros teaches nothing.
const reward = outcomeReward(taskGrader());

async function roll(task: Task, id: string, number: number, from?: Trajectory): Promise<Trajectory> {
  return runChain(task, {
    ...{ model: lab.model, tools, profile: labProfile, id, systemPrompt: false as const, limits: labLimits },
    enforcement: "repair",
    sampling: { temperature: 1, seed: number },
    ...(from && { from }),
  });
}

const written = (segments: Trajectory["segments"]) =>
  segments.reduce((sum, { logprobs }) => sum + (logprobs?.length ?? 0), 0);

async function grouped(task: Task, chains: readonly Trajectory[]): Promise<Group> {
  const rollouts = await Promise.all(
    chains.map(async (trajectory, sample): Promise<Rollout> => {
      const { reward: value } = await reward(trajectory, task);
      return { step: 0, round: 0, slot: 0, sample, task, trajectory, reward: value, correct: value === 1, reason: "" };
    }),
  );
  return { task, rollouts } as Group;
}

interface Kind {
  name: string;
  /** Chains of one task; `tokens` counts what was sampled for them, a shared beginning once. */
  group(task: Task, number: number): Promise<{ chains: Trajectory[]; tokens: number } | null>;
}

/** Continuations of one chain from a step on, the chain itself among them. */
async function tree(task: Task, trunk: Trajectory, at: number) {
  const shared = upTo(trunk, at);
  const others = await inParallel(Array.from({ length: samples - 1 }), samples, (_, sample) =>
    roll(task, `${trunk.id}-${at}-${sample}`, sample + 100, shared),
  );
  const chains = [trunk, ...others].map((chain) => ({ ...chain, branch: at }));
  const tokens = written(trunk.segments) + others.reduce((sum, { segments }) => sum + written(segments.slice(at)), 0);
  return { chains, tokens };
}

const plain: Kind = {
  name: "whole rollouts",
  async group(task) {
    const chains = await inParallel(Array.from({ length: samples }), samples, (_, sample) =>
      roll(task, `${task.id}-plain-${sample}`, sample),
    );
    return { chains, tokens: chains.reduce((sum, { segments }) => sum + written(segments), 0) };
  },
};
const atFault: Kind = {
  name: "trees at the first fault",
  async group(task) {
    const trunk = await roll(task, `${task.id}-trunk`, 0);
    const branch = sharedPrefix().branchAt!(trunk);
    return branch === null ? { chains: [], tokens: written(trunk.segments) } : tree(task, trunk, branch);
  },
};
const anywhere: Kind = {
  name: "trees at a step by chance",
  async group(task, number) {
    const trunk = await roll(task, `${task.id}-any`, 0);
    const steps = trunk.segments.flatMap(({ tag, by }, at) =>
      tag === labProfile.observation && by === "tool" ? [at + 1] : [],
    );
    if (steps.length === 0) return { chains: [], tokens: written(trunk.segments) };
    return tree(task, trunk, seededRandom(seed, "branch", number).pick(steps));
  },
};

/** Groups with something to teach, for the tokens allowed, dealt into `parts` parts. */
async function collect(kind: Kind): Promise<{ groups: Group[][]; tokens: number; asked: number }> {
  const groups: Group[][] = Array.from({ length: parts }, () => []);
  const budget = Number(values.tokens);
  let [tokens, asked, taught] = [0, 0, 0];
  const tasks = worldTasks(world, { count: 2000, families: ["hop1", "hop1", "hop2", "mixed"], seed });
  for (let first = 0; tokens < budget; first += 4) {
    const made = await inParallel(tasks.slice(first, first + 4), 4, async (task, at) => ({
      task,
      ...(await kind.group(task, first + at))!,
    }));
    for (const { task, chains, tokens: spent } of made) {
      asked++;
      tokens += spent;
      if (chains.length === 0) continue;
      const group = await grouped(task, chains);
      if (hasVariance(group.rollouts.map(({ reward: value }) => value ?? 0))) groups[taught++ % parts]!.push(group);
    }
  }
  return { groups, tokens, asked };
}

const state = await lab.engine.saveState(join(folder, "state"));
await lab.engine.saveModel(join(folder, "start"));
const start = await loadModelFolder(join(folder, "start"));

/** The summed gradient of a part: with a huge epsilon, one step of AdamW from fresh moments moves the weights by it. */
async function gradient(examples: Parameters<typeof lab.engine.forwardBackward>[0]): Promise<Float32Array> {
  await lab.engine.forwardBackward(examples, { name: "importance_sampling" });
  await lab.engine.optimStep({ learningRate: 1e6, epsilon: 1e6, weightDecay: 0 });
  await lab.engine.saveModel(join(folder, "moved"));
  // What is sampled next comes from the start again.
  await lab.engine.loadState(state);
  const moved = await loadModelFolder(join(folder, "moved"));
  const all = [...start.parameters].map(([name, { data }]) =>
    moved.parameters.get(name)!.data.map((x, at) => x - data[at]!),
  );
  const flat = new Float32Array(all.reduce((sum, { length }) => sum + length, 0));
  let offset = 0;
  for (const one of all) {
    flat.set(one as Float32Array, offset);
    offset += one.length;
  }
  return flat;
}

/** Mean cosine between halves, over all ways to halve the parts. */
function halfCosines(gradients: readonly Float32Array[]): number {
  const dots = gradients.map((a) => gradients.map((b) => a.reduce((sum, x, at) => sum + x * b[at]!, 0))); // [part][part]
  const cosines: number[] = [];
  for (let mask = 0; mask < 2 ** gradients.length; mask++) {
    const first = gradients.flatMap((_, at) => (mask & (1 << at) ? [at] : []));
    if (first.length !== gradients.length / 2 || !first.includes(0)) continue;
    const second = gradients.flatMap((_, at) => (first.includes(at) ? [] : [at]));
    const dot = (a: number[], b: number[]) =>
      a.reduce((sum, i) => sum + b.reduce((some, j) => some + dots[i]![j]!, 0), 0);
    cosines.push(dot(first, second) / Math.sqrt(dot(first, first) * dot(second, second)));
  }
  return mean(cosines);
}

const { maxContext } = lab.engine.capabilities;
const rows: [Kind, [string, Credit][]][] = [
  [
    plain,
    [
      ["whole, least variance", { baseline: "least-variance" }],
      ["after the first fault, group mean", fromFirstFault()],
      ["after the first fault, least variance", { ...fromFirstFault(), baseline: "least-variance" }],
    ],
  ],
  [
    atFault,
    [
      ["after the branch, group mean", { baseline: "group" }],
      ["after the branch, least variance", { baseline: "least-variance" }],
    ],
  ],
  [anywhere, [["after the branch, least variance", { baseline: "least-variance" }]]],
];
for (const [kind, credits] of rows) {
  const { groups, tokens, asked } = await collect(kind);
  console.log(
    `${kind.name}: ${groups.flat().length} of ${asked} groups teach, ${tokens} sampled tokens (${Math.round(processorSeconds())} s)`,
  );
  // A part without a group has no gradient to compare.
  for (const [name, credit] of groups.every(({ length }) => length > 0) ? credits : []) {
    const examples = groups.map((part) =>
      part.flatMap((group) =>
        creditGroup(group, 0, { tokenizer: lab.tokenizer, maxContext, credit }).map(({ example }) => example),
      ),
    );
    const gradients: Float32Array[] = [];
    for (const part of examples) gradients.push(await gradient(part));
    const trained = examples.flat().reduce((sum, { input }) => sum + input.length, 0);
    console.log(
      `  ${name}: cosine ${halfCosines(gradients).toFixed(3)}, ${trained} tokens trained (${Math.round(processorSeconds())} s)`,
    );
  }
}
await lab.engine.close();
await rm(folder, { recursive: true });
