/**
 * What a cascade is worth on measured outcomes: `node bench/switch/outcomes.ts <evaluation of the model>=<evaluation or runs of the team> …`,
 * one pair for each world. Prints the area under the curve on worlds that the score was not fitted on, what each feature
 * is worth, the share escalated beside the simulated one, tokens and dollars per success, and how often the promise breaks over
 * repeated draws. A team that is right in 90 % is made of the measured one by errors that a seed chooses. Dollars are by the prices
 * of docs/cost.md for both, without a discount for what is cached.
 */
import { readAllJsonl } from "../../src/base/files/read-jsonl.ts";
import { seededRandom } from "../../src/base/work/random.ts";
import { type TeamRun, teamRunSchema } from "../../src/core/team-run.ts";
import type { Usage } from "../../src/core/usage.ts";
import { readEvaluation } from "../../src/evaluate/read-evaluation.ts";
import { taskGrader } from "../../src/graders/grade-task.ts";
import { featureNames } from "../../src/switch/features.ts";
import { figuresAt, fitCascade, prepareScore, scoreAll } from "../../src/switch/fit-cascade.ts";
import { areaUnderCurve, fitLogistic, logOdds } from "../../src/switch/logistic.ts";
import { type Pair, readPairs } from "../../src/switch/pairs.ts";
import { chooseThreshold, lossesAt, planTest, type Scored } from "../../src/switch/threshold.ts";

const draws = Number(process.env["DRAWS"] ?? 300);
const worlds: Pair[][] = [];
for (const argument of process.argv.slice(2)) {
  const [model, team] = argument.split("=") as [string, string];
  const { pairs } = await readPairs(await priced(model), await answersOf(team), taskGrader());
  worlds.push(pairs);
}

async function answersOf(team: string): Promise<Parameters<typeof readPairs>[1]> {
  if (!team.endsWith(".jsonl")) return { kind: "evaluation", evaluation: await priced(team) };
  const runs: TeamRun[] = await readAllJsonl(team, teamRunSchema);
  return { kind: "runs", runs: runs.map(inDollars) };
}

async function priced(folder: string) {
  const evaluation = await readEvaluation(folder);
  return { ...evaluation, records: evaluation.records.map(inDollars) };
}

function inDollars<T extends { usage: Usage }>(one: T): T {
  const { promptTokens, completionTokens } = one.usage;
  return { ...one, usage: { ...one.usage, costUsd: (0.4 * promptTokens + 1.6 * completionTokens) / 1e6 } };
}
const all = worlds.flat();
const percent = (share: number, digits = 1) => `${(100 * share).toFixed(digits)} %`;
const shareOf = (pairs: readonly Pair[], holds: (pair: Pair) => boolean) => pairs.filter(holds).length / pairs.length;
console.log(`${worlds.length} worlds, ${all.length} tasks: model right ${percent(shareOf(all, (one) => one.model))}, team right ${percent(shareOf(all, (one) => one.team))}`); // biome-ignore format: one line

const rows = (pairs: readonly Pair[]) => pairs.map(({ features, model }) => ({ features, right: model }));

/** The area under the curve on each world, by a score fitted on the others. */
function heldOut(names: readonly string[]): number[] {
  return worlds.map((world) => {
    const score = fitLogistic(rows(worlds.filter((one) => one !== world).flat()), names);
    return areaUnderCurve(world.map(({ features, model }) => ({ score: logOdds(score, features), right: model })))!;
  });
}
const mean = (values: readonly number[]) => values.reduce((sum, one) => sum + one, 0) / values.length;
const whole = heldOut(featureNames);
console.log(`area under the curve on held-out worlds: ${whole.map((one) => one.toFixed(3)).join(", ")}; mean ${mean(whole).toFixed(3)}`); // biome-ignore format: one line
for (const name of featureNames)
  console.log(`  ${name.padEnd(30)} alone ${mean(heldOut([name])).toFixed(3)}  left out ${mean(heldOut(featureNames.filter((one) => one !== name))).toFixed(3)}`); // biome-ignore format: one line
const told = new Set(["check", "length", "tool calls", "forced answer", "format repairs", "failed tools", "repeated calls"]); // biome-ignore format: one list
console.log(
  `  without log-probabilities      ${mean(heldOut(featureNames.filter((one) => told.has(one)))).toFixed(3)}`,
);

/** The same tasks beside a team that errs in a tenth of them. */
const fallible = (pairs: readonly Pair[]) => pairs.map((pair) => (seededRandom("fallible", pair.taskId).next() < 0.1 ? { ...pair, team: false } : pair)); // biome-ignore format: one line

/** The share that simulated normal scores of this error and area would escalate. */
function simulated(wrong: number, area: number, team: number, n: number, maxLoss: number): number {
  const apart = Math.SQRT2 * inverseNormal(area);
  const shares = Array.from({ length: 60 }, (_, draw) => {
    const random = seededRandom("simulated", wrong, area, team, draw);
    const made = (count: number): Scored[] =>
      Array.from({ length: count }, () => {
        const model = random.next() >= wrong;
        return { score: random.normal() + (model ? apart : 0), model, team: random.next() < team };
      });
    const plan = planTest(made(n), { maxLoss, confidence: 0.95 }, n);
    const threshold = chooseThreshold(made(n), plan, { maxLoss, confidence: 0.95 });
    return threshold === null ? 1 : made(4000).filter(({ score }) => score < threshold).length / 4000;
  });
  return mean(shares);
}

