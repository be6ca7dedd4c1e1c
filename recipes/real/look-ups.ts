/**
 * Experiment 1: how many recorded runs does a small language model need? Documents, questions and the team are made by the lab, in
 * many wordings; the student is SmolLM2-135M or any model of a like kind. Rows: the base with four chains in its prompt, the same
 * weights taught by 30, 100 and 300 runs, random weights taught alike, and RL where four in ten searches find nothing. Names,
 * numbers and half of the wordings of the tests occur in no training. Test worlds are used once; settings are chosen on others, with
 * the row `development`.
 *
 *   node recipes/real/look-ups.ts --model SmolLM2-135M-Instruct.Q4_1.gguf [--rows base,30,100,300,random,rl] [--seed 1] [--tests 300]
 */

import { existsSync, readFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { trajectoryToExample } from "../../src/dataset/index.ts";
import { distill } from "../../src/distill/index.ts";
import { averageModels, loadModelFolder } from "../../src/engines/embedded/files/model-folder.ts";
import { openEmbeddedEngine } from "../../src/engines/index.ts";
import { outcomeReward, taskGrader } from "../../src/graders/index.ts";
import { type Task, type TeamRun, type Trajectory, trajectoryText } from "../../src/index.ts";
import { lookUpProfile, lookUpTasks, lookUpTeam, lookUpTools, lookUpWorld } from "../../src/lab/index.ts";
import { engineModel } from "../../src/models/index.ts";
import { runTeam } from "../../src/team/index.ts";
import { withFaults } from "../../src/tools/index.ts";
import { fromFirstFault, sharedPrefix } from "../../src/train/credit.ts";
import { chainRollout, fixedExamples, guard, saveTrained, trainRl } from "../../src/train/index.ts";
import { against, type Experiment, examine, once, openExperiment, teach } from "./parts.ts";

const systemPrompt = "Look it up.";
const limits = { maxSteps: 8, maxTokensPerCall: 80, maxCompletionTokens: 240 };
const chain = { profile: lookUpProfile, systemPrompt, limits };
/** Worlds by what they are for: no two share a name, and all have names of three syllables (seeds below 320). */
const worlds = { training: 100, practice: 240, development: 280, test: 310 } as const;

/** What the team does in fifteen worlds, and the chains that distillation makes of it. */
async function recordedChains(experiment: Experiment): Promise<Trajectory[]> {
  const folder = join(experiment.folder, "team");
  await once(experiment, "team", async () => {
    const runs: TeamRun[] = [];
    const tasks: Task[] = [];
    for (let number = 0; number < 15; number++) {
      const world = lookUpWorld(worlds.training + 20 * experiment.seed + number);
      const tools = lookUpTools(world);
      for (const task of lookUpTasks(world, { count: 20, wordings: "seen", seed: experiment.seed })) {
        tasks.push(task);
        runs.push(await runTeam(task, { roles: lookUpTeam(), tools, verify: false }));
      }
    }
    await mkdir(folder, { recursive: true });
    const lines = (all: readonly object[]) => all.map((one) => `${JSON.stringify(one)}\n`).join("");
    await writeFile(join(folder, "runs.jsonl"), lines(runs));
    await writeFile(join(folder, "tasks.jsonl"), lines(tasks));
    const { written } = await distill([join(folder, "runs.jsonl")], {
      tasksFiles: [join(folder, "tasks.jsonl")],
      out: join(folder, "chains"),
      config: {
        profile: lookUpProfile,
        systemPrompt,
        minInteractions: 1,
        reflection: { keepWithout: 1 },
        nearDuplicates: 1.1,
      },
      plugins: { grade: taskGrader() },
    });
    return { runs: runs.length, written };
  });
  const text = readFileSync(join(folder, "chains", "trajectories.jsonl"), "utf8");
  return text
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
}

/** Half of the tests in wordings of training, half in new ones. */
function testOf(experiment: Experiment, from: number) {
  const world = lookUpWorld(from + experiment.seed, "test");
  const half = Math.round(experiment.tests / 2);
  const of = (wordings: "seen" | "new", count: number) =>
    lookUpTasks(world, { count, wordings, seed: experiment.seed });
  const tools = lookUpTools(world);
  return { tasks: [...of("seen", half), ...of("new", experiment.tests - half)], tools };
}

const failing = (seed: number, rate: number) => ({
  seed,
  faults: [{ kind: "empty" as const, rate, tools: ["wiki_search"] }],
});

/** How much of the practised model's weights are those it began with; chosen in the development world. */
const startShare = 0.25;
const failingMark = "-failing";

/**
 * The taught model practises where half of the searches find nothing, which no run of the team showed, and on as many questions
 * where they all work: without those it learns to search once more after every result. A rollout with a fault is credited from
 * there on; where nothing can fail, all of a rollout is.
 */
function practise(experiment: Experiment, from: string, chains: readonly Trajectory[]) {
  return once(experiment, "rl", async (folder) => {
    const { tokenizer, seed } = experiment;
    const engine = await openEmbeddedEngine({ folder: from, threads: 1 });
    const demonstrations = chains.flatMap((one) => trajectoryToExample(one, tokenizer).example ?? []);
    const tools = new Map<number, ReturnType<typeof lookUpTools>>();
    const toolsOf = (number: number) => tools.getOrInsertComputed(number, () => lookUpTools(lookUpWorld(number)));
    const afterFault = fromFirstFault().from!;
    try {
      const result = await trainRl({
        ...{ engine, tokenizer, folder: join(folder, "run"), resume: "auto", seed, steps: 6 },
        collect: { groups: 8, samples: 6, maxRounds: 1, concurrency: 48 },
        updates: { passes: 1, perPass: 2, microBatchTokens: 1024 },
        credit: {
          baseline: "least-variance",
          ...sharedPrefix(),
          from: (trajectory) => (trajectory.taskId.endsWith(failingMark) ? afterFault(trajectory) : 0),
        },
        extraLosses: [guard(fixedExamples(demonstrations, 600, seed))],
        tasks: (step, round, count) =>
          lookUpTasks(lookUpWorld(worlds.practice + step), { count, wordings: "seen", seed: round }).map((task, at) =>
            at < count / 2 ? { ...task, id: `${task.id}${failingMark}` } : task,
          ),
        rollout: chainRollout({
          ...chain,
          model: (policy) => engineModel(policy, tokenizer),
          tools: ({ id, world }) =>
            id.endsWith(failingMark) ? withFaults(toolsOf(world!.seed), failing(seed, 0.5)) : toolsOf(world!.seed),
        }),
        reward: outcomeReward(taskGrader()),
        optimizer: { learningRate: 1e-4, beta1: 0.9, beta2: 0.95, gradientClip: 1 },
        schedule: { decay: "linear", decayShare: 1, floor: 0.2 },
        keep: { models: 0.5 },
        onProgress: ({ done, total, figures }) =>
          console.log(`rl: step ${done} of ${total}, ${JSON.stringify(figures)}`),
      });
      const weights = (into: string) =>
        averageModels(result.models, into, { start: { folder: from, share: startShare } });
      await saveTrained(
        { model: join(folder, "model") },
        { engine, tokenizer, from, weights, training: { stage: "rl", seed } },
      );
      return { rollouts: result.rollouts, reward: [result.firstReward, result.lastReward] };
    } finally {
      await engine.close();
    }
  });
}

/** Runs the rows that are asked for; what is done is not done again. */
export async function lookUps(argv?: string[]): Promise<void> {
  const experiment = await openExperiment("look-ups", argv);
  const { wants, base } = experiment;
  console.log(`Everything is kept in ${experiment.folder}. Stop it at any time; the same command resumes it.`);
  const chains = await recordedChains(experiment);
  const disturb = (given: ReturnType<typeof testOf>) => ({
    ...given,
    tools: withFaults(given.tools, failing(experiment.seed, 0.4)),
  });
  const test = testOf(experiment, worlds.test);
  const taught = (name: string) => join(experiment.folder, name, "model");
  const results: Record<string, Awaited<ReturnType<typeof examine>>> = {};
  const exam = async (row: string, model: string, given: typeof test = test, more = {}) => {
    results[row] = await examine(experiment, `exam-${given.tasks.length}/${row}`, {
      ...chain,
      ...given,
      model,
      ...more,
    });
  };
  if (wants("base")) {
    // Four chains as turns before the question: as text of the system prompt they are not followed at all.
    const history = chains
      .slice(0, 4)
      .flatMap(({ prompt, segments }) => [
        prompt.at(-1)!,
        { role: "assistant" as const, content: trajectoryText(segments) },
      ]);
    await exam("base", base, { ...test, tasks: test.tasks.map((task) => ({ ...task, history })) });
  }
  for (const [count, passes] of [
    [300, 1],
    [100, 3],
    [30, 6],
  ] as const) {
    if (!wants(String(count))) continue;
    await teach(experiment, `sft-${count}`, { chains: chains.slice(0, count), passes, rate: 3e-4 });
    await exam(`sft-${count}`, taught(`sft-${count}`));
  }
  if (wants("random")) {
    const { config } = await loadModelFolder(base);
    await teach(experiment, "random", {
      chains: chains.slice(0, 100),
      passes: 3,
      rate: 1e-3,
      student: { config, seed: experiment.seed },
    });
    await exam("random", taught("random"));
  }
  if (wants("rl") || wants("development")) await practise(experiment, taught("sft-300"), chains.slice(0, 300));
  if (wants("development")) {
    const practice = testOf({ ...experiment, tests: 100 }, worlds.development);
    for (const [row, given] of Object.entries({ working: practice, failing: disturb(practice) }))
      for (const name of ["sft-300", "rl"]) await exam(`development ${name} ${row}`, taught(name), given);
  }
  if (wants("rl")) {
    await exam("rl", taught("rl"));
    await exam("sft-300 failing", taught("sft-300"), disturb(test));
    await exam("rl failing", taught("rl"), disturb(test));
  }
  for (const [row, { success, families, tokensPerSuccess, processorSeconds }] of Object.entries(results))
    console.log(
      `${row}: ${success[0]} % [${success[1]}, ${success[2]}], ${tokensPerSuccess || "no"} tokens per success, exam ${processorSeconds} CPU s; ${JSON.stringify(families)}`,
    );
  const pairs = [
    ["taught by 300 runs instead of four examples in the prompt", "base", "sft-300"],
    ["RL where searches fail", "sft-300 failing", "rl failing"],
    ["RL where they work", "sft-300", "rl"],
  ] as const;
  const changes: string[] = [];
  for (const [what, before, after] of pairs) {
    const [first, second] = [results[before], results[after]];
    if (!first || !second) continue;
    console.log(`${what}: ${against(first, second)}`);
    changes.push(`${what} ${first.success[0]} -> ${second.success[0]} %`);
  }
  const last = Object.keys(results).findLast((row) => existsSync(taught(row)));
  if (last)
    console.log(
      `Result: after ${last} the model answers ${results[last]!.success[0]} % of ${test.tasks.length} new questions${changes.length > 0 ? ` (${changes.join("; ")})` : ""}. It is in ${taught(last)}`,
    );
}

if (import.meta.main) await lookUps();
