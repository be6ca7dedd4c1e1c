/**
 * Programs judged by tests: a model from nothing learns the lab's programming tasks from scripted coders who write, run, read and repair, and
 * then practises by RL on kinds whose first program often fails. Every program, in the chain and in the grading, runs in a real sandbox.
 *
 *   node bench/learning/code-lab.ts data --seed 1 --count 1500 --out chains.jsonl      the team's chains
 *   node bench/learning/code-lab.ts sft  --seed 1 --data chains.jsonl --out run-1       a model of under a million parameters
 *   node bench/learning/code-lab.ts rl   --seed 1 --data chains.jsonl --out run-1       RL on top of it
 *   node bench/learning/code-lab.ts more --seed 1 --data chains.jsonl --out run-1       instead of RL: more imitation of the same chains
 *   node bench/learning/code-lab.ts keep --seed 1 --out run-1                           instead of RL: imitation of its own right chains
 *   node bench/learning/code-lab.ts exam --model run-1/sft --count 200 --samples 4 --out exam.json
 *   node bench/learning/code-lab.ts table sft-1.json,sft-2.json rl-1.json,rl-2.json [--kinds sum-above,largest-odd]
 *
 * The exam asks held-out instances of known kinds and held-out kinds, greedily (pass@1) and in samples (avg@k and pass@k). `more` and
 * `keep` take as many processor seconds as RL took, or `--seconds`. `--kinds` names some known kinds: RL practises those alone, the exam asks those alone, and the table shows them apart.
 */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { readAllJsonl } from "../../src/base/files/read-jsonl.ts";
import { inParallel } from "../../src/base/work/limiter.ts";
import { runChain } from "../../src/chain/run-chain.ts";
import type { Model } from "../../src/core/model.ts";
import type { Sandbox } from "../../src/core/sandbox.ts";
import type { Task } from "../../src/core/task.ts";
import { type Trajectory, trajectoryText } from "../../src/core/trajectory.ts";
import { trajectorySchema } from "../../src/core/trajectory-schema.ts";
import { trajectoryToExample } from "../../src/dataset/trajectory-to-example.ts";
import { distillRun } from "../../src/distill/distill-run.ts";
import { openEmbeddedEngine } from "../../src/engines/embedded/embedded-engine.ts";
import { comparePaired, mean, passAtK } from "../../src/evaluate/statistics.ts";
import { successOfAll } from "../../src/evaluate/summarise.ts";
import { taskGrader } from "../../src/graders/grade-task.ts";
import { outcomeReward } from "../../src/graders/reward.ts";
import { copyTask, inSequence } from "../../src/lab/copy-task.ts";
import { openLabModel } from "../../src/lab/quickstart/open-model.ts";
import { tagTokens } from "../../src/language/profile.ts";
import { engineModel } from "../../src/models/engine-model.ts";
import { percentWithInterval } from "../../src/report/format-figures.ts";
import { runTeam } from "../../src/team/run-team.ts";
import { trainTokenizer } from "../../src/tokenizers/train-tokenizer.ts";
import { chooseSandbox } from "../../src/tools/sandbox/choose-sandbox.ts";
import { fixedExamples } from "../../src/train/example-source.ts";
import { guard } from "../../src/train/extra-loss.ts";
import { takeStep } from "../../src/train/take-step.ts";
import { trainRl } from "../../src/train/train-rl.ts";
import { trainSft } from "../../src/train/train-sft.ts";
import { labCodeProfile } from "./code/code-profile.ts";
import { type CodeTaskOptions, codeTasks } from "./code/code-tasks.ts";
import { codeLabTools } from "./code/code-tools.ts";
import { scriptedCoders } from "./code/scripted-coders.ts";
import { processorSeconds } from "./lab-exam.ts";
import { spellingDrill } from "./spelling-drill.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seed: { type: "string", default: "1" },
    count: { type: "string", default: "1500" },
    data: { type: "string", default: "code-chains.jsonl" },
    model: { type: "string", default: "" },
    out: { type: "string", default: ".coa/code-lab" },
    steps: { type: "string", default: "500" },
    samples: { type: "string", default: "4" },
    spelling: { type: "string", default: "150" },
    hidden: { type: "string", default: "96" },
    layers: { type: "string", default: "3" },
    seconds: { type: "string", default: "" },
    kinds: { type: "string", default: "" },
  },
});
const [method = "", ...files] = positionals;
const seed = Number(values.seed);
const count = Number(values.count);
/** What the ways beside RL may take: as much as RL took. */
const seconds = async () => Number(values.seconds || (await readFile(join(values.out, "rl-seconds.txt"), "utf8")));
// One warm child for all: names do not carry over from program to program, and a new child for each would cost more than learning.
const warm = chooseSandbox();
const sandbox: Sandbox = { ...warm, run: (request) => warm.run({ ...request, sessionKey: "code-lab" }) };
const tools = codeLabTools(sandbox);
const grade = taskGrader({ sandbox });

