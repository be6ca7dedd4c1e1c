import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { loadModule } from "../../base/files/load-module.ts";
import { openWorkspace } from "../../base/files/workspace.ts";
import { UsageError } from "../../core/errors.ts";
import type { OnProgress } from "../../core/events.ts";
import { runQuickstart } from "../../lab/quickstart/run-quickstart.ts";
import type { StageEvent } from "../../lab/quickstart/stage.ts";
import { defineCommand } from "../command.ts";
import { duration, type Output } from "../output.ts";
import { choice, text, toggle, whole } from "../setting.ts";

export default defineCommand({
  summary: "Run every stage on this machine: a team works, one small model learns to do the same, both are compared.",
  examples: [
    "coa quickstart",
    "coa quickstart --fast",
    "coa quickstart --real SmolLM2-135M-Instruct.Q4_1.gguf",
    "coa quickstart --imperfect --out .coa/imperfect",
  ],
  options: {
    fast: toggle("Start from the shipped model and let it practise a little: at most 4 minutes"),
    full: toggle("The best model: up to two hours on 2 cores"),
    imperfect: toggle("The team errs in 40 % of its runs and nothing filters them: see what RL repairs"),
    real: text("Teach a real model look-ups in natural text instead (SmolLM2-135M, say): at most an hour on 2 cores", { valueName: "file|folder" }),
    seed: whole("Seed of worlds, tasks and training", { default: 1, min: 0, max: 999, valueName: "n" }),
    out: text("Folder of the run; an unfinished one is resumed", { valueName: "folder", group: "output" }),
    resume: choice(["auto", "never", "fresh"], "fresh deletes an earlier run in the folder", { default: "auto", valueName: "how" }),
  }, // biome-ignore format: one flag a line
  async run({ values, out, signal }) {
    if (values.fast && values.full) throw new UsageError("--fast and --full exclude each other");
    const { resume, seed } = values;
    if (values.real !== undefined)
      return withRealModel(values.real, ["--seed", String(seed), "--tests", "120"], values.out);
    const size = values.fast ? "fast" : values.full ? "full" : "default";
    const workspace = await openWorkspace();
    const folder =
      values.out === undefined ? workspace.path(runName(size, values.imperfect, seed)) : resolve(values.out);
    out.note(`Everything is kept in ${folder}. Stop it at any time; the same command resumes it.`);
    const imperfect = values.imperfect ? 0.4 : 0;
    const moving = keepMoving(out.progress);
    const result = await runQuickstart({
      folder,
      size,
      seed,
      imperfect,
      resume,
      onProgress: moving.progress,
      onStage(event) {
        if (event.type === "stage-end") moving.pause();
        show(event, out);
        if (event.type === "stage-start") moving.progress({ stage: event.name, done: 0 });
      },
      signal,
    }).finally(moving.pause);
    return {
      json: { size, seed, imperfect, ...result },
      text: [
        result.table,
        `The whole report: ${result.report}`,
        `next: coa ask --model ${result.model} --lab 7`,
        `next: coa studio ${result.folder}`,
        "the same with a real model: npm start -- --real SmolLM2-135M-Instruct.Q4_1.gguf (docs/guide/real-models.md)",
      ],
    };
  },
});

/** The first of the experiments with real models, as its recipe does it. */
async function withRealModel(model: string, options: string[], out?: string): Promise<number> {
  const recipe = join(import.meta.dirname, "..", "..", "..", "recipes", "real", "look-ups.ts");
  if (!existsSync(model)) throw new UsageError(`--real ${model}: there is no such file or folder`);
  if (!existsSync(recipe)) throw new UsageError("--real needs the repository: its recipe is not part of the package");
  const { lookUps } = (await loadModule(recipe)) as { lookUps(argv: string[]): Promise<void> };
  await lookUps([
    "--model",
    model,
    "--rows",
    "base,30,300,rl",
    ...options,
    ...(out === undefined ? [] : ["--out", out]),
  ]);
  return 0;
}

function show(event: StageEvent, out: Output): void {
  if (event.type === "stage-start") {
    out.note(`${out.style("bold", `${event.number}/${event.of} ${event.name}`)}: ${event.what}`);
    return;
  }
  out.endProgress();
  const { line, example } = event.figures;
  out.note(`    ${line} (${event.resumed ? "done before" : duration(event.seconds * 1000)})`);
  if (example) out.note(out.style("dim", example.replace(/^/gm, "      ")));
}

/** Progress that is told again every two seconds while nothing new comes, with how long that has been. */
export function keepMoving(progress: OnProgress) {
  let timer: NodeJS.Timeout | undefined;
  const pause = () => clearInterval(timer);
  return {
    pause,
    progress(event: Parameters<OnProgress>[0]) {
      pause();
      progress(event);
      let seconds = 0;
      timer = setInterval(() => {
        seconds += 2;
        progress({ ...event, figures: { ...event.figures, working: `${seconds} s` } });
      }, 2000);
    },
  };
}

function runName(size: string, imperfect: boolean, seed: number): string {
  const parts = [size === "default" ? "" : `-${size}`, imperfect ? "-imperfect" : "", seed === 1 ? "" : `-seed${seed}`];
  return `quickstart${parts.join("")}`;
}
