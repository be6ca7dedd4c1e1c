/**
 * Does the check check? Worlds in which half of the things also have a page that is out of date, contradicted or about another one of that
 * name: the area under the curve of the check's scores, for the team and for a student that is trained further from a model, and the best of four chains
 * chosen by the check against the majority of the same four. The student imitates the team; then it works in training worlds itself,
 * and the grades of its answers teach its check, beside checking examples and chains of the team (`--rollouts 0` leaves that out).
 *
 *   node bench/learning/check-scores.ts team  [--seeds 1,2,3] [--count 200]
 *   node bench/learning/check-scores.ts student --seed 1 --steps 150 --rollouts 1800 --check-steps 620 --out seed-1.json
 *   node bench/learning/check-scores.ts table seed-1.json,seed-2.json,seed-3.json
 */

import { readFile, writeFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { inParallel } from "../../src/base/work/limiter.ts";
import { sampleSeed } from "../../src/base/work/random.ts";
import { checkScore } from "../../src/chain/check-score.ts";
import type { Trajectory } from "../../src/core/trajectory.ts";
import { comparePaired, mean } from "../../src/evaluate/statistics.ts";
import { createWorld, type World } from "../../src/lab/create-world.ts";
import { labModelUse } from "../../src/lab/lab-model-use.ts";
import { trainingWorld } from "../../src/lab/lab-runs.ts";
import { memoryLabTools } from "../../src/lab/memory-lab-tools.ts";
import { labProfile } from "../../src/lab/profile.ts";
import { type LabModel, runLabChain, shippedModel } from "../../src/lab/quickstart/open-model.ts";
import { scriptedSpecialists } from "../../src/lab/scripted-specialists.ts";
import { type Family, worldTasks } from "../../src/lab/world-tasks.ts";
import { runTeam } from "../../src/team/run-team.ts";
import { corrections } from "../../src/train/corrections.ts";
import { saveTrained } from "../../src/train/save-trained.ts";
import type { Group } from "../../src/train/sort-groups.ts";
import { checkCalibration } from "./check-calibration.ts";
import { checkCorrector } from "./check-corrector.ts";
import { checkingExamples } from "./checking-examples.ts";
import { withDoubtfulPages } from "./doubtful-pages.ts";
import { processorSeconds } from "./lab-exam.ts";
import { examplesOf, imitate, teach, teamChains } from "./student.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seed: { type: "string", default: "1" },
    seeds: { type: "string", default: "1,2,3" },
    start: { type: "string", default: shippedModel },
    steps: { type: "string", default: "150" },
    chains: { type: "string", default: "1000" },
    rate: { type: "string", default: "2e-3" },
    rollouts: { type: "string", default: "1800" },
    "check-steps": { type: "string", default: "620" },
    batch: { type: "string", default: "1536" },
    /** Where to keep the student. */
    save: { type: "string", default: "" },
    count: { type: "string", default: "200" },
    out: { type: "string", default: "check-scores.json" },
  },
});
const [method = "team", files = ""] = positionals;
const families: readonly Family[] = ["hop1", "hop2", "mixed"];
const doubtful = (world: World) => withDoubtfulPages(world, 0.5);

/** A chain of a student. */
interface Answered {
  answer: string | null;
  right: boolean;
  check: number | null;
  /** Log-probabilities: of the score, of the thought before it, of everything the student wrote. */
  score: number;
  thought: number;
  all: number;
  tokens: number;
}

/** Chains of one task: the first is greedy, four are samples. */
type Outcome = Answered[];

if (method === "team") await examineTeam();
else if (method === "student") await writeFile(values.out, JSON.stringify(await examineStudent(Number(values.seed))));
else if (method === "table") await printTable();
else throw new Error(`team, student or table, not "${method}"`);

function examOf(seed: number) {
  const world = doubtful(createWorld({ seed: 90 + seed, pages: 600, split: "test" }));
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
  console.log(`checked low and made a new plan ${percent(all.map(({ again }) => Number(again)))}`);
  printCalibration(all);
}