const namedKinds = values.kinds === "" ? [] : values.kinds.split(",");
/** Held-out instances, those of the named kinds among them, and held-out kinds. */
const parts: Readonly<Record<string, (outcome: Outcome) => boolean>> = {
  instances: ({ part }) => part === "instances",
  ...(namedKinds.length > 0 && { "instances of the named kinds": ({ id }) => namedKinds.includes(kindOf(id)) }),
  kinds: ({ part }) => part === "kinds",
};

try {
  if (method === "data") await writeChains();
  else if (method === "sft") await teach();
  else if (method === "rl") await reinforce();
  else if (method === "more") await imitateMore(await readChains());
  else if (method === "keep") await imitateMore(await ownRightChains());
  else if (method === "exam") await examine();
  else if (method === "table") await printTable();
  else throw new Error(`data, sft, rl, more, keep, exam or table, not "${method}"`);
} finally {
  await sandbox.close();
}

/** Chains of the team that the tests find right. */
async function writeChains(): Promise<void> {
  const roles = scriptedCoders({ seed });
  const lines = await inParallel(codeTasks({ count, seed }), 4, async (task) => {
    const run = await runTeam(task, { roles, tools, id: task.id });
    const { trajectory } = distillRun(run, { profile: labCodeProfile, systemPrompt: false });
    const right = trajectory && (await grade(task, run.answer)).correct === true;
    return right ? `${JSON.stringify(trajectory)}\n` : "";
  });
  await writeFile(values.out, lines.join(""));
}

async function readChains(): Promise<Trajectory[]> {
  return (await readAllJsonl(values.data, trajectorySchema as never)) as Trajectory[];
}

async function teach(): Promise<void> {
  const chains = await readChains();
  const texts = chains
    .slice(0, 400)
    .flatMap((chain) => [` ${chain.prompt[0]!.content}`, trajectoryText(chain.segments)]);
  const specialTokens = tagTokens([labCodeProfile]);
  const tokenizer = trainTokenizer(texts, { vocabularySize: 512, specialTokens, prompt: "question" });
  const hidden = Number(values.hidden);
  const engine = await openEmbeddedEngine({
    config: {
      ...{
        architecture: "qwen2",
        vocabularySize: tokenizer.vocabularySize,
        hiddenSize: hidden,
        layers: Number(values.layers),
        heads: hidden / 32,
        kvHeads: hidden / 32,
      },
      ...{ headSize: 32, intermediateSize: 3 * hidden, maxContext: 768, ropeTheta: 1e6, rmsEpsilon: 1e-6 },
      ...{ tieEmbeddings: true, qkvBias: true },
    },
    ...{ seed, copyInit: true, threads: 1, optimizer: "muon" },
  });
  const examples = chains.flatMap((chain) => trajectoryToExample(chain, tokenizer, { maxTokens: 768 }).example ?? []);
  const special = new Set(tokenizer.specialTokens.values());
  const printable = Array.from({ length: tokenizer.vocabularySize }, (_, token) => token).filter(
    (token) => !special.has(token) && tokenizer.tokenBytes(token).every((byte) => byte >= 32 && byte < 127),
  );
  const digits = [..."0123456789"].flatMap((digit) => tokenizer.encode(digit));
  const copying = copyTask({ tokens: printable, digits, tokensPerBatch: 1024, length: 128, seed });
  const [steps, spelling] = [Number(values.steps), Number(values.spelling)];
  await trainSft({
    engine,
    source: inSequence([
      { source: copying, steps: 30 },
      { source: spellingDrill(tokenizer, { tokensPerBatch: 1024, length: 128, seed }), steps: spelling },
      { source: fixedExamples(examples, 2048, seed), steps },
    ]),
    folder: join(values.out, "sft-run"),
    seed,
    steps: 30 + spelling + steps,
    optimizer: { learningRate: 2e-3, matrixLearningRate: 7e-3, gradientClip: 1 },
    schedule: { warmupSteps: 20, decay: "linear", decayShare: 0.7, floor: 0.03 },
    onProgress: ({ done, figures }) => {
      if (done % 50 === 0) console.log(done, figures?.["loss"], Math.round(processorSeconds()));
    },
  });
  await engine.saveModel(join(values.out, "sft"));
  await tokenizer.save(join(values.out, "sft"));
  await engine.close();
}

