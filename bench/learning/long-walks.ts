/**
 * Walks of four and five facts, which the shipped model was never taught (its plans end after three steps): what the team does with them, a
 * student that continues from the shipped model with the team's runs, and what it then answers.
 *
 *   node bench/learning/long-walks.ts team  [--worlds 131,132,133] [--count 200]      the team's success and the length of its chains
 *   node bench/learning/long-walks.ts teach --seed 1 --out walks-1                     a student
 *   node bench/learning/long-walks.ts exam  --model walks-1 --world 131 --out exam.json
 *   node bench/learning/long-walks.ts table before-1.json,before-2.json after-1.json,after-2.json
 */

import { readFile, writeFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { createWorld } from "../../src/lab/create-world.ts";
import { labModelUse } from "../../src/lab/lab-model-use.ts";
import { memoryLabTools } from "../../src/lab/memory-lab-tools.ts";
import { labProfile } from "../../src/lab/profile.ts";
import { openLabModel, shippedModel } from "../../src/lab/quickstart/open-model.ts";
import { type Family, families, longFamilies, worldTasks } from "../../src/lab/world-tasks.ts";
import { saveTrained } from "../../src/train/save-trained.ts";
import { byFamily, exam, gain, type Outcome, processorSeconds, share } from "./lab-exam.ts";
import { teach, teamChains } from "./student.ts";
import { teamChain } from "./team-chain.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seed: { type: "string", default: "1" },
    start: { type: "string", default: shippedModel },
    model: { type: "string", default: shippedModel },
    out: { type: "string", default: ".coa/long-walks" },
    runs: { type: "string", default: "700" },
    steps: { type: "string", default: "110" },
    rate: { type: "string", default: "6e-4" },
    world: { type: "string", default: "131" },
    worlds: { type: "string", default: "131,132,133" },
    /** Tasks of the long families, and of the usual five. */
    count: { type: "string", default: "300" },
    usual: { type: "string", default: "300" },
  },
});
const [method = "", ...exams] = positionals;
/** Half of the runs are long walks; the usual families beside them, so that plans of three steps are not unlearned. */
const taught: readonly Family[] = ["hop4", "hop3", "hop5", "mixed", "hop4", "hop2", "hop5", "hop1", "hop5", "hop3"];

if (method === "team") await examineTeam();
else if (method === "teach") await makeStudent();
else if (method === "exam") await takeExam();
else if (method === "table") await printTable();
else throw new Error(`team, teach, exam or table, not "${method}"`);

async function examineTeam(): Promise<void> {
  const { tokenizer, engine } = await openLabModel(values.start, { threads: 1 });
  await engine.close();
  for (const family of longFamilies) {
    const lengths: number[] = [];
    let asked = 0;
    for (const seed of values.worlds.split(",").map(Number)) {
      const world = createWorld({ seed, pages: 600, split: "test" });
      const tools = memoryLabTools(world);
      for (const task of worldTasks(world, { count: Number(values.count), families: [family], seed: 5 })) {
        asked++;
        const chain = await teamChain(task, tools);
        if (chain) lengths.push(tokenizer.encode(chain.segments.map(({ text }) => text).join(" ")).length);
      }
    }
    lengths.sort((a, b) => a - b);
    console.log(
      `${family}: ${lengths.length} of ${asked} right; texts of ${lengths[0]} to ${lengths.at(-1)} tokens, median ${lengths[lengths.length >> 1]}`,
    );
  }
}

async function makeStudent(): Promise<void> {
  const seed = Number(values.seed);
  const runs = { seed: 80 + seed, tasksPerWorld: 50, pages: 600, families: taught };
  const chains = await teamChains({ ...runs, count: Number(values.runs), profile: labProfile });
  const lab = await teach(chains, {
    start: values.start,
    steps: Number(values.steps),
    seed,
    batchTokens: 2048,
    rate: Number(values.rate),
  });
  await saveTrained({ model: values.out }, { ...lab, use: labModelUse([]) });
  await lab.engine.close();
  console.log(`${chains.length} runs, ${Math.round(processorSeconds())} processor seconds`);
}

async function takeExam(): Promise<void> {
  const lab = await openLabModel(values.model, { threads: 1 });
  const world = createWorld({ seed: Number(values.world), pages: 600, split: "test" });
  const long = await exam(lab.model, world, { count: Number(values.count), families: longFamilies });
  const usual = await exam(lab.model, world, { count: Number(values.usual), families });
  await lab.engine.close();
  const outcomes = [...long.outcomes, ...usual.outcomes];
  await writeFile(values.out, JSON.stringify(outcomes));
  console.log(`${byFamily(outcomes)} (${Math.round(processorSeconds())} s)`);
}

/** Exams of the start against exams of students, by family, paired by task and pooled. */
async function printTable(): Promise<void> {
  const pool = async (list: string) =>
    (
      await Promise.all(list.split(",").map(async (file) => JSON.parse(await readFile(file, "utf8")) as Outcome[]))
    ).flat();
  const [before, after] = await Promise.all([pool(exams[0]!), pool(exams[1]!)]);
  const isLong = ({ family }: Outcome) => (longFamilies as readonly string[]).includes(family);
  console.log(`long ${gain(before.filter(isLong), after.filter(isLong))}`);
  console.log(
    `usual ${gain(
      before.filter((one) => !isLong(one)),
      after.filter((one) => !isLong(one)),
    )}`,
  );
  console.log(byFamily(after), `all ${(100 * share(after)).toFixed(1)}`);
}