async function examineStudent(seed: number): Promise<Outcome[]> {
  const runs = { seed: 70 + seed, tasksPerWorld: 40, pages: 600, families, change: doubtful };
  const chains = await teamChains({ ...runs, count: Number(values.chains), profile: labProfile, wrong: true });
  const lab = await teach(chains, {
    ...{ start: values.start, steps: Number(values.steps), seed },
    ...{ batchTokens: Number(values.batch), rate: Number(values.rate) },
  });
  if (Number(values.rollouts) > 0) await teachCheck(lab, chains, seed);
  if (values.save) await saveTrained({ model: values.save }, { ...lab, use: labModelUse([]) });
  const { tasks, tools } = examOf(seed);
  const outcomes = await inParallel(tasks, 32, async (task): Promise<Outcome> => {
    const outcome: Outcome = [];
    for (let sample = 0; sample < 5; sample++) {
      const temperature = sample === 0 ? 0 : 1;
      const chain = await runLabChain(task, {
        model: lab.model,
        tools,
        temperature,
        seed: sampleSeed(seed, task.id, sample),
      });
      const answer = chain.answer?.trim() ?? null;
      const at = chain.segments.findLastIndex(({ tag }) => tag === "double_check");
      const sum = (segments: Trajectory["segments"]) =>
        segments.flatMap(({ logprobs }) => logprobs ?? []).reduce((total, logprob) => total + logprob, 0);
      outcome.push({
        ...{ answer, right: answer === task.answers[0], check: checkScore(labProfile, chain) ?? null },
        score: sum(chain.segments.slice(at, at + 1)),
        thought: sum(chain.segments.slice(Math.max(0, at - 1), at)),
        all: sum(chain.segments),
        tokens: chain.usage.billedTokens,
      });
    }
    return outcome;
  });
  await lab.engine.close();
  console.log(
    `seed ${seed}: ${percent(outcomes.map(([greedy]) => Number(greedy!.right)))} (${Math.round(processorSeconds())} s)`,
  );
  return outcomes;
}

/** Teaches the score on the student's own chains: as many wrong ones as right ones, with the grade as the teacher. */
async function teachCheck(lab: LabModel, chains: readonly Trajectory[], seed: number): Promise<void> {
  const rollouts = await ownRollouts(lab, seed);
  const wrong = rollouts.filter(({ correct }) => !correct);
  const right = rollouts.filter(({ correct }) => correct).slice(0, wrong.length);
  console.error(`${wrong.length} wrong of ${rollouts.length} (${Math.round(processorSeconds())} s)`);
  const { tokenizer } = lab;
  const graded = await corrections(checkCorrector(labProfile)).beforeUpdates!({
    groups: [{ task: rollouts[0]!.task, rollouts: [...right, ...wrong] }],
    ...{ trained: [], tokenizer, maxContext: 1024, temperature: 1 },
  });
  const pages = [0, 1, 2].flatMap((world) => checkingExamples(trainingWorld({ seed: 270 + seed, pages: 600 }, world)));
  const checked = examplesOf(pages, lab, ({ tag }) => Number(tag === "double_check"));
  const beside = [
    { examples: checked, batchTokens: 768 },
    { examples: examplesOf(chains, lab), batchTokens: 512 },
  ];
  const how = { steps: Number(values["check-steps"]), seed, rate: Number(values.rate), batchTokens: 1024, beside };
  await imitate(lab, graded!.examples, how);
}

/** What the student does in training worlds of their own, sampled as in the exam. */
async function ownRollouts({ model }: LabModel, seed: number): Promise<Group["rollouts"]> {
  const rollouts: Group["rollouts"] = [];
  const place = { step: 0, round: 0, sample: 0, reward: 0, reason: "" };
  const wanted = Number(values.rollouts);
  for (let number = 0; rollouts.length < wanted; number++) {
    const world = doubtful(trainingWorld({ seed: 170 + seed, pages: 600 }, number));
    const tools = memoryLabTools(world);
    const tasks = worldTasks(world, { count: Math.min(80, wanted), families, seed: 7 });
    const played = await inParallel(tasks, 40, async (task, slot): Promise<Group["rollouts"][number]> => {
      const chainSeed = sampleSeed(seed, task.id, number);
      const trajectory = await runLabChain(task, { model, tools, temperature: 1, seed: chainSeed });
      return { ...place, slot, task, trajectory, correct: trajectory.answer?.trim() === task.answers[0] };
    });
    rollouts.push(...played);
  }
  return rollouts.slice(0, wanted);
}

