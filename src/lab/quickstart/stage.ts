/**
 * A stage of the quickstart works in a folder of its own. A finished stage is not run again; an unfinished one resumes from
 * its own files. So the whole can be stopped at any time and started again.
 */
import type { OnProgress } from "../../core/events.ts";
import type { QuickstartSettings } from "./settings.ts";

export interface QuickstartContext {
  folder: string;
  seed: number;
  settings: QuickstartSettings;
  /** Share of the team's runs that go wrong. */
  imperfect: number;
  onProgress: OnProgress;
  signal: AbortSignal;
}

/** `line`: what happened, in a sentence. `example`: one thing it was done to, a line each. */
export type StageFigures = Record<string, number | string> & { line: string; example: string };

/** The beginning of a text, on one line. */
export function oneLine(text: string, length = 150): string {
  const plain = text.replace(/\s+/g, " ").trim();
  return plain.length > length ? `${plain.slice(0, length)}…` : plain;
}

/** What a person wants to know while stages run. `resumed` marks a stage that had finished before. */
export type StageEvent =
  | { type: "stage-start"; number: number; of: number; name: string; what: string }
  | { type: "stage-end"; name: string; figures: StageFigures; seconds: number; resumed: boolean };

export interface Stage {
  name: string;
  /** What it does, in words for a newcomer. */
  what: string;
  run(context: QuickstartContext, folder: string): Promise<StageFigures>;
}
