/**
 * Few demonstrations: a student taught by 500 runs of the team, and what the same processor time makes of it afterwards: more passes over
 * the same runs, RL, a model as teacher, the team as teacher (at most 500 corrections), or 500 more runs.
 *
 *   node bench/learning/few-demonstrations.ts [--seeds 1,2,3] [--cpu 25] [--count 1000]
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import type { Example } from "../../src/core/engine.ts";
import { comparePaired } from "../../src/evaluate/statistics.ts";
import { taskGrader } from "../../src/graders/grade-task.ts";
import { outcomeReward } from "../../src/graders/reward.ts";
import { labCorrector } from "../../src/lab/lab-corrector.ts";
import { openLabModel, runLabChain } from "../../src/lab/quickstart/open-model.ts";
import { engineModel } from "../../src/models/engine-model.ts";
import { corrections } from "../../src/train/corrections.ts";
import { fixedExamples } from "../../src/train/example-source.ts";
import type { RlOptions } from "../../src/train/rl-options.ts";
import { takeStep } from "../../src/train/take-step.ts";
import { engineTeacher, teacher as modelTeacher } from "../../src/train/token-teacher.ts";
import { trainRl } from "../../src/train/train-rl.ts";
import {
  teachToy,
  toyChains,
  toyExam,
  toyExamples,
  toyTasks,
  toyTokenizer,
  toyTools,
} from "../../test/fixtures/toy-student.ts";
import { processorSeconds } from "./lab-exam.ts";

const { values } = parseArgs({
  options: {
    seeds: { type: "string", default: "1,2,3" },
    cpu: { type: "string", default: "25" },
    count: { type: "string", default: "1000" },
  },
});
const budget = Number(values.cpu);
const count = Number(values.count);
const folder = await mkdtemp(join(tmpdir(), "coa-few-"));
const results = new Map<string, boolean[]>();
const note = (arm: string, seed: number, right: boolean[]) => {
  results.set(arm, [...(results.get(arm) ?? []), ...right]);
  console.log(`seed ${seed}, ${arm}: ${percent(right)} % (${Math.round(processorSeconds())} s)`);
};
const percent = (right: readonly boolean[]) => ((100 * right.filter(Boolean).length) / right.length).toFixed(1);

for (const seed of values.seeds.split(",").map(Number)) {
  const chains = await toyChains(toyTasks(500, seed));
  const more = await toyChains(toyTasks(500, 100 + seed));
  const tokenizer = toyTokenizer(chains);
  const start = await teachToy(chains, tokenizer, { folder: join(folder, `start-${seed}`), seed, steps: 250 });
  const wise = await toyChains(toyTasks(4000, 200 + seed));
  const teacher = await teachToy(wise, tokenizer, { folder: join(folder, `teacher-${seed}`), seed, steps: 500 });

  const arm = async (name: string, optimizer: "adamw" | "muon", work: (lab: Lab) => Promise<void>) => {
    const lab = await openLabModel(start, { optimizer, threads: 1 });
    try {
      await work(lab);
      note(name, seed, await toyExam(engineModel(await lab.engine.publish(), tokenizer), count));
    } finally {
      await lab.engine.close();
    }
  };
  await arm("start", "adamw", async () => {});
  await arm("more passes", "muon", (lab) => imitate(lab, toyExamples(chains, tokenizer), seed));
  await arm("500 more runs", "muon", (lab) => imitate(lab, toyExamples([...chains, ...more], tokenizer), seed));
  await arm("RL", "adamw", (lab) => practise(lab, seed, "rl", { credit: { baseline: "least-variance" } }));
  const wiseLab = await openLabModel(teacher, { threads: 1 });
  note("the model teacher itself", seed, await toyExam(wiseLab.model, count));
  await arm("model teacher", "adamw", (lab) =>
    practise(lab, seed, "model", {
      samples: 1,
      credit: { rewardWeight: 0 },
      extraLosses: [modelTeacher(engineTeacher(wiseLab.engine, tokenizer))],
    }),
  );
  await wiseLab.engine.close();
  await arm("team teacher", "adamw", (lab) =>
    practise(lab, seed, "team", {
      samples: 1,
      credit: { rewardWeight: 0 },
      extraLosses: [corrections(labCorrector(() => toyTools()))],
    }),
  );
}
const before = results.get("start")!;
for (const [arm, after] of results) {
  const { pValue, firstBetter, secondBetter } = comparePaired(before.map(Number), after.map(Number));
  console.log(
    `${arm}: ${percent(after)} % of ${after.length} (${secondBetter} gained, ${firstBetter} lost against the start, p = ${pValue.toPrecision(2)})`,
  );
}
await rm(folder, { recursive: true, force: true });

type Lab = Awaited<ReturnType<typeof openLabModel>>;

/** Supervised training until the processor time is spent. */
async function imitate(lab: Lab, examples: Example[], seed: number): Promise<void> {
  const source = fixedExamples(examples, 2048, seed + 7);
  const startedAt = processorSeconds();
  for (let step = 0; processorSeconds() - startedAt < budget; step++) {
    const factor = Math.min(1, (step + 1) / 10) * (1 - (0.95 * (processorSeconds() - startedAt)) / budget);
    const optimizer = { learningRate: 1e-3, matrixLearningRate: 3e-3, gradientClip: 1 };
    await takeStep(lab.engine, (await source.batch(step)) as Example[], {
      loss: { name: "cross_entropy" },
      optimizer,
      factor,
    });
  }
}

/** Rollouts on new tasks until the processor time is spent. */
async function practise(
  lab: Lab,
  seed: number,
  name: string,
  { samples = 8, ...extra }: Pick<RlOptions, "credit" | "extraLosses"> & { samples?: number },
): Promise<void> {
  const stop = new AbortController();
  const startedAt = processorSeconds();
  await trainRl({
    engine: lab.engine,
    tokenizer: lab.tokenizer,
    folder: join(folder, `${name}-${seed}`),
    seed,
    steps: 1000,
    collect: { groups: 128 / samples, samples, maxRounds: 1, concurrency: 128 },
    updates: { perPass: 3 },
    tasks: (step, round, wanted) => toyTasks(wanted, 1000 * seed + step * 10 + round),
    rollout: (task, run) =>
      runLabChain(task, {
        model: engineModel(run.policy, lab.tokenizer),
        tools: toyTools(),
        temperature: 1,
        seed: run.seed,
      }),
    reward: outcomeReward(taskGrader()),
    optimizer: { learningRate: 5e-4, beta1: 0.9, beta2: 0.95, gradientClip: 1 },
    schedule: { warmupSteps: 2, decay: "constant" },
    keep: { checkpointEvery: 10_000 },
    signal: stop.signal,
    onProgress: () => {
      if (processorSeconds() - startedAt > budget) stop.abort();
    },
    ...extra,
  }).catch((error: Error) => {
    if (!stop.signal.aborted) throw error;
  });
}
