/**
 * A stage of the quickstart works in a folder of its own. A finished stage leaves `done.json` and is not run again; an
 * unfinished one resumes from its own files. So the whole can be stopped at any time and started again.
 */
import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { writeJson } from "../../base/files/write-file.ts";
import { steadyNow } from "../../base/work/steady-clock.ts";
import type { OnProgress } from "../../core/events.ts";
import type { QuickstartSettings } from "./settings.ts";

export interface QuickstartContext {
  folder: string;
  seed: number;
  settings: QuickstartSettings;
  /** Share of the team's runs that go wrong. */
  imperfect: number;
  /** A finished quickstart with the same seed and a team without mistakes, to show beside an imperfect one. */
  cleanRun?: string;
  onProgress: OnProgress;
  onStage: (event: StageEvent) => void;
  signal: AbortSignal;
}

export type StageFigures = Record<string, number | string>;

/** What a person wants to know while stages run. `resumed` marks a stage that had finished before. */
export type StageEvent =
  | { type: "stage-start"; number: number; of: number; name: string; what: string }
  | { type: "stage-end"; name: string; figures: StageFigures; seconds: number; resumed: boolean };

export interface Stage {
  /** Folder and short name. */
  name: string;
  /** What it does, in words for a newcomer. */
  what: string;
  run(context: QuickstartContext, folder: string): Promise<StageFigures>;
}

/** Runs the stages that are not done yet, in order, and returns what each of them reports. */
export async function runStages(
  stages: readonly Stage[],
  context: QuickstartContext,
): Promise<Record<string, StageFigures>> {
  const results: Record<string, StageFigures> = {};
  for (const [index, { name, what, run }] of stages.entries()) {
    const folder = join(context.folder, name);
    await mkdir(folder, { recursive: true });
    const file = join(folder, "done.json");
    const done = await readFile(file, "utf8").catch(() => null);
    context.onStage({ type: "stage-start", number: index + 1, of: stages.length, name, what });
    const startedAt = steadyNow();
    const figures = done === null ? await run(context, folder) : (JSON.parse(done) as StageFigures);
    const seconds = done === null ? Math.round((steadyNow() - startedAt) / 1000) : Number(figures["seconds"]);
    results[name] = { ...figures, seconds };
    if (done === null) await writeJson(file, results[name]);
    context.onStage({ type: "stage-end", name, figures, seconds, resumed: done !== null });
  }
  return results;
}
