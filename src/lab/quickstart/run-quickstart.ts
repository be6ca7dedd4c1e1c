/**
 * The whole way on one machine, as a library call: a team works in a made-up web, its runs become chains, a small model
 * learns them, practises with live tools, and is compared with the team. `coa quickstart` and the recipe both call this.
 */
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { UsageError } from "../../core/errors.ts";
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
  resume?: "auto" | "never" | "fresh";
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
  if (resume === "fresh") await rm(folder, { recursive: true, force: true });
  await claim(folder, { settings, seed, imperfect }, resume);
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
  return {
    folder,
    stages,
    table: await readTable(folder),
    report: join(folder, "report", "report.html"),
    model: join(folder, "rl", "model"),
  };
}

/** A folder belongs to one configuration: another one in the same folder would mix two runs. */
async function claim(folder: string, configuration: unknown, resume: "auto" | "never" | "fresh"): Promise<void> {
  await mkdir(folder, { recursive: true });
  const file = join(folder, "quickstart.json");
  const text = JSON.stringify(configuration);
  const before = await readFile(file, "utf8").catch(() => null);
  if (before === null) return writeFile(file, text);
  if (before !== text) throw new UsageError(`${folder} holds a quickstart with other settings: choose another folder`);
  if (resume === "never") throw new UsageError(`${folder} holds a quickstart already: choose another folder`);
}
