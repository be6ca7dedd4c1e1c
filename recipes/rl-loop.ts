/**
 * Reinforcement learning in one file: the loop of `trainRl` over an `Engine`, without folders, checkpoints, refills and groups in
 * flight. Copy it to try another advantage, loss or schedule; `trainRl` gives the same losses where the two do the same
 * (`test/recipes-rl-loop.test.ts`). Run as it is, it lets the shipped model practise where half of the searches find nothing:
 *
 *   node recipes/rl-loop.ts [steps]
 */
import { join } from "node:path";
import { loadTokenizer, rolloutToExamples } from "../src/dataset/index.ts";
import { openEmbeddedEngine } from "../src/engines/index.ts";
import { outcomeReward, taskGrader } from "../src/graders/index.ts";
import type { Engine, Example, OptimizerStep, Reward, Task, Tokenizer } from "../src/index.ts";
import {
  arithmeticTool,
  compactTools,
  createWorld,
  labProfile,
  memoryFetch,
  worldDocuments,
  worldTasks,
} from "../src/lab/index.ts";
import { worldIndexOptions } from "../src/lab/world-pages.ts";
import { engineModel } from "../src/models/index.ts";
import { buildIndex, crawlPage, indexProvider, webSearch, withFaults } from "../src/tools/index.ts";
import { chainRollout, derivedSeed, type RlOptions } from "../src/train/index.ts";

export interface LoopOptions {
  engine: Engine;
  tokenizer: Tokenizer;
  /** Tasks of a step; each becomes a group of `samples` rollouts. */
  tasks: (step: number, count: number) => readonly Task[];
  rollout: RlOptions["rollout"];
  reward: Reward;
  steps: number;
  groups: number;
  samples: number;
  optimizer: OptimizerStep;
  seed: number;
  /** DAPO's clip range: how far the probability of a token may move in a step. */
  clip?: { low: number; high: number; dual: number };
}

/** What a step did. */
export interface LoopStep {
  reward: number;
  /** Groups whose rewards differ; the others teach nothing. */
  groups: number;
  loss: number;
  tokens: number;
}

/** Rollouts, advantages, one update: as often as there are steps. */
export async function* rlLoop(options: LoopOptions): AsyncGenerator<LoopStep> {
  const { engine, tokenizer, samples } = options;
  const { maxContext } = engine.capabilities;
  for (let step = 0; step < options.steps; step++) {
    // 1. Rollouts of the newest weights, with live tools. Ids and log-probabilities are kept as sampled.
    const policy = await engine.publish();
    const play = async (task: Task, slot: number, sample: number) => {
      const seed = derivedSeed(options.seed, "rollout", step, 0, slot, sample);
      const chain = await options.rollout(task, { seed, sample, step, maxContext, policy });
      const { reward } = await options.reward(chain, task);
      return { chain, reward };
    };
    const groups = await Promise.all(
      options
        .tasks(step, options.groups)
        .map((task, slot) => Promise.all(Array.from({ length: samples }, (_, sample) => play(task, slot, sample)))),
    );

    // 2. Advantages: a rollout is good or bad only in comparison with the others of its task.
    const examples: Example[] = [];
    let kept = 0;
    for (const group of groups) {
      const judged = group.filter((one) => one.reward !== null); // one that no grader could judge is not wrong
      const { average, deviation } = moments(judged.map((one) => one.reward!));
      if (!(deviation > 1e-9)) continue;
      kept++;
      for (const { chain, reward } of judged)
        examples.push(...rolloutToExamples(chain, tokenizer, (reward! - average) / (deviation + 1e-6), maxContext));
    }

    // 3. One clipped update, averaged over tokens, not over rollouts.
    const rewards = groups.flat().flatMap(({ reward }) => reward ?? []);
    const trained = examples.length > 0 ? await update(options, examples) : { loss: 0, tokens: 0 };
    yield { reward: moments(rewards).average, groups: kept, ...trained };
  }
}

/** Sends the gradient and the step together, then computes the loss that is shown from what came back. */
async function update({ engine, optimizer, clip }: LoopOptions, examples: Example[]) {
  const { low, high, dual } = clip ?? { low: 0.2, high: 0.28, dual: 10 };
  const loss = { name: "ppo", clipLow: low, clipHigh: high, dualClip: dual } as const;
  const tokens = examples.reduce((sum, { advantages }) => sum + advantages!.filter((one) => one !== 0).length, 0);
  // Engines that sum over tokens get the mean by this factor; those that average over a sequence first need its length back.
  const averages = engine.capabilities.losses.ppo?.reduction === "sequence-mean";
  const scaled = examples.map((example) => {
    const factor = (averages ? example.targets.length * examples.length : 1) / tokens;
    return { ...example, advantages: example.advantages!.map((one) => one * factor) };
  });
  const [{ logprobs }] = await Promise.all([engine.forwardBackward(scaled, loss), engine.optimStep(optimizer)]);
  let total = 0;
  examples.forEach(({ advantages, oldLogprobs }, index) => {
    advantages!.forEach((advantage, at) => {
      if (advantage === 0) return; // observations: read, not written
      const ratio = Math.exp(logprobs[index]![at]! - oldLogprobs![at]!);
      // These rollouts are fresh: a ratio that is not 1 means that other ids or another context are trained on.
      if (Math.abs(Math.log(ratio)) > 0.01) throw new Error(`a token was sampled with another probability: ${ratio}`);
      const clipped = Math.min(Math.max(ratio, 1 - low), 1 + high);
      const worst = Math.max(-ratio * advantage, -clipped * advantage);
      total += advantage < 0 ? Math.min(worst, -dual * advantage) : worst;
    });
  });
  return { loss: total / tokens, tokens };
}

function moments(values: readonly number[]): { average: number; deviation: number } {
  const average = values.reduce((sum, value) => sum + value, 0) / values.length;
  const squares = values.reduce((sum, value) => sum + (value - average) ** 2, 0);
  return { average, deviation: Math.sqrt(squares / (values.length - 1)) };
}

if (import.meta.main) {
  const folder = join(import.meta.dirname, "..", "weights", "afm-lab-2m");
  const engine = await openEmbeddedEngine({ folder });
  const tokenizer = await loadTokenizer(folder);
  const world = createWorld({ seed: 7, pages: 300 });
  const search = webSearch({ provider: indexProvider(buildIndex(worldDocuments(world), worldIndexOptions)), count: 3 });
  const tools = compactTools([search, crawlPage({ fetchPage: memoryFetch(world) }), arithmeticTool()]);
  const failing = withFaults(tools, { seed: 1, faults: [{ kind: "timeout", rate: 0.5, tools: ["web_search"] }] });
  const steps = rlLoop({
    ...{ engine, tokenizer, seed: 1, groups: 8, samples: 8, steps: Number(process.argv[2] ?? 8) },
    tasks: (step, count) => worldTasks(world, { count, families: ["hop1"], seed: step }),
    rollout: chainRollout({
      model: (policy) => engineModel(policy, tokenizer),
      ...{ tools: failing, profile: labProfile, systemPrompt: false },
      limits: { maxSteps: 16, maxTokensPerCall: 200, maxCompletionTokens: 700, answerReserve: 24 },
    }),
    reward: outcomeReward(taskGrader()),
    optimizer: { learningRate: 3e-4, beta1: 0.9, beta2: 0.95, gradientClip: 1 },
  });
  for await (const { reward, groups, loss, tokens } of steps)
    console.log(`reward ${reward.toFixed(3)}, ${groups} groups teach, ${tokens} tokens, loss ${loss.toFixed(4)}`);
  await engine.close();
}
