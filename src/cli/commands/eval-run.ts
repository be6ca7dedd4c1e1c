import { openWorkspace } from "../../base/files/workspace.ts";
import { UsageError } from "../../core/errors.ts";
import { runEvaluation } from "../../evaluate/run-evaluation.ts";
import { findBenchmark } from "../../tasks/benchmarks/benchmarks.ts";
import { loadBenchmark } from "../../tasks/benchmarks/load-tasks.ts";
import { defineCommand, oneInputFile } from "../command.ts";
import { choice, text, whole } from "../setting.ts";
import { evaluationText } from "../show/show-evaluation.ts";
import { openGrader } from "./eval-grading.ts";
import { openSystem, systemSections } from "./eval-system.ts";

export default defineCommand({
  summary: "Run a system on tasks and grade it. Started again under the same name, it resumes.",
  arguments: "<tasks>",
  examples: [
    "coa eval run math500.parquet --system model --base-url http://localhost:8000/v1 --name bare",
    "coa eval run tasks.jsonl --system chain --model .coa/rl/model --profile web --index .coa/wiki --name chain-rl",
    "coa eval run gaia_dev_103.json --system ./my-team.ts --name team --judge-model gpt-4.1-mini",
  ],
  options: {
    name: text("Name of the evaluation in comparisons; its folder in the workspace", { valueName: "name", group: "output" }),
    system: text("chain, team, model (no tools), lab-team (scripted, in the lab), recorded (the runs of --runs), or a module whose default export is a system", { default: "chain", valueName: "what" }),
    runs: text("With --system recorded: the recorded team runs to grade; nothing is run again", { valueName: "file" }),
    limit: whole("Max tasks, chosen by the seed", { valueName: "n", group: "limits" }),
    samples: whole("Runs of each task, for avg@k and pass@k", { default: 1, valueName: "k", group: "limits" }),
    concurrency: whole("Max runs at the same time", { default: 4, valueName: "n", group: "limits" }),
    seed: whole("Chooses tasks and seeds every run", { default: 0, min: 0, valueName: "n" }),
    resume: choice(["auto", "never", "fresh"], "auto resumes, never refuses an earlier evaluation of this name, fresh deletes it", { default: "auto", group: "output", valueName: "how" }),
  }, // biome-ignore format: one flag a line
  reads: ["eval", ...systemSections, "judge", "grader"],
  hides: ["bare", "topology", "role", "judge", "max-usd"],
  async run({ values, settings, positionals, out, signal, session }) {
    const { eval: how } = settings;
    const file = oneInputFile(positionals, "a file of tasks");
    const { seed } = values;
    const { tasks: loaded, source } = await loadBenchmark(file, {
      benchmark: how.benchmark,
      limit: values.limit,
      seed,
      families: how.families.length > 0 ? [...how.families] : undefined,
      levels: how.levels.length > 0 ? [...how.levels] : undefined,
      textOnly: how.textOnly,
      since: day(how.since, "since"),
      until: day(how.until, "until"),
      tests: how.tests,
      allowMissingGolds: how.allowMissingGolds,
      signal,
    });
    if (loaded.length === 0)
      throw new UsageError(
        `no tasks in ${file} (after eval.families, eval.levels, eval.textOnly, eval.since and eval.until)`,
      );
    const system = await openSystem(values, settings, session);
    const graders = await openGrader(settings, session, loaded);
    const { tasks } = graders;
    if (graders.note) out.note(graders.note);
    const usual = findBenchmark(source.benchmark ?? "")?.metric;
    const { publicTestsOnly, ...from } = source;
    const metric = `${usual ?? "pass@1"}${publicTestsOnly ? " on public tests only" : ""}`;
    if (publicTestsOnly)
      out.note(
        "WARNING: this file has the public tests alone, so the figure is not the benchmark's; give the release with --set eval.tests=<path>",
      );
    if (usual === "avg@16" && values.samples === 1) out.note("papers quote avg@16 on this benchmark: --samples 16");
    const folder = (await openWorkspace()).path("evals", system.name);
    const { summary } = await runEvaluation(tasks, system, {
      folder,
      grader: graders.grader,
      measure: { ...from, metric, ...graders.measure },
      samples: values.samples,
      concurrency: values.concurrency,
      seed,
      resume: values.resume,
      retryErrors: how.retryErrors,
      signal,
      onProgress: out.progress,
    });
    const where = `everything is in ${folder}; compare with: coa eval compare ${system.name} <other>`;
    return { json: { folder, ...summary }, text: [evaluationText(summary), where] };
  },
});

function day(text: string | undefined, setting: string): string | undefined {
  if (text === undefined || /^\d{4}-\d{2}-\d{2}$/.test(text)) return text;
  throw new UsageError(`eval.${setting} is a day such as 2024-08-01, not "${text}"`);
}
