/**
 * A story of stages, each in a folder of its own. A finished stage leaves `done.json` and is not run again; an
 * unfinished one goes on from its own files. So the whole can be stopped at any time and started again.
 */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Output } from "../../cli/output.ts";
import { duration } from "../../cli/output.ts";
import type { QuickstartSettings } from "./settings.ts";

export interface StoryContext {
  folder: string;
  seed: number;
  settings: QuickstartSettings;
  /** Share of the team's runs that go wrong. */
  imperfect: number;
  /** A finished story with the same seed and a team that does not err, to show beside an imperfect one. */
  cleanStory?: string;
  out: Output;
  signal: AbortSignal;
}

export type StageFigures = Record<string, number | string>;

export interface Stage {
  /** Folder and short name. */
  name: string;
  /** What it does, in words for a newcomer. */
  what: string;
  run(context: StoryContext, folder: string): Promise<StageFigures>;
}

/** Runs the stages that are not done yet, in order, and returns what each of them reports. */
export async function runStages(
  stages: readonly Stage[],
  context: StoryContext,
): Promise<Record<string, StageFigures>> {
  const { out } = context;
  const results: Record<string, StageFigures> = {};
  for (const [index, stage] of stages.entries()) {
    const folder = join(context.folder, stage.name);
    await mkdir(folder, { recursive: true });
    const file = join(folder, "done.json");
    const done = await readFile(file, "utf8").catch(() => null);
    out.note(`${out.style("bold", `${index + 1}/${stages.length} ${stage.name}`)}: ${stage.what}`);
    if (done !== null) {
      results[stage.name] = JSON.parse(done) as StageFigures;
      out.note("    done before");
      continue;
    }
    const startedAt = Date.now();
    const figures = await stage.run(context, folder);
    out.endProgress();
    const seconds = Math.round((Date.now() - startedAt) / 1000);
    results[stage.name] = { ...figures, seconds };
    await writeFile(file, `${JSON.stringify(results[stage.name], null, 2)}\n`);
    const shown = Object.entries(figures).map(
      ([name, value]) => `${name} ${typeof value === "number" ? Number(value.toPrecision(4)) : value}`,
    );
    out.note(`    ${shown.join(", ")} (${duration(seconds * 1000)})`);
  }
  return results;
}
