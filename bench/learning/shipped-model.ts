/**
 * How the shipped model was made from the one after two rounds of SFT (`coa quickstart --full`), stage by stage.
 *
 *   node bench/learning/shipped-model.ts rounds --start full/sft/model --out ship     all further rounds; the result is ship/model
 *   node bench/learning/shipped-model.ts exam --model ship/model --world 124 --clean 1000 --disturbed 500 --long-names 500 --out ship-124.json
 *
 * One round, and the mean of models, are commands of their own:
 *
 *   node bench/learning/shipped-model.ts team --start full/sft/model --out third --runs 3000 --failing 700 --steps 150
 *   node bench/learning/shipped-model.ts mean --start third/model --model third/model,fourth/model --share 0 --out mean
 *
 * A round is imitation of team runs that still teach, and of runs among failing searches. An exam is greedy, in one test world: tasks
 * of all families where searches work, tasks among failing searches, and, with `--long-names`, tasks of a world whose names are longer
 * than any in training.
 */

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { seededRandom } from "../../src/base/work/random.ts";
import type { Trajectory } from "../../src/core/trajectory.ts";
import { trajectoryToExample } from "../../src/dataset/trajectory-to-example.ts";
import { averageModels } from "../../src/engines/embedded/files/model-folder.ts";
import { createWorld } from "../../src/lab/create-world.ts";
import { labModelUse } from "../../src/lab/lab-model-use.ts";
import { trainingWorld } from "../../src/lab/lab-runs.ts";
import { disturbances, memoryLabTools } from "../../src/lab/memory-lab-tools.ts";
import { openLabModel } from "../../src/lab/quickstart/open-model.ts";
import { type Family, worldTasks } from "../../src/lab/world-tasks.ts";
import { withFaults } from "../../src/tools/with-faults.ts";
import { fixedExamples } from "../../src/train/example-source.ts";
import { saveTrained } from "../../src/train/save-trained.ts";
import { takeStep } from "../../src/train/take-step.ts";
import { engineTeacher } from "../../src/train/token-teacher.ts";
import { byFamily, exam, processorSeconds, searching, share } from "./lab-exam.ts";
import { withOtherNames } from "./other-names.ts";
import { teamChain } from "./team-chain.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seed: { type: "string", default: "1" },
    /** The model after SFT of `coa quickstart --full`. */
    start: { type: "string", default: ".coa/quickstart-full/sft/model" },
    model: { type: "string", default: "" },
    out: { type: "string", default: ".coa/shipped-model" },
    steps: { type: "string", default: "150" },
    rate: { type: "string", default: "3e-4" },
    /** Team runs where searches work, of which the ones that surprise the model are taught, and runs among failing searches. */
    runs: { type: "string", default: "3000" },
    failing: { type: "string", default: "700" },
    /** What is hard for the start is taught more often. */
    families: { type: "string", default: "hop1,hop2,hop3,mixed,arith,hop2,hop3,mixed" },
    "failing-families": { type: "string", default: "hop1,hop2,mixed,hop3" },
    /** Share of training worlds whose names are of another form than the lab's own. */
    "other-names": { type: "string", default: "0" },
    /** How much of the mean is the start's weights. */
    share: { type: "string", default: "0.35" },
    world: { type: "string", default: "111" },
    clean: { type: "string", default: "1000" },
    disturbed: { type: "string", default: "1000" },
    "long-names": { type: "string", default: "0" },
  },
});
const [method] = positionals;

interface Round {
  seed: number;
  /** Team runs where searches work, of which the ones that surprise the model are taught, and runs among failing searches. */
  runs: number;
  failing: number;
  families: readonly Family[];
  failingFamilies: readonly Family[];
  steps: number;
  rate: number;
  /** Share of training worlds whose names are of another form than the lab's own. */
  otherNames: number;
}

const asked: Round = {
  seed: Number(values.seed),
  runs: Number(values.runs),
  failing: Number(values.failing),
  families: values.families.split(",") as Family[],
  failingFamilies: values["failing-families"].split(",") as Family[],
  steps: Number(values.steps),
  rate: Number(values.rate),
  otherNames: Number(values["other-names"]),
};

if (method === "rounds") await allRounds();
else if (method === "team") await teach(asked, values.start, join(values.out, "model"));
else if (method === "mean")
  await averageModels(values.model.split(","), values.out, {
    start: { folder: values.start, share: Number(values.share) },
  });
else if (method === "exam") await takeExam();
else throw new Error(`rounds, team, mean or exam, not "${method}"`);

