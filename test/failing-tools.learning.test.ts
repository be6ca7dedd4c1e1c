/**
 * A decision that demonstrations show wrongly, learned small. The toy's tool finds nothing now and then, and its team mostly gives
 * up then: one run in four asks again. Supervised training copies the habit, and greedily it always gives up. Reinforcement, which
 * knows nothing but right or wrong, finds out that asking again works; a team that takes over where the student goes wrong shows
 * it. Over three students, greedily, with the world in which the tool works as guard.
 */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import type { Segment, Trajectory } from "../src/core/trajectory.ts";
import { taskGrader } from "../src/graders/grade-task.ts";
import { outcomeReward } from "../src/graders/reward.ts";
import { labCorrector } from "../src/lab/lab-corrector.ts";
import { openLabModel, runLabChain } from "../src/lab/quickstart/open-model.ts";
import { engineModel } from "../src/models/engine-model.ts";
import { corrections } from "../src/train/corrections.ts";
import { type Credit, fromFirstFault } from "../src/train/credit.ts";
import { fixedExamples } from "../src/train/example-source.ts";
import { type ExtraLoss, guard } from "../src/train/extra-loss.ts";
import { trainRl } from "../src/train/train-rl.ts";
import {
  failingCode,
  teachToy,
  toyChains,
  toyExam,
  toyExamples,
  toyTasks,
  toyTokenizer,
  toyTools,
} from "./fixtures/toy-student.ts";

const folder = await mkdtemp(join(tmpdir(), "coa-failing-"));
after(() => rm(folder, { recursive: true, force: true }));
const seeds = [1, 2, 3];
const exam = failingCode(77, 0.5);

/** The chain as a team writes it that gives up when the tool finds nothing. */
function givingUp(chain: Trajectory): Trajectory {
  const at = chain.segments.findIndex(({ text }) => text.trim() === "no results");
  if (at === -1) return chain;
  const written = (tag: string, text: string): Segment => ({ tag, text, by: "model" });
  const end = [
    written("think", " nothing came"),
    written("suggested_answer", " unknown"),
    written("think", " nothing fits"),
    written("double_check", " score 4"),
    written("answer", " unknown"),
  ];
  return { ...chain, segments: [...chain.segments.slice(0, at + 1), ...end], answer: "unknown" };
}

interface Student {
  model: string;
  /** Demonstrations in which the tool worked. */
  clean: Trajectory[];
}

/** A student of a team that gives up in three of four runs whose tool found nothing. */
async function student(seed: number): Promise<Student> {
  const chains = await toyChains(toyTasks(1000, seed), failingCode(seed, 0.25));
  const shown = chains.map((chain, at) => (at % 4 === 0 ? chain : givingUp(chain)));
  const target = { folder: join(folder, `student-${seed}`), seed, steps: 320 };
  return { model: await teachToy(shown, toyTokenizer(shown), target), clean: chains.filter((one) => !struck(one)) };
}

const struck = ({ segments }: Trajectory) => segments.some(({ text }) => text.trim() === "no results");

async function practise(
  { model, clean }: Student,
  seed: number,
  name: string,
  extra: { credit: Credit; samples?: number; losses?: ExtraLoss[] },
) {
  const lab = await openLabModel(model, { threads: 1 });
  const share = async (plan?: typeof exam) => {
    const right = await toyExam(engineModel(await lab.engine.publish(), lab.tokenizer), 300, plan);
    return right.filter(Boolean).length / right.length;
  };
  const tools = toyTools(failingCode(500 + seed, 0.6));
  try {
    const before = { failing: await share(exam), clean: await share() };
    await trainRl({
      engine: lab.engine,
      tokenizer: lab.tokenizer,
      folder: join(folder, `${name}-${seed}`),
      seed,
      steps: 8,
      collect: { groups: 12, samples: extra.samples ?? 8, maxRounds: 2, concurrency: 96 },
      updates: { perPass: 3 },
      credit: { ...extra.credit, baseline: "least-variance" },
      // Only what follows a fault is credited, so something must hold the rest.
      extraLosses: [...(extra.losses ?? []), guard(fixedExamples(toyExamples(clean, lab.tokenizer), 1024, seed))],
      tasks: (step, round, count) => toyTasks(count, 9000 + seed * 1000 + step * 10 + round),
      async rollout(task, run) {
        const model = engineModel(run.policy, lab.tokenizer);
        return runLabChain(task, { model, tools, temperature: 1, seed: run.seed });
      },
      reward: outcomeReward(taskGrader()),
      optimizer: { learningRate: 4e-4, beta1: 0.9, beta2: 0.95, gradientClip: 1 },
      schedule: { warmupSteps: 2, decay: "linear", floor: 0.2 },
    });
    const after = { failing: await share(exam), clean: await share() };
    const figures = `seed ${seed}: failing ${before.failing.toFixed(3)} -> ${after.failing.toFixed(3)}, clean ${before.clean.toFixed(3)} -> ${after.clean.toFixed(3)}`;
    return { before, after, figures };
  } finally {
    await lab.engine.close();
  }
}

describe("a decision that demonstrations mostly show wrongly", () => {
  const students = new Map<number, Promise<Student>>();
  const studentOf = (seed: number) => students.get(seed) ?? students.set(seed, student(seed)).get(seed)!;

  it("is learned by reinforcement, greedily, in three students, and nothing is lost where tools work", async (context) => {
    for (const seed of seeds) {
      const { before, after, figures } = await practise(await studentOf(seed), seed, "rl", {
        credit: fromFirstFault(),
      });
      context.diagnostic(figures);
      assert.ok(after.failing >= before.failing + 0.1, figures);
      assert.ok(after.clean >= before.clean - 0.03, figures);
    }
  });

  // One student: in a second one the world in which the tool works lost 7 points (docs/lab-notes.md), so this is no claim over seeds.
  it("is learned from a team that takes over where the student goes wrong, in one student", async (context) => {
    for (const seed of seeds.slice(0, 1)) {
      const taught = corrections(
        labCorrector(() => toyTools(failingCode(700 + seed, 0.6))),
        { limit: 16 },
      );
      const { before, after, figures } = await practise(await studentOf(seed), seed, "team", {
        credit: { rewardWeight: 0 },
        samples: 2,
        losses: [taught],
      });
      context.diagnostic(figures);
      assert.ok(after.failing >= before.failing + 0.1, figures);
      assert.ok(after.clean >= before.clean - 0.03, figures);
    }
  });
});
