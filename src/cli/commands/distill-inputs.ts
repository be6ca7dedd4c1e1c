/** What a distillation is given: files of runs and chains as they are; traces of other systems, or folders of them, imported. */
import { readJsonl } from "../../base/files/read-jsonl.ts";
import { writeFileAtomically } from "../../base/files/write-file.ts";
import { UsageError } from "../../core/errors.ts";
import type { Profile, ToolDescription } from "../../core/profile.ts";
import { type TeamRun, teamRunSchema } from "../../core/team-run.ts";
import { proposeProfile } from "../../distill/propose-profile.ts";
import { holdsRecordings } from "../../record/recordings.ts";
import { namedProfiles } from "../choose-profile.ts";
import { importTraces, traceFiles } from "../trace-files.ts";

/**
 * The JSONL files of team runs or chains among the inputs, and those that hold neither and can't be imported, with the reason; what
 * is imported is written to `importedFile`.
 */
export async function distillInputs(paths: readonly string[], importedFile: string) {
  const files: string[] = [];
  const traces: string[] = [];
  for (const path of paths) {
    const whole = await holdsRecordings(path);
    for (const file of whole ? [path] : await traceFiles(path))
      (!whole && (await holdsRecords(file)) ? files : traces).push(file);
  }
  const { runs, unreadable } = importTraces(traces, { lenient: true });
  const first = await runs.next();
  if (!first.done) {
    const lines = async function* () {
      yield `${JSON.stringify(first.value)}\n`;
      for await (const run of runs) yield `${JSON.stringify(run)}\n`;
    };
    await writeFileAtomically(importedFile, lines());
    files.push(importedFile);
  }
  if (files.length === 0) {
    const why = unreadable.map(({ file, reason }) => `${file}: ${reason}`).join("; ");
    throw new UsageError(`there is no run to distill${why ? ` (${why})` : ""}`);
  }
  return { files, unreadable };
}

/** Whether the first line is a team run, a chain or a rollout of ours; broken lines are for the distillation to report. */
async function holdsRecords(file: string): Promise<boolean> {
  if (!file.endsWith(".jsonl")) return false;
  try {
    for await (const line of readJsonl<Record<string, unknown>>(file)) {
      return chainOf(line) !== undefined || (Array.isArray(line["agents"]) && Array.isArray(line["steps"]));
    }
  } catch {
    return true;
  }
  return true;
}

/** A chain as it is in a line: by itself, or inside a rollout of RL. */
function chainOf(line: Record<string, unknown>): { profile?: unknown } | undefined {
  const inner = line["trajectory"] as Record<string, unknown> | null | undefined;
  return [line, inner].find((one) => Array.isArray(one?.["segments"])) ?? undefined;
}

/** The profile that fits the runs of these files; chains keep the one they were written in. */
export async function profileOf(
  files: readonly string[],
): Promise<{ profile: Profile; tools?: ToolDescription[]; derived: boolean }> {
  let named: string | undefined;
  async function* runs(): AsyncGenerator<TeamRun> {
    for (const file of files) {
      for await (const line of readJsonl<Record<string, unknown>>(file, undefined, { onBad: () => {} })) {
        const chain = chainOf(line);
        if (chain) named ??= String(chain.profile);
        const run = teamRunSchema.safeParse(line);
        if (run.success) yield run.data as TeamRun;
      }
    }
  }
  const all = runs();
  const first = await all.next();
  if (first.done) return { profile: namedProfiles[named ?? "web"] ?? namedProfiles["web"]!, derived: false };
  async function* rest(): AsyncGenerator<TeamRun> {
    yield first.value as TeamRun;
    yield* all;
  }
  return { ...(await proposeProfile(rest())), derived: true };
}
