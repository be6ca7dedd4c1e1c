/**
 * A window that is too small for the chain: old observations are cut, or summarised; or the model is taught by the team's chains as they
 * are in such a window; or it practises there, by RL whose rollouts are shortened on the way. Greedily. Walks of five facts need a
 * student of `long-walks.ts`.
 *
 *   node bench/learning/small-window.ts teach --model walks-3 --seed 1 --out narrow-1
 *   node bench/learning/small-window.ts run --model walks-3 --taught narrow-1 --seed 1 --out window-1.json
 *   node bench/learning/small-window.ts run --family mixed --window 330 --steps 12 --groups 12 --seed 1 --out mixed-1.json
 *   node bench/learning/small-window.ts table window-1.json,window-2.json,window-3.json
 *
 * A seed has a test world of its own; a table is paired by task and pooled over the files.
 */

import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { inParallel } from "../../src/base/work/limiter.ts";
import type { CompactionOptions } from "../../src/chain/compaction.ts";
import type { Example } from "../../src/core/engine.ts";
import { trajectoryToExample } from "../../src/dataset/trajectory-to-example.ts";
import { comparePaired } from "../../src/evaluate/statistics.ts";
import { createWorld } from "../../src/lab/create-world.ts";
import { labModelUse } from "../../src/lab/lab-model-use.ts";
import { trainingWorld } from "../../src/lab/lab-runs.ts";
import { memoryLabTools } from "../../src/lab/memory-lab-tools.ts";
import { type LabModel, openLabModel, shippedModel } from "../../src/lab/quickstart/open-model.ts";
import { type Family, worldTasks } from "../../src/lab/world-tasks.ts";
import { engineModel } from "../../src/models/engine-model.ts";
import { saveTrained } from "../../src/train/save-trained.ts";
import {
  cutOld,
  narrowChain,
  narrowExamples,
  narrowTasks,
  practiseInWindow,
  rise,
} from "../../test/fixtures/narrow-window.ts";
import { gain, type Outcome, processorSeconds, share } from "./lab-exam.ts";
import { imitate } from "./student.ts";
import { teamChain } from "./team-chain.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    window: { type: "string", default: "520" },
    /** Tokens that stay free for a turn: the more, the earlier observations are shortened. Default: an eighth of the window. */
    turn: { type: "string" },
    family: { type: "string", default: "hop5" },
    count: { type: "string", default: "300" },
    steps: { type: "string", default: "8" },
    groups: { type: "string", default: "8" },
    rate: { type: "string", default: "2e-4" },
    model: { type: "string", default: shippedModel },
    /** A model folder of `teach`: examined too, and the one that practises. */
    taught: { type: "string" },
    /** Which of the ways to live in the window `run` examines before anything is trained. */
    arms: { type: "string", default: "whole,cut,summarised" },
    /** Team runs and steps of `teach`. */
    runs: { type: "string", default: "300" },
    lessons: { type: "string", default: "120" },
    seed: { type: "string", default: "1" },
    /** Test world; default 140 + seed. */
    world: { type: "string" },
    out: { type: "string", default: "small-window.json" },
  },
});
const [method = "run", files = ""] = positionals;
const seed = Number(values.seed);
const window = Number(values.window);
const free = { maxTokensPerCall: Number(values.turn ?? Math.floor(window / 8)), answerReserve: 0 };
/** The best result of a search, or what a page is about. */
const summarised: CompactionOptions = {
  ...cutOld,
  summarise: (text) => /^1\. (.* http\S*)/.exec(text)?.[1] ?? /^\w+\. ([^.]*\.)/.exec(text)?.[1] ?? text,
};

/** What each way of living in the window answered. */
type Arms = Record<string, Outcome[]>;

if (method === "run") await run();
else if (method === "teach") await makeStudent();
else if (method === "table") await printTable();
else throw new Error(`run, teach or table, not "${method}"`);

