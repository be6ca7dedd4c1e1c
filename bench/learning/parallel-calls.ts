/**
 * Calls side by side: two students that go on from the same model with the same tasks, one taught by a team that sends one worker
 * after the other, one by a team that sends them at once. Rounds and success on families whose look-ups do not depend on each other,
 * and on the others as a guard; greedy, paired by task.
 *
 *   node bench/learning/parallel-calls.ts [--seeds 1,2,3] [--steps 150] [--count 300]
 */
import { parseArgs } from "node:util";
import { chainPath } from "../../src/core/critical-path.ts";
import { inParallel } from "../../src/core/limiter.ts";
import { bootstrap, comparePaired, mean } from "../../src/evaluate/statistics.ts";
import { createWorld } from "../../src/lab/create-world.ts";
import { memoryLabTools } from "../../src/lab/memory-lab-tools.ts";
import { labProfile, wideLabProfile } from "../../src/lab/profile.ts";
import { runLabChain, shippedModel } from "../../src/lab/quickstart/open-model.ts";
import { type Family, worldTasks } from "../../src/lab/world-tasks.ts";
import { processorSeconds } from "./lab-exam.ts";
import { teach, teamChains } from "./student.ts";

const { values } = parseArgs({
  options: {
    seeds: { type: "string", default: "1,2,3" },
    start: { type: "string", default: shippedModel },
    steps: { type: "string", default: "150" },
    count: { type: "string", default: "300" },
  },
});
const wideFamilies: readonly Family[] = ["mixed", "both"];
const others: readonly Family[] = ["hop1", "hop2", "arith"];
const taught: readonly Family[] = ["mixed", "both", "mixed", "both", "hop1", "hop2", "arith"];
const count = Number(values.count);

interface Row {
  right: number;
  rounds: number;
}
const results: Record<"one" | "wide", Record<"wide" | "others", Row[]>> = {
  one: { wide: [], others: [] },
  wide: { wide: [], others: [] },
};

for (const seed of values.seeds.split(",").map(Number)) {
  const world = createWorld({ seed: 80 + seed, pages: 600, split: "test" });
  for (const arm of ["one", "wide"] as const) {
    const wide = arm === "wide";
    const profile = wide ? wideLabProfile : labProfile;
    const chains = await teamChains({
      ...{ seed: 60 + seed, tasksPerWorld: 35, pages: 600, families: taught },
      ...{ count: 1400, profile, wide },
    });
    const lab = await teach(chains, { start: values.start, steps: Number(values.steps), seed });
    for (const part of ["wide", "others"] as const) {
      const asked = part === "wide" ? wideFamilies : others;
      const tasks = worldTasks(world, { count: part === "wide" ? count : count / 2, families: asked, seed: 5 });
      const tools = memoryLabTools(world);
      const chainsOf = await inParallel(tasks, 64, (task, at) =>
        runLabChain(task, { model: lab.model, tools, temperature: 0, seed: at, profile }),
      );
      const rows = chainsOf.map((chain, at) => ({
        right: Number(chain.answer?.trim() === tasks[at]!.answers[0]),
        rounds: chainPath(chain).rounds,
      }));
      results[arm][part].push(...rows);
      console.log(`seed ${seed}, ${arm}, ${part}: ${said(rows)} (${Math.round(processorSeconds())} s)`);
    }
    await lab.engine.close();
  }
}

for (const part of ["wide", "others"] as const) {
  const [one, wide] = [results.one[part], results.wide[part]];
  const pairs = one.map((row, at) => ({ one: row, wide: wide[at]! }));
  const saved = bootstrap(
    pairs,
    (drawn) => 1 - perSuccess(drawn.map((pair) => pair.wide)) / perSuccess(drawn.map((pair) => pair.one)),
  );
  const { difference, firstBetter, secondBetter, pValue } = comparePaired(
    one.map(({ right }) => right),
    wide.map(({ right }) => right),
  );
  const points = (value: number) => (100 * value).toFixed(1);
  console.log(`\n${part}, ${pairs.length} tasks: one after the other ${said(one)}; at once ${said(wide)}`);
  console.log(`  rounds per success ${points(saved.value)} % fewer [${points(saved.low)}, ${points(saved.high)}]`);
  console.log(
    `  success ${points(difference.value)} points [${points(difference.low)}, ${points(difference.high)}] (${secondBetter} gained, ${firstBetter} lost, p = ${pValue.toPrecision(2)})`,
  );
}

function perSuccess(rows: readonly Row[]): number {
  return mean(rows.map(({ rounds }) => rounds)) / mean(rows.map(({ right }) => right));
}

function said(rows: readonly Row[]): string {
  return `${(100 * mean(rows.map(({ right }) => right))).toFixed(1)} %, ${perSuccess(rows).toFixed(2)} rounds per success`;
}
