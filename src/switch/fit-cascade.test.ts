import assert from "node:assert/strict";
import { appendFile, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { type MadeModel, madeChain, madeModel, madeTasks, madeTeam } from "../../test/fixtures/made-switch.ts";
import { table } from "../cli/output.ts";
import type { Task } from "../core/task.ts";
import { readEvaluation } from "../evaluate/read-evaluation.ts";
import { runEvaluation } from "../evaluate/run-evaluation.ts";
import { taskGrader } from "../graders/grade-task.ts";
import { mhqaProfile } from "../language/profiles.ts";
import { readCascade, writeCascade } from "./cascade.ts";
import { cascadeHtml, cascadeSentence, cascadeText } from "./cascade-report.ts";
import { chainFeatures } from "./features.ts";
import { fitCascade, splitPairs } from "./fit-cascade.ts";
import { readPairs } from "./pairs.ts";
import { spendTasks } from "./spent.ts";

const folder = await mkdtemp(join(tmpdir(), "coa-cascade-"));
after(() => rm(folder, { recursive: true, force: true }));
const grader = taskGrader();

async function pairsOf(tasks: readonly Task[], model: MadeModel, team: number, name: string) {
  const at = (kind: string) => join(folder, `${name}-${kind}`);
  await runEvaluation(tasks, madeModel(model), { folder: at("model"), grader });
  await runEvaluation(tasks, madeTeam(team), { folder: at("team"), grader });
  const [own, other] = [await readEvaluation(at("model")), await readEvaluation(at("team"))];
  return readPairs(own, { kind: "evaluation", evaluation: other }, grader);
}

const promise = { maxLoss: 0.02, confidence: 0.95 };
const how = { ...promise, basis: "graded" as const, model: "made", temperature: 0 };

describe("fitting a cascade", async () => {
  const tasks = madeTasks(1500);
  const { basis, pairs, unpaired } = await pairsOf(tasks, { wrong: 0.15, apart: 3 }, 1, "good");

  it("reads the same tasks of both, and learns whom to trust", () => {
    assert.deepEqual([basis, pairs.length, unpaired], ["graded", 1500, 0]);
    const { cascade } = fitCascade(pairs, how);
    assert.ok(cascade);
    const { figures } = cascade;
    assert.ok(figures.auc! > 0.97, `${figures.auc}`);
    assert.ok(figures.success.cascade >= figures.success.team - promise.maxLoss);
    assert.ok(figures.all.escalated > 0.1 && figures.all.escalated < 0.4, `${figures.all.escalated}`);
    assert.ok(figures.cost.cascade.billedTokens < 0.5 * figures.cost.team.billedTokens);
    assert.deepEqual(Object.keys(figures.families), ["rare", "usual"]);
    assert.match(cascadeSentence(cascade), /^with 95 % confidence at most 2\.0 points below the team; \d+ % of questions go to the team; \d+ % fewer tokens$/); // biome-ignore format: one sentence
    assert.match(cascadeText(cascade, table), /rare +\d+/);
    assert.match(cascadeHtml(cascade), /<svg[^>]*>.*polyline/s);
  });

  it("refuses with the number of tasks that it would take", () => {
    const few = fitCascade(pairs.slice(0, 200), { ...how, maxLoss: 0.01 });
    assert.ok(few.refused !== undefined);
    assert.match(
      few.refused,
      /200 tasks do not support a promise of 1\.0 points: it needs about \d+ more graded tasks/,
    );
    assert.ok(few.moreTasks! > 200 && few.moreTasks! < 2000, `${few.moreTasks}`);
  });

  it("asks for more certainty from each further fit on the same tasks", async () => {
    const ids = pairs.map(({ taskId }) => taskId);
    assert.equal(await spendTasks(folder, "first", ids), 1);
    assert.equal(await spendTasks(folder, "first", ids), 1, "the same fit again is not a new try");
    assert.equal(await spendTasks(folder, "second", [...ids.slice(0, 1), "another"]), 1 / 2);
    assert.equal(await spendTasks(folder, "third", ["a third"]), 1);
    await appendFile(join(folder, "switch", "fits.jsonl"), "not a line\n");
    await assert.rejects(
      spendTasks(folder, "fourth", ids),
      /fits\.jsonl:\d+: not JSON/,
      "what was spent is not forgotten",
    );
    const again = fitCascade(pairs, { ...how, level: 1 / 8 }).cascade!;
    assert.ok(again.threshold >= fitCascade(pairs, how).cascade!.threshold);
    assert.match(
      cascadeText(again, table),
      /earlier fits or rounds used the rest of the confidence: tested at 99\.38 %/,
    );
  });

  it("keeps worlds and documents in one part", () => {
    const grouped = pairs.map((pair, at) => ({ ...pair, group: `document ${at % 30}` }));
    const { fit, calibration } = splitPairs(grouped);
    const inFit = new Set(fit.map(({ group }) => group));
    assert.ok(calibration.every(({ group }) => !inFit.has(group)));
    assert.ok(Math.abs(fit.length / grouped.length - 0.4) < 0.05);
    const oneWorld = splitPairs(pairs.map((pair) => ({ ...pair, group: "world" }))); // biome-ignore format: one line
    assert.ok(Math.abs(oneWorld.fit.length / pairs.length - 0.4) < 0.01);
  });

  it("is written beside the weights and read back, and refuses what is none", async () => {
    const { cascade } = fitCascade(pairs, how);
    await writeCascade(folder, cascade!);
    assert.deepEqual(await readCascade(folder), cascade);
    assert.equal(await readCascade(join(folder, "nowhere")), undefined);
    await assert.rejects(readCascade(await broken()), /is not a cascade/);
  });

  async function broken(): Promise<string> {
    const at = await mkdtemp(join(folder, "broken-"));
    await writeCascade(at, { version: 2 } as unknown as Parameters<typeof writeCascade>[1]);
    return at;
  }
});

describe("a cascade from less", () => {
  it("works without log-probabilities, by what is left", async () => {
    const chain = madeChain(madeTasks(1)[0]!, { wrong: 0, apart: 1, logprobs: false });
    const features = chainFeatures(mhqaProfile, chain);
    assert.equal(features["least sure token"], undefined);
    assert.equal(features["tool calls"], Math.log1p(1));
    const { pairs } = await pairsOf(madeTasks(900), { wrong: 0.01, apart: 0, logprobs: false }, 1, "blind");
    const { cascade } = fitCascade(pairs, { ...how, maxLoss: 0.05 });
    assert.ok(cascade && cascade.figures.all.escalated < 0.5);
  });

  it("speaks of agreement where no right answers are known", async () => {
    const bare = madeTasks(1200).map((task) => ({ ...task, answers: [...task.answers] }));
    const graded = await pairsOf(bare, { wrong: 0.05, apart: 3 }, 0.98, "known");
    const own = await readEvaluation(join(folder, "known-model"));
    const blank = { ...own, records: own.records.map((one) => ({ ...one, grade: { ...one.grade, correct: null } })) };
    const other = await readEvaluation(join(folder, "known-team"));
    const { basis, pairs } = await readPairs(blank, { kind: "evaluation", evaluation: other }, grader);
    assert.equal(basis, "agreement");
    assert.ok(pairs.every(({ team, model, agrees }) => team && model === agrees));
    const { cascade } = fitCascade(pairs, { ...how, basis, maxLoss: 0.05 });
    assert.match(cascadeSentence(cascade!), /different from the team in at most 5\.0 % of answers \(agreement/);
    assert.ok(graded.pairs.filter(({ model }) => model).length > pairs.filter(({ model }) => model).length);
  });
});
