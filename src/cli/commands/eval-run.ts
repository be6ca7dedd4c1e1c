import { openWorkspace } from "../../base/files/workspace.ts";
import { UsageError } from "../../core/errors.ts";
import { runEvaluation } from "../../evaluate/run-evaluation.ts";
import { replayedLine, rightnessLine, rightWords } from "../../report/comparison-table.ts";
import { count, money, percent, percentWithInterval } from "../../report/format-figures.ts";
import { findBenchmark } from "../../tasks/benchmarks/benchmarks.ts";
import { loadBenchmark } from "../../tasks/benchmarks/load-tasks.ts";
import { defineCommand, numberOf, oneInputFile } from "../command.ts";
import { choiceOf } from "../flag-values.ts";
import { gradingFlags, openGrader } from "./eval-grading.ts";
import { openSystem, systemFlags } from "./eval-system.ts";

const examples = [
  "coa eval run math500.parquet --system model --base-url http://localhost:8000/v1 --name bare",
  "coa eval run tasks.jsonl --system chain --model .coa/rl/model --profile web --index .coa/wiki --name chain-rl",
  "coa eval run gaia_dev_103.json --system ./my-team.ts --name team --judge-model gpt-4.1-mini",
];

export default defineCommand({
  name: "eval run",
  summary: "Run a system on tasks and grade it. Started again under the same name, it resumes.",
  arguments: "<tasks>",
  examples,
  options: {
    name: {
      type: "string",
      valueName: "name",
      describe: "What the evaluation is called in comparisons; its folder in the workspace",
    },
    benchmark: {
      type: "string",
      valueName: "name",
      describe: "Which benchmark the file holds; found from its name otherwise",
    },
    limit: { type: "string", valueName: "n", describe: "At most this many tasks, chosen by the seed" },
    family: { type: "string", multiple: true, default: [], valueName: "name", describe: "Only tasks of this family" },
    level: { type: "string", multiple: true, default: [], valueName: "name", describe: "Only tasks of this level" },
    samples: { type: "string", default: "1", valueName: "k", describe: "Runs of each task, for avg@k and pass@k" },
    concurrency: { type: "string", default: "4", valueName: "n", describe: "Runs at the same time" },
    "text-only": { type: "boolean", default: false, describe: "Leave out tasks that come with a picture" },
    since: { type: "string", valueName: "date", describe: "Only tasks published on this day or later, as 2024-08-01" },
    until: { type: "string", valueName: "date", describe: "Only tasks published on this day or earlier" },
    tests: {
      type: "string",
      valueName: "path",
      describe: "LiveCodeBench's release with all tests, joined by question id",
    },
    "allow-missing-golds": { type: "boolean", default: false, describe: "Run a file in which answers are missing" },
    seed: { type: "string", default: "0", valueName: "n", describe: "Chooses tasks and seeds every run" },
    resume: {
      type: "string",
      default: "auto",
      valueName: "how",
      describe: "auto resumes, never refuses an earlier evaluation of this name, fresh deletes it",
    },
    "retry-errors": { type: "boolean", default: false, describe: "Run again what crashed earlier" },
    ...systemFlags,
    ...gradingFlags,
  },
  async run({ values, positionals, out, signal }) {
    const file = oneInputFile(this, positionals, "a file of tasks");
    const whole = (text: string | undefined, flag: string, min = 1) => numberOf(text, flag, { min, integer: true });
    const seed = whole(values.seed, "seed", 0)!;
    const { tasks: loaded, source } = await loadBenchmark(file, {
      benchmark: values.benchmark,
      limit: whole(values.limit, "limit"),
      seed,
      families: values.family.length > 0 ? values.family : undefined,
      levels: values.level.length > 0 ? values.level : undefined,
      textOnly: values["text-only"],
      since: day(values.since, "since"),
      until: day(values.until, "until"),
      tests: values.tests,
      allowMissingGolds: values["allow-missing-golds"],
      signal,
    });
    if (loaded.length === 0)
      throw new UsageError(`no tasks in ${file} (after --family, --level, --text-only, --since and --until)`);
    const { system, close } = await openSystem(values, values.name, { note: out.note, signal });
    const graders = await openGrader(values, loaded);
    const { tasks } = graders;
    if (graders.note) out.note(graders.note);
    const usual = findBenchmark(source.benchmark ?? "")?.metric;
    const { publicTestsOnly, ...from } = source;
    const metric = `${usual ?? "pass@1"}${publicTestsOnly ? " on public tests only" : ""}`;
    if (publicTestsOnly)
      out.note(
        "WARNING: this file has the public tests alone, so the figure is not the benchmark's; give the release with --tests",
      );
    if (usual === "avg@16" && values.samples === "1") out.note("papers quote avg@16 on this benchmark: --samples 16");
    try {
      const folder = (await openWorkspace()).path("evals", system.name);
      const { summary } = await runEvaluation(tasks, system, {
        folder,
        grader: graders.grader,
        measure: { ...from, metric, ...graders.measure },
        samples: whole(values.samples, "samples"),
        concurrency: whole(values.concurrency, "concurrency"),
        seed,
        resume: choiceOf(values.resume, "resume", ["auto", "never", "fresh"]),
        retryErrors: values["retry-errors"],
        signal,
        onProgress: out.progress,
      });
      out.endProgress();
      if (values.json) {
        out.json({ folder, ...summary });
        return 0;
      }
      const { perSuccess: cost } = summary;
      const words = rightWords(graders.measure.right);
      out.print(
        `${summary.system}: ${percentWithInterval(summary.success)} of ${summary.tasks} tasks × ${summary.samples}`,
      );
      out.print(
        `${words.right} ${summary.successes}, ${words.wrong} ${summary.wrong}, unanswered ${summary.unanswered}, crashed ${summary.crashed}, not graded ${summary.undecided}`,
      );
      const { scorers, judges } = graders.measure;
      out.print(
        `${metric}, graded by ${scorers.join("; ")}${judges.map((one) => `; prompt ${one.name} ${one.promptHash}, model ${one.model}`).join("")}`,
      );
      if (summary.what) out.print(summary.what);
      const { right } = graders.measure;
      if (right) out.print(rightnessLine(right));
      if (summary.replayed) out.print(replayedLine(summary.system, summary.replayed));
      if (summary.calibrationError !== null && summary.calibrationError !== undefined)
        out.print(`calibration error ${(summary.calibrationError * 100).toFixed(1)}`);
      if (summary.samples > 1)
        out.print(
          `${Object.entries(summary.passAtK)
            .map(([k, value]) => `pass@${k} ${percent(value)}`)
            .join(", ")}; majority ${percent(summary.majority ?? 0)}`,
        );
      if (cost)
        out.print(
          `per ${words.success}: ${count(cost.billedTokens)} tokens billed, ${count(cost.computedTokens)} computed, ${count(cost.toolCalls)} tool calls, ${cost.rounds === undefined ? "" : `${count(cost.rounds)} rounds, `}${cost.costUsd > 0 ? money(cost.costUsd) : "money not known (--price)"}`,
        );
      out.print(`everything is in ${folder}; compare with: coa eval compare ${system.name} <other>`);
      return 0;
    } finally {
      await graders.close();
      await close();
    }
  },
});

function day(text: string | undefined, flag: string): string | undefined {
  if (text === undefined || /^\d{4}-\d{2}-\d{2}$/.test(text)) return text;
  throw new UsageError(`--${flag} is a day such as 2024-08-01, not "${text}"`);
}
