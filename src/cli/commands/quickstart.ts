import { existsSync } from "node:fs";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { openWorkspace } from "../../base/files/workspace.ts";
import { UsageError } from "../../core/errors.ts";
import { distillStage } from "../../lab/quickstart/distill-stage.ts";
import { evaluateStage } from "../../lab/quickstart/evaluate-stage.ts";
import { readTable, reportStage } from "../../lab/quickstart/report-stage.ts";
import { rlStage } from "../../lab/quickstart/rl-stage.ts";
import { quickstartSizes } from "../../lab/quickstart/settings.ts";
import { sftStage } from "../../lab/quickstart/sft-stage.ts";
import { runStages } from "../../lab/quickstart/stage.ts";
import { teamStage } from "../../lab/quickstart/team-stage.ts";
import { defineCommand, numberOf } from "../command.ts";

export default defineCommand({
  name: "quickstart",
  summary: "The whole story on this machine: a team works, one small model learns to do the same, both are compared.",
  examples: ["coa quickstart", "coa quickstart --fast", "coa quickstart --imperfect --out .coa/imperfect"],
  options: {
    fast: { type: "boolean", default: false, describe: "The smallest story that works, in about 4 minutes" },
    full: { type: "boolean", default: false, describe: "The best model: up to two hours on 2 cores" },
    imperfect: {
      type: "boolean",
      default: false,
      describe: "The team errs in 40 % of its runs and nothing filters them: see what RL repairs",
    },
    seed: { type: "string", default: "1", describe: "Seed of worlds, tasks and training", valueName: "number" },
    out: { type: "string", describe: "Folder of the story; an unfinished one is continued", valueName: "folder" },
    clean: {
      type: "string",
      describe: "With --imperfect: a finished clean story of the same seed, shown beside it",
      valueName: "folder",
    },
    fresh: { type: "boolean", default: false, describe: "Throw away an earlier story in the folder" },
  },
  async run({ values, out, signal }) {
    if (values.fast && values.full) throw new UsageError("--fast and --full exclude each other");
    const size = values.fast ? "fast" : values.full ? "full" : "default";
    const seed = numberOf(values.seed, "seed", { min: 0, max: 999, integer: true }) ?? 1;
    const imperfect = values.imperfect ? 0.4 : 0;
    const workspace = await openWorkspace();
    const folder =
      values.out === undefined ? workspace.path(storyName(size, values.imperfect, seed)) : resolve(values.out);
    const clean = values.clean ?? workspace.path(storyName(size, false, seed));
    const cleanStory = existsSync(join(clean, "evaluate", "done.json")) ? clean : undefined;
    if (values.clean !== undefined && !values.imperfect) throw new UsageError("--clean goes with --imperfect");
    if (values.clean !== undefined && !cleanStory)
      throw new UsageError(
        `${clean} holds no finished story: make one with coa quickstart --seed ${seed} --out ${clean}`,
      );
    if (values.fresh) await rm(folder, { recursive: true, force: true });
    await claim(folder, { size, seed, imperfect });
    out.note(`The story so far and to come is kept in ${folder}; stop it at any time, start it again, it continues.`);
    const context = { folder, seed, imperfect, settings: quickstartSizes[size], cleanStory, out, signal };
    const stages = [teamStage, distillStage, sftStage, rlStage, evaluateStage, reportStage];
    const results = await runStages(stages, context);
    if (values.json) out.json({ folder, size, seed, imperfect, stages: results });
    else {
      out.print(await readTable(folder));
      out.print(`The whole report: ${join(folder, "report", "report.html")}`);
      out.print(`Ask the model: coa ask --model ${join(folder, "rl", "model")} "…"`);
    }
    return 0;
  },
});

function storyName(size: string, imperfect: boolean, seed: number): string {
  const parts = [size === "default" ? "" : `-${size}`, imperfect ? "-imperfect" : "", seed === 1 ? "" : `-seed${seed}`];
  return `quickstart${parts.join("")}`;
}

/** A folder belongs to one story: other settings in the same folder would mix two. */
async function claim(folder: string, story: Record<string, unknown>): Promise<void> {
  await mkdir(folder, { recursive: true });
  const file = join(folder, "story.json");
  const text = JSON.stringify(story);
  const before = await readFile(file, "utf8").catch(() => null);
  if (before === null) await writeFile(file, text);
  else if (before !== text) {
    throw new UsageError(`${folder} holds another story (${before}): name another folder with --out, or pass --fresh`);
  }
}