/** One chain; the bare question is the prompt. */
function chainOf(task: Task, model: Model, temperature: number, sample: number, id = `${task.id}-${sample}`) {
  return runChain(task, {
    ...{ model, tools, id, profile: labCodeProfile, systemPrompt: false as const, enforcement: "repair" as const },
    limits: { maxSteps: 8, maxTokensPerCall: 250, maxCompletionTokens: 600 },
    sampling: { temperature, seed: sample },
  });
}

async function reinforce(): Promise<void> {
  const lab = await openLabModel(join(values.out, "sft"), { optimizer: "adamw", threads: 1 });
  const examples = (await readChains())
    .slice(0, 300)
    .flatMap((chain) => trajectoryToExample(chain, lab.tokenizer, { maxTokens: 768 }).example ?? []);
  await trainRl({
    engine: lab.engine,
    tokenizer: lab.tokenizer,
    folder: join(values.out, "rl-run"),
    seed,
    steps: Number(values.steps),
    collect: { groups: 8, samples: 8, maxRounds: 1, concurrency: 32 },
    credit: { baseline: "least-variance" },
    extraLosses: [guard(fixedExamples(examples, 1024, seed), 0.5)],
    tasks: (step, round, wanted) => practice(wanted, 10_000 * seed + step * 10 + round),
    rollout: (task, run) => chainOf(task, engineModel(run.policy, lab.tokenizer), 1, run.seed),
    reward: outcomeReward(grade, { format: { rule: "strict", profile: labCodeProfile } }),
    optimizer: { learningRate: 3e-4, beta1: 0.9, beta2: 0.95, gradientClip: 1 },
    schedule: { warmupSteps: 2, decay: "linear", decayShare: 1, floor: 0.2 },
    onProgress: ({ done, figures }) => console.log(done, figures?.["reward"], Math.round(processorSeconds())),
  });
  await writeFile(join(values.out, "rl-seconds.txt"), processorSeconds().toFixed(0));
  await lab.engine.saveModel(join(values.out, "rl"));
  await lab.tokenizer.save(join(values.out, "rl"));
  await lab.engine.close();
}

/** New training tasks, of the named kinds where some are named. */
function practice(wanted: number, number: number): Task[] {
  return ofNamedKinds({ count: wanted, seed: number, tests: 2 });
}

/** Tasks of known kinds, of the named ones alone where some are named. */
function ofNamedKinds(options: CodeTaskOptions): Task[] {
  if (values.kinds === "") return codeTasks(options);
  return codeTasks({ ...options, count: 4 * options.count })
    .filter(({ family }) => namedKinds.includes(family!))
    .slice(0, options.count);
}

/** The chains that the tests find right among those that the model samples in six tenths of the time, on the tasks of RL. */
async function ownRightChains(): Promise<Trajectory[]> {
  const lab = await openLabModel(join(values.out, "sft"), { threads: 1 });
  const right: Trajectory[] = [];
  const sampling = 0.6 * (await seconds());
  for (let step = 1; processorSeconds() < sampling; step++) {
    const tasks = practice(8, 10_000 * seed + step * 10);
    const samples = tasks.flatMap((task) => Array.from({ length: 8 }, (_, sample) => ({ task, sample })));
    await inParallel(samples, 32, async ({ task, sample }) => {
      const chain = await chainOf(task, lab.model, 1, 1000 * step + sample);
      if ((await grade(task, chain.answer)).correct === true && chain.violations.length === 0) right.push(chain);
    });
  }
  await lab.engine.close();
  console.log(`${right.length} right chains of its own`);
  return right;
}

/** Imitates chains from the model after SFT on until the time is spent: what RL has to be compared with. */
async function imitateMore(chains: readonly Trajectory[]): Promise<void> {
  const begin = processorSeconds();
  const left = (await seconds()) - begin;
  const lab = await openLabModel(join(values.out, "sft"), { optimizer: "muon", threads: 1 });
  const examples = chains.flatMap(
    (chain) => trajectoryToExample(chain, lab.tokenizer, { maxTokens: 768 }).example ?? [],
  );
  const source = fixedExamples(examples, 2048, seed + 1);
  const optimizer = { learningRate: 4e-4, matrixLearningRate: 1.4e-3, beta1: 0.9, beta2: 0.95, gradientClip: 1 };
  let steps = 0;
  for (let spent = 0; spent < 1; spent = (processorSeconds() - begin) / left) {
    const factor = Math.min(1, (steps + 1) / 10) * (1 - 0.95 * spent);
    await takeStep(lab.engine, await source.batch(steps++), { loss: { name: "cross_entropy" }, optimizer, factor });
  }
  console.log(`${steps} steps, ${Math.round(processorSeconds())} processor seconds`);
  await lab.engine.saveModel(join(values.out, method));
  await lab.tokenizer.save(join(values.out, method));
  await lab.engine.close();
}

