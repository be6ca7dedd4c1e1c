import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { z } from "zod";
import { readJsonl } from "../../base/files/read-jsonl.ts";
import { writeFileAtomically, writeJson } from "../../base/files/write-file.ts";
import { UsageError } from "../../core/errors.ts";
import type { Profile, ToolDescription } from "../../core/profile.ts";
import { type TeamRun, teamRunSchema } from "../../core/team-run.ts";
import { distill } from "../../distill/distill.ts";
import type { DistillPlugins } from "../../distill/distill-config.ts";
import { readTasks } from "../../distill/judge-record.ts";
import { proposeProfile } from "../../distill/propose-profile.ts";
import { taskGrader } from "../../graders/grade-task.ts";
import { holdsRecordings } from "../../record/recordings.ts";
import { reportText } from "../../report/distill-text.ts";
import { loadTokenizer } from "../../tokenizers/load-tokenizer.ts";
import { chooseProfile, namedProfiles } from "../choose-profile.ts";
import { defineCommand, existingFiles, MissingArgument } from "../command.ts";
import { confirmed } from "../output.ts";
import type { Session } from "../session.ts";
import { choice, list, text, toggle, whole } from "../setting.ts";
import type { Settings } from "../settings/index.ts";
import { importTraces, traceFiles } from "../trace-files.ts";
import { openGrader } from "./eval-grading.ts";

export default defineCommand({
  summary:
    "Turn team runs (or chains) into chains worth learning from: convert, filter, sample, report. Resumes by itself.",
  arguments: "<runs.jsonl, traces or folders…>",
  examples: [
    "coa distill run traces/ --tasks tasks.jsonl --out .coa/distilled/mine",
    "coa distill run runs.jsonl --tasks tasks.jsonl --profile web --out .coa/distilled/web",
    "coa distill run runs.jsonl --tasks tasks.jsonl --profile lab --bare --set distill.minInteractions=4 --out .coa/distilled/lab",
    "coa distill run chains.jsonl --tasks tasks.jsonl --eval gaia.jsonl --filter ./my-filters.ts --out .coa/distilled/again",
  ],
  options: {
    out: text("Where the result goes", { valueName: "folder", group: "output" }),
    tasks: list("Tasks with their answers, to grade by", { valueName: "file" }),
    "assume-right": toggle("Keep chains that can't be graded; reports call them assumed"),
    tokenizer: text("Count tokens exactly (default: estimated)", { valueName: "folder", group: "model" }),
    "max-tokens": whole("Max tokens per chain", { valueName: "n", group: "limits" }),
    seed: whole("Seed of all sampling", { default: 0, min: 0, valueName: "n" }),
    resume: choice(["auto", "never", "fresh"], "What to do with an earlier result", { default: "auto", group: "output", valueName: "how" }),
  }, // biome-ignore format: one flag a line
  reads: ["distill", "chain", "judge", "grader"],
  hides: ["lab"],
  async run({ values, settings, positionals, out, signal, session }) {
    const { distill: how, chain } = settings;
    if (positionals.length === 0) throw new MissingArgument("team runs");
    if (!values.out) throw new UsageError("name the folder of the result: --out <folder>");
    const tasksFiles = existingFiles(values.tasks);
    existingFiles([...positionals, ...how.filters]);
    const { files, unreadable } = await distillInputs(positionals, `${values.out}-imported.jsonl`);
    for (const { file, reason } of unreadable) out.note(`not a trace: ${file}: ${reason}`);
    const found = chain.profile === undefined ? await profileOf(files) : undefined;
    const chosen = found?.profile ?? (await chooseProfile(chain.profile!));
    const profile = how.layout === undefined ? chosen : { ...chosen, style: { ...chosen.style, layout: how.layout } };
    if (found?.derived) out.note(`profile made from the recording: ${profile.tags.map((tag) => tag.name).join(", ")}`);
    // Chains of ours may carry a reward; recordings carry nothing to grade by.
    const ask =
      found?.derived && tasksFiles.length === 0 && !values["assume-right"] && process.stdin.isTTY && out.isTTY;
    const assumeRight =
      values["assume-right"] ||
      (ask && (await confirmed("No tasks to grade by. Take the recorded answers as right?", false)));
    const plugins = await choosePlugins(settings, session, { tokenizerFolder: values.tokenizer, tasksFiles });
    const report = await distill(files, {
      out: values.out,
      tasksFiles,
      modules: how.filters.map((file) => pathToFileURL(resolve(file)).href),
      plugins,
      resume: values.resume,
      signal,
      onProgress: out.progress,
      config: {
        profile,
        ...(found?.tools && { tools: found.tools }),
        ...(chain.bareQuestion && { systemPrompt: false as const }),
        fill: how.fill,
        toolTags: how.toolTags,
        minInteractions: how.minInteractions ?? (found?.derived ? 2 : 5),
        reflection: { keepWithout: how.keepWithoutReflection },
        correctionCopies: how.copies,
        nearDuplicates: how.nearDuplicates,
        maxTokens: values["max-tokens"],
        ungraded: assumeRight ? "keep" : "drop",
        contamination: { questions: await readQuestions(how.evalQuestions), blockedUrls: how.blockUrls },
        skip: how.skip,
        seed: values.seed,
      },
    });
    out.endProgress();
    await writeJson(join(values.out, "profile.json"), profile);
    const chains = join(values.out, "trajectories.jsonl");
    const ungraded = report.stages.find(({ name }) => name === "correctness")?.reasons["nothing to grade by"] ?? 0;
    if (ungraded > 0)
      out.note(`${ungraded} runs had nothing to grade by: give --tasks <file>, or --assume-right to keep them`);
    return {
      json: { ...report, unreadable },
      text: [reportText(report), `\n${chains}`],
      notes:
        report.written > 0 ? [`next: coa dataset build ${chains} --tokenizer <model folder> --out .coa/dataset`] : [],
      code: report.written > 0 ? 0 : 1,
    };
  },
});

/** The questions of evaluation sets: any JSONL whose lines have a `question`. */
export async function readQuestions(files: readonly string[] = []): Promise<string[]> {
  const questions: string[] = [];
  for (const file of files) {
    if (!existsSync(file)) throw new UsageError(`there is no file ${file}`);
    for await (const { question } of readJsonl(file, z.looseObject({ question: z.string() }))) questions.push(question);
  }
  return questions;
}

/**
 * Plugins as functions, where a model, a sandbox or a tokenizer takes part; undefined where the rules are enough, so that
 * they can run in worker threads.
 */
export async function choosePlugins(
  { judge, grader }: Settings<"judge" | "grader">,
  session: Session,
  { tokenizerFolder, tasksFiles }: { tokenizerFolder?: string; tasksFiles: readonly string[] },
): Promise<DistillPlugins> {
  const tasks = await readTasks(tasksFiles);
  const judged = judge.model ?? judge.baseUrl ?? judge.prompt;
  const hasCode = tasks.some((task) => task.kind === "code");
  if (!(hasCode || judged || tokenizerFolder)) return { grade: taskGrader() };
  const { grader: grade } = await openGrader({ judge, grader }, session, tasks);
  const tokenizer = tokenizerFolder === undefined ? undefined : await loadTokenizer(tokenizerFolder);
  return {
    grade,
    ...(tokenizer && { countTokens: (text: string) => tokenizer.encodeWithSpecials(text).length }),
  };
}

/**
 * The JSONL files of team runs or chains among the inputs, and those that hold neither and can't be imported, with the reason; what
 * is imported is written to `importedFile`.
 */
async function distillInputs(paths: readonly string[], importedFile: string) {
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
async function profileOf(
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
