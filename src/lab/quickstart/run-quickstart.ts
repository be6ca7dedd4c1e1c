/**
 * All stages on one machine, as a library call: a team works in a made-up web, its runs become chains, a small model
 * learns them, practises with live tools, and is compared with the team. `coa quickstart` and the recipe both call
 * this.
 */

import { join } from "node:path";
import { claimFolder, type Resume } from "../../base/files/claim-folder.ts";
import { makeFolder } from "../../base/files/make-folder.ts";
import { runSteps } from "../../base/files/resumable-steps.ts";
import type { OnProgress } from "../../core/events.ts";
import { distillStage } from "./distill-stage.ts";
import { evaluateStage } from "./evaluate-stage.ts";
import { readTable, reportStage } from "./report-stage.ts";
import { rlStage } from "./rl-stage.ts";
import { type QuickstartSettings, quickstartSizes } from "./settings.ts";
import { sftStage } from "./sft-stage.ts";
import type { QuickstartContext, StageEvent, StageFigures } from "./stage.ts";
import { teamStage } from "./team-stage.ts";

export interface QuickstartOptions {
  /** Everything is kept here; an unfinished quickstart is resumed. */
  folder: string;
  /** `fast`, `default` or `full`, or settings of your own. */
  size?: keyof typeof quickstartSizes | QuickstartSettings;
  seed?: number;
  /** Share of the team's runs that go wrong, unfiltered: to see what RL repairs. */
  imperfect?: number;
  /** `auto` resumes, `never` refuses a folder with an earlier quickstart, `fresh` deletes it first. */
  resume?: Resume;
  onProgress?: OnProgress;
  onStage?: (event: StageEvent) => void;
  signal?: AbortSignal;
}

export interface QuickstartResult {
  folder: string;
  /** What each stage reports. */
  stages: Record<string, StageFigures>;
  /** The comparison as text. */
  table: string;
  /** The HTML report and the trained model. */
  report: string;
  model: string;
}

/** Runs, or resumes, all stages. */
export async function runQuickstart(options: QuickstartOptions): Promise<QuickstartResult> {
  const { folder, size = "default", seed = 1, imperfect = 0, resume = "auto" } = options;
  const settings = typeof size === "string" ? quickstartSizes[size] : size;
  const claimed = await claimFolder(
    folder,
    { kind: "quickstart", configuration: { settings, seed, imperfect } },
    { resume },
  );
  try {
    const context: QuickstartContext = {
      ...{ folder, seed, settings, imperfect },
      onProgress: options.onProgress ?? (() => {}),
      signal: options.signal ?? new AbortController().signal,
    };
    const steps = [teamStage, distillStage, sftStage, rlStage, evaluateStage, reportStage].map((stage) => ({
      ...stage,
      async run() {
        await makeFolder(join(folder, stage.name));
        return stage.run(context, join(folder, stage.name));
      },
    }));
    const ends = await runSteps(folder, steps, {
      onStart: ({ name, what }, { number, of }) => options.onStage?.({ type: "stage-start", number, of, name, what }),
      onEnd: ({ name }, { result: figures, seconds, resumed }) =>
        options.onStage?.({ type: "stage-end", name, figures, seconds, resumed }),
      signal: context.signal,
    });
    const stages = Object.fromEntries(
      Object.entries(ends).map(([name, { result, seconds }]) => [name, { ...result, seconds }]),
    );
    await claimed.report({ state: "done", done: Object.keys(stages).length });
    return {
      folder,
      stages,
      table: await readTable(folder),
      report: join(folder, "report", "report.html"),
      model: join(folder, "rl", "model"),
    };
  } finally {
    await claimed.release();
  }
}
