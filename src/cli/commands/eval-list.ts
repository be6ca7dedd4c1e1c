import { readdir } from "node:fs/promises";
import { openWorkspace } from "../../base/files/workspace.ts";
import { readEvaluation } from "../../evaluate/read-evaluation.ts";
import { textTable } from "../../report/comparison-table.ts";
import { percentWithInterval } from "../../report/format-figures.ts";
import { benchmarks } from "../../tasks/benchmarks/benchmarks.ts";
import { defineCommand } from "../command.ts";

export default defineCommand({
  name: "eval list",
  summary: "List the benchmarks that can be read and the evaluations in the workspace.",
  examples: ["coa eval list", "coa eval list --json"],
  options: {},
  async run({ values, out }) {
    const workspace = await openWorkspace();
    const folders = await readdir(workspace.path("evals"), { withFileTypes: true }).catch(() => []);
    const done: { name: string; tasks: number; samples: number; run: number; success: string }[] = [];
    for (const folder of folders.filter((entry) => entry.isDirectory())) {
      const stored = await readEvaluation(workspace.path("evals", folder.name)).catch(() => undefined);
      if (!stored) continue;
      const { summary } = stored;
      done.push({
        name: folder.name,
        tasks: summary.tasks,
        samples: summary.samples,
        run: summary.runs - summary.missing,
        success: percentWithInterval(summary.success),
      });
    }
    if (values.json) {
      out.json({
        benchmarks: benchmarks.map(({ name, title, kind, metric, origin }) => ({ name, title, kind, metric, origin })),
        evaluations: done,
      });
      return 0;
    }
    out.print(
      textTable([
        ["benchmark", "title", "grader", "figure", "files"],
        ...benchmarks.map(({ name, title, kind, metric, origin }) => [name, title, kind, metric, origin]),
      ]),
    );
    out.print("");
    if (done.length === 0) out.print("no evaluations yet; make one with: coa eval run <tasks> --name <name>");
    else
      out.print(
        textTable([
          ["evaluation", "tasks", "samples", "runs done", "success"],
          ...done.map((one) => [one.name, String(one.tasks), String(one.samples), String(one.run), one.success]),
        ]),
      );
    return 0;
  },
});