interface Outcome {
  id: string;
  part: "instances" | "kinds";
  /** The first is greedy, the others are samples. */
  right: boolean[];
  /** The greedy chain ran more than one program. */
  repaired: boolean;
}

async function examine(): Promise<void> {
  const lab = await openLabModel(values.model, { threads: 1 });
  const asked = { split: "test" as const, seed: 100 + seed };
  const tasks = [
    ...ofNamedKinds({ ...asked, count }).map((task) => ({ task, part: "instances" as const })),
    ...(values.kinds === "" ? codeTasks({ ...asked, count: Math.round(count / 2), kinds: "held-out" }) : []).map(
      (task) => ({ task, part: "kinds" as const }),
    ),
  ];
  const outcomes = await inParallel(tasks, 16, async ({ task, part }): Promise<Outcome> => {
    const right: boolean[] = [];
    let repaired = false;
    for (let sample = 0; sample <= Number(values.samples); sample++) {
      const chain = await chainOf(task, lab.model, sample === 0 ? 0 : 1, sample);
      if (sample === 0) repaired = chain.segments.filter(({ tag }) => tag === "code").length > 1;
      right.push((await grade(task, chain.answer)).correct === true);
    }
    return { id: task.id, part, right, repaired };
  });
  await lab.engine.close();
  await writeFile(values.out, JSON.stringify(outcomes));
  said(outcomes);
  const byKind = Map.groupBy(outcomes, ({ id }) => kindOf(id));
  for (const [kind, some] of [...byKind].toSorted()) {
    const [greedy, sampled] = [some.map(({ right }) => right[0]!), some.flatMap(({ right }) => right.slice(1))];
    const count = (rights: readonly boolean[]) => `${rights.filter(Boolean).length} of ${rights.length}`;
    console.log(`  ${kind}: greedy ${count(greedy)}, sampled ${count(sampled)}`);
  }
  console.log(`${Math.round(processorSeconds())} processor seconds`);
}

/** `code-test-101-7-sum-above-stdin` is of the kind `sum-above`. */
function kindOf(id: string): string {
  return id.split("-").slice(4, -1).join("-");
}

function said(outcomes: readonly Outcome[]): void {
  const percent = (shares: readonly number[]) => `${(100 * mean(shares)).toFixed(1)} %`;
  for (const [part, belongs] of Object.entries(parts)) {
    const some = outcomes.filter(belongs);
    if (some.length === 0) continue;
    const sampled = some.map(({ right }) => right.slice(1));
    const k = sampled[0]!.length;
    const passes = k === 0 ? [] : sampled.map((one) => passAtK(k, one.filter(Boolean).length, k));
    console.log(
      `held-out ${part}, ${some.length} tasks: greedy ${percentWithInterval(successOfAll(some.map(({ right }) => Number(right[0]))))}, ` +
        `avg@${k} ${percent(sampled.flat().map(Number))}, pass@${k} ${percent(passes)}, ` +
        `repaired ${percent(some.map(({ repaired }) => Number(repaired)))}`,
    );
  }
}

/** The first list of exams against the others, paired by task. */
async function printTable(): Promise<void> {
  const pools = await Promise.all(
    files.map(async (list) => {
      const read = list.split(",").map(async (file) => JSON.parse(await readFile(file, "utf8")) as Outcome[]);
      return (await Promise.all(read)).flat();
    }),
  );
  const [before, ...others] = pools;
  said(before!);
  for (const after of others) {
    said(after);
    for (const [part, belongs] of Object.entries(parts)) {
      const of = (pool: readonly Outcome[]) => pool.filter(belongs);
      for (const attempts of ["greedy", "sampled"] as const) {
        const shares = (pool: readonly Outcome[]) =>
          of(pool).map(({ right }) => mean((attempts === "greedy" ? right.slice(0, 1) : right.slice(1)).map(Number)));
        if (of(before!).length === 0) continue;
        const { difference, pValue } = comparePaired(shares(before!), shares(after));
        const points = (value: number) => (100 * value).toFixed(1);
        console.log(
          `  ${part}, ${attempts}: ${points(difference.value)} points [${points(difference.low)}, ${points(difference.high)}], p = ${pValue.toPrecision(2)}`,
        );
      }
    }
  }
}
