/**
 * Calls side by side: two students trained further from the same model with the same tasks, one taught by a team that sends one worker
 * after the other, one by a team that sends them at once. Rounds and success on families whose look-ups do not depend on each other,
 * and on the others as a guard; greedy, paired by task.
 *
 *   node bench/learning/parallel-calls.ts --seed 1 --out seed-1.json [--steps 140] [--count 120] [--start-as-control]
 *   node bench/learning/parallel-calls.ts --team                       the two teams themselves, three worlds, as chains
 *   node bench/learning/parallel-calls.ts --table seed-1.json,seed-2.json,seed-3.json
 */
import { readFile, writeFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { inParallel } from "../../src/base/work/limiter.ts";
import { distillRun } from "../../src/distill/distill-run.ts";
import { chainPath } from "../../src/evaluate/critical-path.ts";
import { bootstrap, comparePaired, mean } from "../../src/evaluate/statistics.ts";
import { createWorld } from "../../src/lab/create-world.ts";
import { memoryLabTools } from "../../src/lab/memory-lab-tools.ts";
import { labProfile, wideLabProfile } from "../../src/lab/profile.ts";
import { runLabChain, shippedModel } from "../../src/lab/quickstart/open-model.ts";
import { scriptedSpecialists } from "../../src/lab/scripted-specialists.ts";
import { type Family, wideFamilies, worldTasks } from "../../src/lab/world-tasks.ts";
import { runTeam } from "../../src/team/run-team.ts";
import { processorSeconds } from "./lab-exam.ts";
import { teach, teamChains } from "./student.ts";

const { values } = parseArgs({
  options: {
    seed: { type: "string", default: "1" },
    start: { type: "string", default: shippedModel },
    steps: { type: "string", default: "140" },
    chains: { type: "string", default: "1000" },
    rate: { type: "string", default: "2e-3" },
    batch: { type: "string", default: "1536" },
    count: { type: "string", default: "120" },
    out: { type: "string", default: "parallel-calls.json" },
    /** Where to keep the student that calls side by side. */
    save: { type: "string", default: "" },
    /** The control is the shipped model as it is, on the family it knows: half the cost. */
    "start-as-control": { type: "boolean", default: false },
    table: { type: "string", default: "" },
    team: { type: "boolean", default: false },
  },
});
const others: readonly Family[] = ["hop1"];
const cheap = values["start-as-control"];
const independent: readonly Family[] = cheap ? ["mixed"] : wideFamilies;
const taught: readonly Family[] = [...independent, ...independent, "hop1"];

interface Row {
  right: number;
  rounds: number;
}
/** By family of the task, then by how the student was taught. */
type Results = Record<"wide" | "others", Record<"one" | "wide", Row[]>>;

if (values.table !== "") await printTable(await readResults(values.table.split(",")));
else if (values.team) await printTable(await Promise.all([1, 2, 3].map(examineTeams)));
else await writeFile(values.out, JSON.stringify(await teachAndExamine(Number(values.seed))));

async function teachAndExamine(seed: number): Promise<Results> {
  const results: Results = { wide: { one: [], wide: [] }, others: { one: [], wide: [] } };
  const world = createWorld({ seed: 80 + seed, pages: 600, split: "test" });
  const tools = memoryLabTools(world);
  for (const arm of ["wide", "one"] as const) {
    const wide = arm === "wide";
    const profile = wide ? wideLabProfile : labProfile;
    const runs = { seed: 60 + seed, tasksPerWorld: 40, pages: 600, families: taught, wide };
    const steps = cheap && !wide ? 0 : Number(values.steps);
    const chains = await teamChains({ ...runs, count: steps === 0 ? 8 : Number(values.chains), profile });
    const lab = await teach(chains, {
      ...{ start: cheap && !wide ? shippedModel : values.start, steps, seed },
      ...{ batchTokens: Number(values.batch), rate: Number(values.rate), save: wide ? values.save : "" },
    });
    for (const part of ["wide", "others"] as const) {
      const families = part === "wide" ? independent : others;
      const count = Math.round(Number(values.count) / (part === "wide" ? 1 : 3));
      const tasks = worldTasks(world, { count, families, seed: 5 });
      const answered = await inParallel(tasks, 64, (task, at) =>
        runLabChain(task, { model: lab.model, tools, temperature: 0, seed: at, profile }),
      );
      results[part][arm] = answered.map((chain, at) => ({
        right: Number(chain.answer?.trim() === tasks[at]!.answers[0]),
        rounds: chainPath(chain).rounds,
      }));
      console.log(`seed ${seed}, ${arm}, ${part}: ${said(results[part][arm])} (${Math.round(processorSeconds())} s)`);
    }
    await lab.engine.close();
  }
  return results;
}

/** Both teams on the same tasks; rounds are those of the chains that their runs become. */
async function examineTeams(seed: number): Promise<Results> {
  const results: Results = { wide: { one: [], wide: [] }, others: { one: [], wide: [] } };
  const world = createWorld({ seed: 80 + seed, pages: 600, split: "test" });
  const tools = memoryLabTools(world);
  for (const part of ["wide", "others"] as const) {
    const families = part === "wide" ? wideFamilies : others;
    for (const task of worldTasks(world, { count: Number(values.count), families, seed: 5 })) {
      for (const arm of ["one", "wide"] as const) {
        const run = await runTeam(task, { roles: scriptedSpecialists({ wide: arm === "wide" }), tools });
        const { trajectory } = distillRun(run, { profile: wideLabProfile, systemPrompt: false });
        const right = Number(trajectory !== undefined && run.answer === task.answers[0]);
        results[part][arm].push({ right, rounds: trajectory ? chainPath(trajectory).rounds : 0 });
      }
    }
  }
  return results;
}

function readResults(files: readonly string[]): Promise<Results[]> {
  return Promise.all(files.map(async (file) => JSON.parse(await readFile(file, "utf8")) as Results));
}

async function printTable(read: readonly Results[]): Promise<void> {
  for (const part of ["wide", "others"] as const) {
    const one = read.flatMap((results) => results[part].one);
    const wide = read.flatMap((results) => results[part].wide);
    const pairs = one.map((row, at) => ({ one: row, wide: wide[at]! }));
    const saved = bootstrap(pairs, (drawn) => {
      const [before, after] = [drawn.map((pair) => pair.one), drawn.map((pair) => pair.wide)];
      return 1 - perSuccess(after) / perSuccess(before);
    });
    const { difference, firstBetter, secondBetter, pValue } = comparePaired(
      one.map(({ right }) => right),
      wide.map(({ right }) => right),
    );
    const points = (value: number) => (100 * value).toFixed(1);
    console.log(`${part}, ${pairs.length} tasks: one after the other ${said(one)}; at once ${said(wide)}`);
    console.log(`  rounds per success ${points(saved.value)} % fewer [${points(saved.low)}, ${points(saved.high)}]`);
    console.log(
      `  success ${points(difference.value)} points [${points(difference.low)}, ${points(difference.high)}] (${secondBetter} gained, ${firstBetter} lost, p = ${pValue.toPrecision(2)})`,
    );
  }
}

function perSuccess(rows: readonly Row[]): number {
  return mean(rows.map(({ rounds }) => rounds)) / mean(rows.map(({ right }) => right));
}

function said(rows: readonly Row[]): string {
  return `${(100 * mean(rows.map(({ right }) => right))).toFixed(1)} %, ${perSuccess(rows).toFixed(2)} rounds per success`;
}