async function run(): Promise<void> {
  const open = (folder: string) => openLabModel(folder, { optimizer: "adamw", threads: 1 });
  let lab = await open(values.model);
  const test = createWorld({ seed: Number(values.world ?? 140 + seed), pages: 600, split: "test" });
  const tasks = await narrowTasks(test, {
    count: Number(values.count),
    family: values.family as Family,
    seed: 5,
    tokens: window,
    free,
    tokenizer: lab.tokenizer,
  });
  const arms: Arms = {};
  const exam = async (name: string, compaction: CompactionOptions, tokens = window) => {
    const model = engineModel(await lab.engine.publish(), lab.tokenizer);
    const tools = memoryLabTools(test);
    const chains = await inParallel(tasks, 64, (task, at) =>
      narrowChain(task, { model, tools, compaction, tokens, free, temperature: 0, seed: at }),
    );
    const outcomes = tasks.map(({ id, family, answers }, at) => ({
      id,
      family: family ?? "",
      right: chains[at]!.answer?.trim() === answers[0],
    }));
    arms[name] = outcomes;
    const shortened = chains.filter(({ compactions }) => compactions).length;
    console.log(
      `${name}: ${(100 * share(outcomes)).toFixed(1)} % of ${tasks.length} right, ${shortened} shortened (${Math.round(processorSeconds())} s)`,
    );
  };
  const asked = values.arms.split(",");
  if (asked.includes("whole")) await exam("whole window", cutOld, 1024);
  if (asked.includes("cut")) await exam("cut", cutOld);
  if (asked.includes("summarised")) await exam("summarised", summarised);
  if (values.taught) {
    await lab.engine.close();
    lab = await open(values.taught);
    await exam("taught, cut", cutOld);
  }
  if (Number(values.steps) > 0) {
    await practise(lab);
    await exam(`${values.taught ? "taught and " : ""}trained, cut`, cutOld);
  }
  await lab.engine.close();
  await writeFile(values.out, JSON.stringify(arms));
}

/** A student of the team's chains as they are in the window, half of them whole. */
async function makeStudent(): Promise<void> {
  const lab = await openLabModel(values.model, { optimizer: "muon", threads: 1 });
  const { tokenizer } = lab;
  const examples: Example[] = [];
  let left = Number(values.runs);
  let tooLong = 0;
  for (let number = 0; left > 0; number++) {
    const world = trainingWorld({ seed: 60 + seed, pages: 600 }, number);
    const tools = memoryLabTools(world);
    for (const task of worldTasks(world, { count: Math.min(left, 50), families: [values.family as Family], seed })) {
      const chain = await teamChain(task, tools);
      if (!chain) continue;
      left--;
      const narrow = await narrowExamples(task, chain, { tools, tokens: window, free, tokenizer });
      examples.push(...narrow);
      if (narrow.length === 0) tooLong++;
      const { example } = trajectoryToExample(chain, tokenizer, { maxTokens: 1024 });
      if (example && left % 2 === 0) examples.push(example);
    }
  }
  await imitate(lab, examples, { steps: Number(values.lessons), seed, rate: Number(values.rate) });
  await saveTrained({ model: values.out }, { ...lab, use: labModelUse([]) });
  await lab.engine.close();
  console.log(
    `${values.runs} runs, ${tooLong} too long for the window, ${Math.round(processorSeconds())} processor seconds`,
  );
}

async function practise(lab: LabModel): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "coa-window-"));
  const result = await practiseInWindow(lab, {
    folder: join(folder, "run"),
    seed,
    steps: Number(values.steps),
    collect: { groups: Number(values.groups) },
    window,
    free,
    world: trainingWorld({ seed: 70 + seed, pages: 600 }, 5000),
    family: values.family as Family,
    optimizer: { learningRate: Number(values.rate), beta1: 0.9, beta2: 0.95, gradientClip: 1 },
    onProgress: ({ done, figures }) => console.log(done, figures?.["reward"], Math.round(processorSeconds())),
  });
  const { metrics, rollouts, shortened } = result;
  const { value, low, high } = rise(result);
  console.log(`rewards ${metrics.map((line) => Number(line["meanReward"]).toFixed(2)).join(" ")}`);
  console.log(`largest ratioGap ${Math.max(...metrics.map((line) => Number(line["ratioGap"] ?? 0))).toPrecision(2)}`);
  console.log(
    `last third of the steps against the first: ${value.toFixed(3)} [${low.toFixed(3)}, ${high.toFixed(3)}], over groups`,
  );
  console.log(`${rollouts} rollouts, ${(100 * shortened).toFixed(1)} % shortened`);
  await rm(folder, { recursive: true });
}

/** Every way against cutting. */
async function printTable(): Promise<void> {
  const taken = await Promise.all(
    files.split(",").map(async (file) => JSON.parse(await readFile(file, "utf8")) as Arms),
  );
  const pooled = (arm: string) => taken.flatMap((arms) => arms[arm] ?? []);
  for (const arm of Object.keys(taken[0]!)) {
    const outcomes = pooled(arm);
    const right = outcomes.map((one) => Number(one.right));
    const { difference } = comparePaired(
      pooled("cut").map((one) => Number(one.right)),
      right,
    );
    const points = (value: number) => (100 * value).toFixed(1);
    console.log(
      `${arm}: ${points(share(outcomes))} % (${taken.map((arms) => points(share(arms[arm]!))).join(", ")}); against cut ${gain(pooled("cut"), outcomes)}, ${points(difference.value)} points [${points(difference.low)}, ${points(difference.high)}]`,
    );
  }
}
