/**
 * `coa train rl --preset faults` as a user calls it: the shipped model, tasks of `coa lab tasks`, nothing else set. Three seeds, each
 * with training and test worlds of its own; 1,000 test tasks among failing searches and 1,000 where they work, greedy and paired.
 *
 *   node bench/learning/preset-faults.ts --seeds 1,2,3 --out .coa/preset-faults
 *
 * What is there from an earlier call is not done again. Several calls may work on different seeds; `--table` prints what is there.
 */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { comparePaired } from "../../src/evaluate/statistics.ts";
import { createWorld } from "../../src/lab/create-world.ts";
import { openLabModel } from "../../src/lab/quickstart/open-model.ts";
import { parseFaultPlan } from "../../src/tools/with-faults.ts";
import { exam, gain, type Outcome, searching } from "./lab-exam.ts";

const { values } = parseArgs({
  options: {
    seeds: { type: "string", default: "1,2,3" },
    model: { type: "string", default: "weights/afm-lab-2m" },
    count: { type: "string", default: "1000" },
    preset: { type: "string", default: "faults" },
    out: { type: "string", default: ".coa/preset-faults" },
    table: { type: "boolean", default: false },
  },
});
const seeds = values.seeds.split(",").map(Number);
/** Test worlds that no earlier stage asked about. */
const testWorld = (seed: number) => 300 + seed;
const place = (seed: number, name: string) => join(values.out, `seed-${seed}`, name);
const command = ["coa train rl tasks.jsonl --model afm-lab-2m --preset", values.preset];

interface Exams {
  failing: Outcome[];
  clean: Outcome[];
}

if (!values.table) for (const seed of seeds) await oneSeed(seed);
await printTable();

async function oneSeed(seed: number): Promise<void> {
  await mkdir(place(seed, ""), { recursive: true });
  const tasks = place(seed, "tasks.jsonl");
  // Worlds of the train split from 5000 on: neither the shipped model's training nor the quickstart's RL used them.
  coa("lab", "tasks", "--seed", String(5000 + seed), "--count", "1000", "--out", tasks);
  await examine(seed, "start", values.model);
  const run = place(seed, "run");
  coa("train", "rl", tasks, "--model", values.model, "--preset", values.preset, "--seed", String(seed), "--out", run);
  await examine(seed, "trained", join(run, "model"));
}

function coa(...words: string[]): void {
  const { status } = spawnSync(process.execPath, ["src/cli/main.ts", ...words], { stdio: "inherit" });
  if (status !== 0) throw new Error(`coa ${words.join(" ")} ended with ${status}`);
}

async function examine(seed: number, name: string, model: string): Promise<void> {
  const file = place(seed, `${name}.json`);
  if (existsSync(file)) return;
  const lab = await openLabModel(model, { threads: 1 });
  const world = createWorld({ seed: testWorld(seed), pages: 600, split: "test" });
  const count = Number(values.count);
  const plan = parseFaultPlan(`web_search:empty=0.2,web_search:timeout=0.2,seed=${testWorld(seed)}`);
  const failing = await exam(lab.model, world, { count, families: searching, plan });
  const clean = await exam(lab.model, world, { count });
  await lab.engine.close();
  await writeFile(file, JSON.stringify({ failing: failing.outcomes, clean: clean.outcomes } satisfies Exams));
}

async function printTable(): Promise<void> {
  const done = seeds.filter((seed) => existsSync(place(seed, "trained.json")));
  const read = async (seed: number, name: string) => JSON.parse(await readFile(place(seed, name), "utf8")) as Exams;
  const pairs = await Promise.all(
    done.map(async (seed) => ({ before: await read(seed, "start.json"), after: await read(seed, "trained.json") })),
  );
  console.log(command.join(" "));
  for (const kind of ["failing", "clean"] as const) {
    for (const [at, { before, after }] of pairs.entries())
      console.log(`seed ${done[at]}, ${kind}: ${gain(before[kind], after[kind])}`);
    const named = (name: "before" | "after") =>
      pairs.flatMap((pair, at) => pair[name][kind].map((one) => ({ ...one, id: `${at} ${one.id}` })));
    const [first, second] = [named("before"), named("after")];
    const numbers = (outcomes: readonly Outcome[]) => outcomes.map(({ right }) => Number(right));
    const { difference } = comparePaired(numbers(first), numbers(second));
    const points = [difference.value, difference.low, difference.high].map((share) => (100 * share).toFixed(1));
    console.log(`all, ${kind}: ${gain(first, second)}; ${points[0]} points [${points[1]}, ${points[2]}]`);
  }
}
