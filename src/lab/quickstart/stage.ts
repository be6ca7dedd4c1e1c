/**
 * A stage of the quickstart works in a folder of its own. A finished stage is not run again; an unfinished one resumes from
 * its own files. So the whole can be stopped at any time and started again.
 */
import { join } from "node:path";
import { makeFolder } from "../../base/files/make-folder.ts";
import { runSteps } from "../../base/files/resumable-steps.ts";
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
  const { onStage, signal } = context;
  const steps = stages.map(({ name, what, run }) => ({
    name,
    what,
    async run() {
      const folder = join(context.folder, name);
      await makeFolder(folder);
      return run(context, folder);
    },
  }));
  const ends = await runSteps(context.folder, steps, {
    onStart: ({ name, what }, { number, of }) => onStage({ type: "stage-start", number, of, name, what }),
    onEnd: ({ name }, { result: figures, seconds, resumed }) =>
      onStage({ type: "stage-end", name, figures, seconds, resumed }),
    signal,
  });
  return Object.fromEntries(Object.entries(ends).map(([name, { result, seconds }]) => [name, { ...result, seconds }]));
}
