/**
 * A window that is too small for the chain: old observations are cut, or summarised, or the model practises in such a window. Greedily,
 * on walks of some facts, and RL whose rollouts all are shortened on the way. Walks of five facts need a student of `long-walks.ts`.
 *
 *   node bench/learning/small-window.ts run --model walks-1 --seed 1 --window 520 --out window-1.json
 *   node bench/learning/small-window.ts table window-1.json,window-2.json,window-3.json
 *
 * A seed has a test world of its own; a table is paired by task and pooled over the files.
 */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import type { CompactionOptions } from "../../src/chain/compaction.ts";
import { inParallel } from "../../src/core/limiter.ts";
import { comparePaired } from "../../src/evaluate/statistics.ts";
import { createWorld } from "../../src/lab/create-world.ts";
import { trainingWorld } from "../../src/lab/lab-runs.ts";
import { memoryLabTools } from "../../src/lab/memory-lab-tools.ts";
import { type LabModel, openLabModel, shippedModel } from "../../src/lab/quickstart/open-model.ts";
import { type Family, worldTasks } from "../../src/lab/world-tasks.ts";
import { engineModel } from "../../src/models/engine-model.ts";
import { cutOld, narrowChain, practiseInWindow } from "../../test/fixtures/narrow-window.ts";
import { gain, type Outcome, processorSeconds, share } from "./lab-exam.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    window: { type: "string", default: "520" },
    family: { type: "string", default: "hop5" },
    count: { type: "string", default: "300" },
    steps: { type: "string", default: "8" },
    groups: { type: "string", default: "8" },
    rate: { type: "string", default: "2e-4" },
    model: { type: "string", default: shippedModel },
    seed: { type: "string", default: "1" },
    /** Test world; 140 + seed unless said. */
    world: { type: "string" },
    out: { type: "string", default: "small-window.json" },
  },
});
const [method = "run", files = ""] = positionals;
const seed = Number(values.seed);
const window = Number(values.window);
/** The first line of what was found or read: the best result, or what the page is about. */
const summarised: CompactionOptions = {
  ...cutOld,
  maxTokens: 24,
  summarise: async (text) => ({
    text: text
      .split(/\n|(?<=\.) /)
      .slice(0, 2)
      .join(" "),
  }),
};

/** What each way of living in the window answered. */
type Arms = Record<string, Outcome[]>;

if (method === "run") await run();
else if (method === "table") await printTable();
else throw new Error(`run or table, not "${method}"`);

async function run(): Promise<void> {
  const lab = await openLabModel(values.model, { optimizer: "adamw", threads: 1 });
  const test = createWorld({ seed: Number(values.world ?? 140 + seed), pages: 600, split: "test" });
  const tasks = worldTasks(test, { count: Number(values.count), families: [values.family as Family], seed: 5 });
  const arms: Arms = {};
  const exam = async (name: string, compaction: CompactionOptions, tokens = window) => {
    const model = engineModel(await lab.engine.publish(), lab.tokenizer);
    const tools = memoryLabTools(test);
    const chains = await inParallel(tasks, 64, (task, at) =>
      narrowChain(task, { model, tools, compaction, tokens, temperature: 0, seed: at }),
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
  await exam("whole window", cutOld, 1024);
  await exam("cut", cutOld);
  await exam("summarised", summarised);
  if (Number(values.steps) > 0) {
    await practise(lab);
    await exam("trained, cut", cutOld);
  }
  await lab.engine.close();
  await writeFile(values.out, JSON.stringify(arms));
}

async function practise(lab: LabModel): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "coa-window-"));
  const { metrics, rollouts, shortened } = await practiseInWindow(lab, {
    folder: join(folder, "run"),
    seed,
    steps: Number(values.steps),
    groups: Number(values.groups),
    window,
    world: trainingWorld({ seed: 70 + seed, pages: 600 }, 5000),
    family: values.family as Family,
    optimizer: { learningRate: Number(values.rate), beta1: 0.9, beta2: 0.95, gradientClip: 1 },
    onProgress: ({ done, figures }) => console.log(done, figures?.["reward"], Math.round(processorSeconds())),
  });
  console.log(`rewards ${metrics.map((line) => Number(line["meanReward"]).toFixed(2)).join(" ")}`);
  console.log(`largest ratioGap ${Math.max(...metrics.map((line) => Number(line["ratioGap"] ?? 0))).toPrecision(2)}`);
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
