/**
 * Does the check check? Worlds in which half of the things also have a page that is out of date, contradicted or about another one of that
 * name: the area under the curve of the check's scores, for the team and for a student that is trained further from a model, and the best of four chains
 * chosen by the check against the majority of the same four.
 *
 *   node bench/learning/check-scores.ts team  [--seeds 1,2,3] [--count 200]
 *   node bench/learning/check-scores.ts student --seed 1 --steps 150 --out seed-1.json
 *   node bench/learning/check-scores.ts table seed-1.json,seed-2.json,seed-3.json
 */
import { readFile, writeFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { checkScore } from "../../src/chain/check-score.ts";
import { inParallel } from "../../src/core/limiter.ts";
import { checkCalibration } from "../../src/evaluate/check-calibration.ts";
import { comparePaired, mean } from "../../src/evaluate/statistics.ts";
import { createWorld } from "../../src/lab/create-world.ts";
import { memoryLabTools } from "../../src/lab/memory-lab-tools.ts";
import { labProfile } from "../../src/lab/profile.ts";
import { runLabChain, shippedModel } from "../../src/lab/quickstart/open-model.ts";
import { scriptedSpecialists } from "../../src/lab/scripted-specialists.ts";
import { type Family, worldTasks } from "../../src/lab/world-tasks.ts";
import { runTeam } from "../../src/team/run-team.ts";
import { processorSeconds } from "./lab-exam.ts";
import { teach, teamChains } from "./student.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seed: { type: "string", default: "1" },
    seeds: { type: "string", default: "1,2,3" },
    start: { type: "string", default: shippedModel },
    steps: { type: "string", default: "150" },
    count: { type: "string", default: "200" },
    out: { type: "string", default: "check-scores.json" },
  },
});
const [method = "team", files = ""] = positionals;
const families: readonly Family[] = ["hop1", "hop2", "mixed"];
const doubtful = 0.5;

/** Chains of one task: the first is greedy, four are samples. */
interface Outcome {
  answers: (string | null)[];
  right: boolean[];
  checks: (number | null)[];
}

if (method === "team") await examineTeam();
else if (method === "student") await writeFile(values.out, JSON.stringify(await examineStudent(Number(values.seed))));
else if (method === "table") await printTable();
else throw new Error(`team, student or table, not "${method}"`);

function examOf(seed: number) {
  const world = createWorld({ seed: 90 + seed, pages: 600, split: "test", doubtful });
  const tasks = worldTasks(world, { count: Number(values.count), families, seed: 5 });
  return { tasks, tools: memoryLabTools(world) };
}

async function examineTeam(): Promise<void> {
  const all: { check: number | undefined; right: boolean; again: boolean }[] = [];
  for (const seed of values.seeds.split(",").map(Number)) {
    const { tasks, tools } = examOf(seed);
    for (const task of tasks) {
      const run = await runTeam(task, { roles: scriptedSpecialists(), tools });
      const check = run.scores?.at(-1) ?? undefined;
      all.push({ check, right: run.answer === task.answers[0], again: run.scores!.length > 1 });
    }
  }
  console.log(`${all.length} runs, right ${percent(all.map(({ right }) => Number(right)))}`);
  console.log(`checked low and planned anew ${percent(all.map(({ again }) => Number(again)))}`);
  printCalibration(all);
}

async function examineStudent(seed: number): Promise<Outcome[]> {
  const runs = { seed: 70 + seed, tasksPerWorld: 40, pages: 600, families, doubtful };
  const chains = await teamChains({ ...runs, count: 1000, profile: labProfile, wrong: true });
  const lab = await teach(chains, {
    start: values.start,
    steps: Number(values.steps),
    seed,
    batchTokens: 1536,
    rate: 2e-3,
  });
  const { tasks, tools } = examOf(seed);
  const outcomes = await inParallel(tasks, 32, async (task): Promise<Outcome> => {
    const outcome: Outcome = { answers: [], right: [], checks: [] };
    for (let sample = 0; sample < 5; sample++) {
      const temperature = sample === 0 ? 0 : 1;
      const chain = await runLabChain(task, { model: lab.model, tools, temperature, seed: sample });
      outcome.answers.push(chain.answer?.trim() ?? null);
      outcome.right.push(chain.answer?.trim() === task.answers[0]);
      outcome.checks.push(checkScore(labProfile, chain) ?? null);
    }
    return outcome;
  });
  await lab.engine.close();
  console.log(
    `seed ${seed}: ${percent(outcomes.map(({ right }) => Number(right[0])))} (${Math.round(processorSeconds())} s)`,
  );
  return outcomes;
}

async function printTable(): Promise<void> {
  const read = files.split(",").map(async (file) => JSON.parse(await readFile(file, "utf8")) as Outcome[]);
  const outcomes = (await Promise.all(read)).flat();
  const chains = outcomes.flatMap(({ right, checks }) =>
    right.map((one, at) => ({ right: one, check: checks[at] ?? undefined })),
  );
  console.log(`${outcomes.length} tasks, greedy ${percent(outcomes.map(({ right }) => Number(right[0])))}`);
  printCalibration(chains);
  const samples = outcomes.map(({ answers, right, checks }) =>
    answers.slice(1).map((answer, at) => ({ answer, right: right[at + 1]!, check: checks[at + 1] ?? 0 })),
  );
  const byCheck = samples.map((some) =>
    Number(some.reduce((best, one) => (one.check > best.check ? one : best)).right),
  );
  const byVotes = samples.map((some) => {
    const votes = [
      ...Map.groupBy(
        some.filter(({ answer }) => answer !== null),
        ({ answer }) => answer,
      ).values(),
    ];
    return Number(votes.toSorted((a, b) => b.length - a.length)[0]?.[0]?.right ?? false);
  });
  const { difference, pValue } = comparePaired(byVotes, byCheck);
  const points = (value: number) => (100 * value).toFixed(1);
  console.log(
    `of four: by check ${percent(byCheck)}, by majority ${percent(byVotes)}, any right ${percent(samples.map((some) => Number(some.some(({ right }) => right))))}`,
  );
  console.log(
    `  check against majority ${points(difference.value)} points [${points(difference.low)}, ${points(difference.high)}], p = ${pValue.toPrecision(2)}`,
  );
}

function printCalibration(chains: readonly { check?: number | undefined; right: boolean }[]): void {
  const records = chains.map(({ check, right }) => ({
    ...(check !== undefined && { check }),
    grade: { correct: right, score: Number(right), reason: "" },
  }));
  const calibration = checkCalibration(records);
  if (!calibration) throw new Error("nothing was checked");
  console.log(`area under the curve ${calibration.auc?.toFixed(3) ?? "–"}, Brier ${calibration.brier.toFixed(3)}`);
  for (const { score, runs, right } of calibration.groups) console.log(`  score ${score}: ${right} of ${runs} right`);
}

function percent(shares: readonly number[]): string {
  return `${(100 * mean(shares)).toFixed(1)} %`;
}