function inverseNormal(share: number): number {
  let [low, high] = [-8, 8];
  const below = (x: number) => {
    const t = 1 / (1 + 0.2316419 * Math.abs(x));
    const tail = 0.3989423 * Math.exp((-x * x) / 2) * t * (0.3193815 + t * (-0.3565638 + t * (1.781478 + t * (-1.821256 + t * 1.330274)))); // biome-ignore format: one formula
    return x > 0 ? 1 - tail : tail;
  };
  for (let step = 0; step < 60; step++) {
    const middle = (low + high) / 2;
    if (below(middle) < share) low = middle;
    else high = middle;
  }
  return low;
}

for (const team of [1, 0.9])
  for (const maxLoss of [0.01, 0.02]) {
    const given = team === 1 ? worlds : worlds.map(fallible);
    const promised = { maxLoss, confidence: 0.95 };
    const name = `team right ${percent(team, 0)}, ${maxLoss * 100} points`;
    const shares: number[] = [];
    let tasks = 0;
    // Every world is the one that the score is fitted on, once: which one it is may matter as much as the promise.
    for (const [at, fit] of given.entries()) {
      const calibration = given.filter((one) => one !== fit).flat().slice(0, 2000); // biome-ignore format: one line
      tasks = calibration.length;
      const prepared = prepareScore(fit, promised, tasks);
      const scored = scoreAll(calibration, prepared.score);
      const threshold = chooseThreshold(scored, prepared.plan, promised);
      shares.push(threshold === null ? 1 : figuresAt(calibration, scored, threshold).all.escalated);
      if (threshold === null) console.log(`${name}, fit on world ${at + 1}: refused`);
      else {
        const { cost, success, all: group } = figuresAt(calibration, scored, threshold);
        const saved = (key: keyof typeof cost.team) => percent(1 - cost.cascade[key] / success.cascade / (cost.team[key] / success.team)); // biome-ignore format: one line
        console.log(`${name}, fit on world ${at + 1} (${prepared.plan.test}, ${tasks} calibration tasks): ${percent(group.escalated)} escalated, success ${percent(success.cascade)} against ${percent(success.team)}, billed ${Math.round(cost.cascade.billedTokens)} of ${Math.round(cost.team.billedTokens)}, computed ${Math.round(cost.cascade.computedTokens)} of ${Math.round(cost.team.computedTokens)}; per success ${saved("billedTokens")} fewer billed, ${saved("computedTokens")} fewer computed, $${(1000 * cost.cascade.costUsd / success.cascade).toFixed(2)} instead of $${(1000 * cost.team.costUsd / success.team).toFixed(2)} for a thousand, ${saved("costUsd")} less`); // biome-ignore format: one line
      }
    }
    console.log(`  mean ${percent(mean(shares))} escalated`);
    const wrong = 1 - shareOf(all, ({ model }) => model);
    console.log(`  simulated for ${percent(wrong)} wrong and an area of ${mean(whole).toFixed(3)}: ${percent(simulated(wrong, mean(whole), team, tasks, maxLoss))} escalated`); // biome-ignore format: one line
    console.log(`  ${draws} draws of 600 to fit and ${tasks} to calibrate from the measured outcomes: ${repeatedDraws(team === 1 ? all : fallible(all), promised, tasks)}`); // biome-ignore format: one line
  }

/** What the command would say to each world alone, and to all of them together. */
for (const [name, pairs] of [
  ...worlds.map((world, at) => [`world ${at + 1} alone`, world] as const),
  ["all worlds", all] as const,
])
  for (const team of [1, 0.9])
    for (const maxLoss of [0.01, 0.02]) {
      const { cascade, refused } = fitCascade(team === 1 ? pairs : fallible(pairs), { maxLoss, confidence: 0.95, basis: "graded", model: name, temperature: 0 }); // biome-ignore format: one fit
      console.log(`${name}, team right ${percent(team, 0)}, ${maxLoss * 100} points: ${refused ?? `${percent(cascade!.figures.all.escalated)} escalated, ${cascade!.test}, ${cascade!.figures.calibrationTasks} calibration tasks`}`); // biome-ignore format: one line
    }

/** How often the promise breaks on all measured tasks, when fit and calibration are drawn from them again and again. */
function repeatedDraws(pool: readonly Pair[], promised: { maxLoss: number; confidence: number }, n: number): string {
  let [broken, refused, escalated] = [0, 0, 0];
  for (let draw = 0; draw < draws; draw++) {
    const random = seededRandom("draw", draw, promised.maxLoss);
    const drawn = (count: number) => Array.from({ length: count }, () => random.pick(pool));
    const prepared = prepareScore(drawn(600), promised, n);
    const threshold = chooseThreshold(scoreAll(drawn(n), prepared.score), prepared.plan, promised);
    if (threshold === null) refused++;
    const { harms, gains } = lossesAt(scoreAll(pool, prepared.score), threshold ?? Number.POSITIVE_INFINITY);
    if ((harms - gains) / pool.length > promised.maxLoss) broken++;
    escalated += threshold === null ? 1 : scoreAll(pool, prepared.score).filter(({ score }) => score < threshold).length / pool.length; // biome-ignore format: one line
  }
  return `broken in ${percent(broken / draws)}, refused in ${percent(refused / draws)}, ${percent(escalated / draws)} escalated`;
}
