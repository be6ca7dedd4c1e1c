import { resolve } from "node:path";
import { isStepDone } from "../../base/files/resumable-steps.ts";
import { openWorkspace } from "../../base/files/workspace.ts";
import { UsageError } from "../../core/errors.ts";
import { runQuickstart } from "../../lab/quickstart/run-quickstart.ts";
import type { StageEvent } from "../../lab/quickstart/stage.ts";
import { defineCommand, numberOf } from "../command.ts";
import { duration, type Output } from "../output.ts";

export default defineCommand({
  name: "quickstart",
  summary: "Run every stage on this machine: a team works, one small model learns to do the same, both are compared.",
  examples: ["coa quickstart", "coa quickstart --fast", "coa quickstart --imperfect --out .coa/imperfect"],
  options: {
    fast: { type: "boolean", default: false, describe: "Start from the shipped model and let it practise a little: at most 4 minutes" },
    full: { type: "boolean", default: false, describe: "The best model: up to two hours on 2 cores" },
    imperfect: { type: "boolean", default: false, describe: "The team errs in 40 % of its runs and nothing filters them: see what RL repairs" },
    seed: { type: "string", default: "1", describe: "Seed of worlds, tasks and training", valueName: "number" },
    out: { type: "string", describe: "Folder of the run; an unfinished one is resumed", valueName: "folder" },
    clean: { type: "string", describe: "With --imperfect: a finished clean run of the same seed, shown beside it", valueName: "folder" },
    resume: { type: "string", default: "auto", valueName: "how", describe: "auto, never, or fresh to delete an earlier run in the folder" },
  }, // biome-ignore format: one flag a line
  async run({ values, out, signal }) {
    if (values.fast && values.full) throw new UsageError("--fast and --full exclude each other");
    if (values.clean !== undefined && !values.imperfect) throw new UsageError("--clean needs --imperfect: add it");
    const { resume } = values;
    if (resume !== "auto" && resume !== "never" && resume !== "fresh")
      throw new UsageError(`--resume takes auto, never or fresh, not "${resume}"`);
    const size = values.fast ? "fast" : values.full ? "full" : "default";
    const seed = numberOf(values.seed, "seed", { min: 0, max: 999, integer: true }) ?? 1;
    const workspace = await openWorkspace();
    const folder =
      values.out === undefined ? workspace.path(runName(size, values.imperfect, seed)) : resolve(values.out);
    const clean = values.clean ?? workspace.path(runName(size, false, seed));
    const cleanRun = (await isStepDone(clean, "evaluate")) ? clean : undefined;
    if (values.clean !== undefined && !cleanRun)
      throw new UsageError(
        `${clean} does not hold a finished run: make one with coa quickstart --seed ${seed} --out ${clean}`,
      );
    out.note(`Everything is kept in ${folder}. Stop it at any time; the same command resumes it.`);
    const { onProgress, onStage } = { onProgress: out.progress, onStage: (event: StageEvent) => show(event, out) };
    const imperfect = values.imperfect ? 0.4 : 0;
    const result = await runQuickstart({
      folder,
      size,
      seed,
      imperfect,
      cleanRun,
      resume,
      onProgress,
      onStage,
      signal,
    });
    if (values.json) out.json({ size, seed, imperfect, ...result });
    else {
      out.print(result.table);
      out.print(`The whole report: ${result.report}`);
      out.print(`next: coa ask --model ${result.model} --lab 7`);
    }
    return 0;
  },
});

function show(event: StageEvent, out: Output): void {
  if (event.type === "stage-start") {
    out.note(`${out.style("bold", `${event.number}/${event.of} ${event.name}`)}: ${event.what}`);
    return;
  }
  out.endProgress();
  const figures = Object.entries(event.figures)
    .filter(([name]) => name !== "seconds")
    .map(([name, value]) => `${name} ${typeof value === "number" ? Number(value.toPrecision(4)) : value}`);
  out.note(`    ${figures.join(", ")} (${event.resumed ? "done before" : duration(event.seconds * 1000)})`);
}

function runName(size: string, imperfect: boolean, seed: number): string {
  const parts = [size === "default" ? "" : `-${size}`, imperfect ? "-imperfect" : "", seed === 1 ? "" : `-seed${seed}`];
  return `quickstart${parts.join("")}`;
}
