/**
 * All stages on one machine, as a library call: a team works in a made-up web, its runs become chains, a small model
 * learns them, practises with live tools, and is compared with the team. `coa quickstart` and the recipe both call
 * this.
 */

import { join } from "node:path";
import { claimFolder, type Resume } from "../../base/files/claim-folder.ts";
import type { OnProgress } from "../../core/events.ts";
import { distillStage } from "./distill-stage.ts";
import { evaluateStage } from "./evaluate-stage.ts";
import { readTable, reportStage } from "./report-stage.ts";
import { rlStage } from "./rl-stage.ts";
import { type QuickstartSettings, quickstartSizes } from "./settings.ts";
import { sftStage } from "./sft-stage.ts";
import { runStages, type StageEvent, type StageFigures } from "./stage.ts";
import { teamStage } from "./team-stage.ts";

export interface QuickstartOptions {
  /** Everything is kept here; an unfinished quickstart is resumed. */
  folder: string;
  /** `fast`, `default` or `full`, or settings of your own. */
  size?: keyof typeof quickstartSizes | QuickstartSettings;
  seed?: number;
  /** Share of the team's runs that go wrong, unfiltered: to see what RL repairs. */
  imperfect?: number;
  /** With `imperfect`: a finished quickstart of the same seed, shown beside it. */
  cleanRun?: string;
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
  const { folder, size = "default", seed = 1, imperfect = 0, cleanRun, resume = "auto" } = options;
  const settings = typeof size === "string" ? quickstartSizes[size] : size;
  const claimed = await claimFolder(
    folder,
    { kind: "quickstart", configuration: { settings, seed, imperfect } },
    { resume },
  );
  try {
    const stages = await runStages([teamStage, distillStage, sftStage, rlStage, evaluateStage, reportStage], {
      folder,
      seed,
      settings,
      imperfect,
      cleanRun,
      onProgress: options.onProgress ?? (() => {}),
      onStage: options.onStage ?? (() => {}),
      signal: options.signal ?? new AbortController().signal,
    });
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