/** The shipped model's rounds. Two that begin alike and their mean, or the mean with the round before, are steadier than one alone. */
async function allRounds(): Promise<void> {
  const folder = (name: string) => join(values.out, name);
  const round = { families: asked.families, failingFamilies: asked.failingFamilies, rate: 2e-4, otherNames: 0.4 };
  const mixedMore: Family[] = ["mixed", "hop2", "mixed", "hop1"];
  const third = { ...round, seed: 4, runs: 3000, failing: 700, steps: 240, rate: 3e-4, otherNames: 0.5 };
  const fifth = { ...round, seed: 6, runs: 2000, failing: 1200, steps: 220 };
  const sixth = { ...round, seed: 8, runs: 1500, failing: 2000, steps: 240, otherNames: 0.3 };
  await teach(third, values.start, folder("third"));
  await teach({ ...round, seed: 5, runs: 1600, failing: 500, steps: 160 }, folder("third"), folder("fourth"));
  await teach(fifth, folder("fourth"), folder("fifth-6"));
  await teach({ ...fifth, seed: 7 }, folder("fourth"), folder("fifth-7"));
  await averageModels([folder("fourth"), folder("fifth-6"), folder("fifth-7")], folder("fifth"));
  await teach(sixth, folder("fifth"), folder("sixth-alone"));
  await averageModels([folder("fifth"), folder("sixth-alone")], folder("sixth"));
  await teach({ ...sixth, seed: 9, failingFamilies: mixedMore }, folder("sixth"), folder("seventh-alone"));
  await averageModels([folder("sixth"), folder("seventh-alone")], folder("model"));
}

async function teach(round: Round, start: string, out: string): Promise<void> {
  const { seed, steps, rate } = round;
  const lab = await openLabModel(start, { optimizer: "muon", threads: 1 });
  const toExample = (chain: Trajectory) => trajectoryToExample(chain, lab.tokenizer, { maxTokens: 1024 }).example ?? [];
  const clean = (await teamChains(round, false)).flatMap(toExample);
  const failing = (await teamChains(round, true)).flatMap(toExample);
  // Most chains are known by heart: the ones with a token that still surprises are the ones that teach.
  const scores = await engineTeacher(lab.engine, lab.tokenizer, { microBatchTokens: 16_384 }).score(clean, 1);
  const surprise = clean.map(({ weights }, at) =>
    Math.max(...scores[at]!.map((logprob, token) => (weights![token]! > 0 ? -logprob : 0))),
  );
  const hard = clean.filter((_, at) => surprise[at]! > 0.3);
  const known = clean.filter((_, at) => surprise[at]! <= 0.3).slice(0, hard.length);
  const source = fixedExamples([...hard, ...hard, ...known, ...failing], 3072, seed);
  console.log(
    `${hard.length} of ${clean.length} runs surprise, ${failing.length} among failing searches: ${source.stepsPerEpoch} steps a pass, ${Math.round(processorSeconds())} processor seconds so far`,
  );
  const optimizer = {
    learningRate: rate,
    matrixLearningRate: rate * 3.3,
    beta1: 0.9,
    beta2: 0.95,
    gradientClip: 1,
  };
  for (let step = 0; step < steps; step++) {
    const factor = Math.min(1, (step + 1) / 10) * (1 - 0.98 * (step / steps));
    const { loss } = await takeStep(lab.engine, await source.batch(step), {
      loss: { name: "cross_entropy" },
      optimizer,
      factor,
    });
    if (step % 10 === 0) console.log(step, loss.toFixed(4), Math.round(processorSeconds()));
  }
  const training = { stage: "sft", from: "coa quickstart --full", seed };
  await saveTrained({ model: out }, { ...lab, use: labModelUse([]), training });
  await lab.engine.close();
  console.log(`${Math.round(processorSeconds())} processor seconds`);
}

/** Right runs of the scripted team in worlds that no earlier stage has seen. */
async function teamChains(round: Round, failing: boolean): Promise<Trajectory[]> {
  const { seed } = round;
  const count = failing ? round.failing : round.runs;
  const families = failing ? round.failingFamilies : round.families;
  const chains: Trajectory[] = [];
  for (let number = failing ? 200 : 0; chains.length < count; number++) {
    const own = trainingWorld({ seed: 60 + seed, pages: 600 }, number);
    const random = seededRandom("other names", seed, number);
    const world = random.next() < round.otherNames ? withOtherNames(own, random, 0.8) : own;
    const clean = memoryLabTools(world);
    const tools = failing ? withFaults(clean, disturbances.empty(2000 + seed, 0.45)) : clean;
    for (const task of worldTasks(world, { count: 40, families, seed })) {
      const chain = await teamChain(task, tools);
      if (chain) chains.push(chain);
    }
  }
  return chains;
}

async function takeExam(): Promise<void> {
  const lab = await openLabModel(values.model || values.start, { threads: 1 });
  const seed = Number(values.world);
  const world = createWorld({ seed, pages: 600, split: "test" });
  const taken = {
    clean: (await exam(lab.model, world, { count: Number(values.clean) })).outcomes,
    failing: (
      await exam(lab.model, world, {
        count: Number(values.disturbed),
        families: searching,
        plan: disturbances.empty(seed),
      })
    ).outcomes,
    // Seeds beyond the short names have words of four syllables; training had three.
    longNames: (
      await exam(lab.model, createWorld({ seed: 1000 + seed, pages: 600, split: "test" }), {
        count: Number(values["long-names"]),
      })
    ).outcomes,
  };
  await lab.engine.close();
  await writeFile(values.out, JSON.stringify(taken));
  for (const [name, outcomes] of Object.entries(taken)) {
    if (outcomes.length > 0) console.log(`${name} ${(100 * share(outcomes)).toFixed(1)} (${byFamily(outcomes)})`);
  }
  console.log(`${Math.round(processorSeconds())} processor seconds`);
}