async function printTable(): Promise<void> {
  const read = files.split(",").map(async (file) => JSON.parse(await readFile(file, "utf8")) as Outcome[]);
  const outcomes = (await Promise.all(read)).flat();
  console.log(`${outcomes.length} tasks, greedy ${percent(outcomes.map(([greedy]) => Number(greedy!.right)))}`);
  printCalibration(outcomes.flat().map(({ check, right }) => ({ check: check ?? undefined, right })));
  const samples = outcomes.map((outcome) => outcome.slice(1));
  const areaOf = (sureness: (one: Answered) => number) =>
    calibrationOf(samples.flat().map((one) => ({ check: sureness(one), right: one.right })))?.auc?.toFixed(3) ?? "–";
  console.log(
    `area under the curve over the samples: written score ${areaOf(({ check }) => check ?? 0)}, with the probability it was written with ${areaOf(sure)}, probability of the whole chain ${areaOf(({ all }) => all)}`,
  );
  const right = (chosen: readonly (Answered | undefined)[]) => chosen.map((one) => Number(one?.right ?? false));
  const tokens = (used: readonly Outcome[]) =>
    Math.round(mean(used.map((some) => some.reduce((sum, one) => sum + one.tokens, 0))));
  const one = right(samples.map(([first]) => first));
  const byCheck = right(samples.map(bestChecked));
  const byVotes = right(samples.map((some) => mostVoted(some)));
  const tried = samples.map((some) => {
    const enough = some.findIndex(({ check }) => check === 4);
    return enough === -1 ? some : some.slice(0, enough + 1);
  });
  const retried = right(tried.map(bestChecked));
  console.log(
    `of four (${tokens(samples)} tokens a task): by check ${percent(byCheck)}, by majority ${percent(byVotes)}, any right ${percent(samples.map((some) => Number(some.some(({ right }) => right))))}`,
  );
  console.log(
    `again until the check is 4, at most four (${tokens(tried)} tokens): ${percent(retried)}; one sample (${tokens(samples.map((some) => some.slice(0, 1)))} tokens): ${percent(one)}`,
  );
  compared("check against majority of four", byVotes, byCheck);
  const byChance = right(samples.map((some) => mostVoted(some, chance)));
  compared(`votes that count their chance (${percent(byChance)}) against majority of four`, byVotes, byChance);
  compared("again by check against one sample", one, retried);
  compared("again by check against majority of four", byVotes, retried);
}

/** As `--choose check`: the highest score, of equals the answer that most of them gave. */
function bestChecked(some: readonly Answered[]): Answered | undefined {
  const highest = Math.max(...some.map(({ answer, check }) => (answer === null ? -1 : (check ?? 0))));
  return mostVoted(some.filter(({ check }) => (check ?? 0) === highest));
}

/** The score, and how surely it was written; 0 where there is none. */
function sure({ answer, check, score }: Answered): number {
  return answer === null || check === null ? 0 : sureScore(check, Math.exp(score));
}

/** The same as a chance that the answer is right: 3 is none, 4 is certain. */
function chance(one: Answered): number {
  return Math.max(0, sure(one) - 3);
}

function mostVoted(some: readonly Answered[], weight: (one: Answered) => number = () => 1): Answered | undefined {
  const answered = some.filter(({ answer }) => answer !== null);
  const votes = [...Map.groupBy(answered, ({ answer }) => answer).values()];
  const sum = (group: readonly Answered[]) => group.reduce((total, one) => total + weight(one), 0);
  return votes.toSorted((a, b) => sum(b) - sum(a))[0]?.[0];
}

function compared(title: string, before: readonly number[], after: readonly number[]): void {
  const { difference, pValue } = comparePaired(before, after);
  const points = (value: number) => (100 * value).toFixed(1);
  console.log(
    `  ${title}: ${points(difference.value)} points [${points(difference.low)}, ${points(difference.high)}], p = ${pValue.toPrecision(2)}`,
  );
}

function printCalibration(chains: readonly { check?: number | undefined; right: boolean }[]): void {
  const calibration = calibrationOf(chains);
  if (!calibration) throw new Error("nothing was checked");
  console.log(`area under the curve ${calibration.auc?.toFixed(3) ?? "–"}, Brier ${calibration.brier.toFixed(3)}`);
  for (const { score, runs, right } of calibration.groups) console.log(`  score ${score}: ${right} of ${runs} right`);
}

function calibrationOf(chains: readonly { check?: number | undefined; right: boolean }[]) {
  return checkCalibration(
    chains.map(({ check, right }) => ({
      ...(check !== undefined && { check }),
      grade: { correct: right, score: Number(right), reason: "" },
    })),
  );
}

function percent(shares: readonly number[]): string {
  return `${(100 * mean(shares)).toFixed(1)} %`;
}

/** A score moved towards its neighbour by the chance that it would not have been written. */
function sureScore(score: number, probability: number, max = 4): number {
  return score >= max ? score - 1 + probability : score + 1 - probability;
}
