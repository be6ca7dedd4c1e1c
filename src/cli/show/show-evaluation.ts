/** An evaluation: by family and level, outcomes, what went wrong; or what the system did for one task. */
import { UsageError } from "../../core/errors.ts";
import { readTeamRun } from "../../core/team-run.ts";
import { readTrajectory } from "../../core/trajectory.ts";
import { chosenSuccess } from "../../evaluate/best-of.ts";
import { compareEvaluations } from "../../evaluate/compare-evaluations.ts";
import { comparisonReport } from "../../evaluate/comparison-report.ts";
import { byJudge } from "../../evaluate/judge-choice.ts";
import { readEvaluation, readRuns, type StoredEvaluation } from "../../evaluate/read-evaluation.ts";
import { taskGrader } from "../../graders/grade-task.ts";
import { runTree } from "../../record/run-summary.ts";
import { textTable } from "../../report/comparison-table.ts";
import { count, percent, percentWithInterval } from "../../report/format-figures.ts";
import { chainText } from "../render-chain.ts";
import type { Asked, Shown, View } from "./shown.ts";

/** Wrong answers that a summary quotes. */
const quoted = 5;

/** Shows an evaluation's folder, finished or not; an item is a task. */
export const showEvaluation: View = async (folder, asked) => {
  const evaluation = await readEvaluation(folder, { grader: taskGrader() });
  const { records } = evaluation;
  if (asked.item !== undefined) return showTask(evaluation, asked.item, asked.out);
  if (asked.all)
    return {
      json: records,
      text: records
        .map(
          ({ taskId, grade, answer }) => `${grade.correct ? "right" : "wrong"}  ${taskId}  ${answer ?? "(no answer)"}`,
        )
        .join("\n"),
    };
  const bestOfN = asked.choose && (await bestOf(evaluation, asked.choose, asked.signal));
  const { summary } = evaluation;
  return {
    json: { ...summary, ...(bestOfN !== undefined && { bestOfN }) },
    text: [
      summaryText(evaluation),
      ...(bestOfN === undefined
        ? []
        : [`best of ${summary.samples}, picked by ${asked.choose!.model}: ${percent(bestOfN)}`]),
      ...records
        .filter(({ grade }) => grade.correct !== true)
        .slice(0, quoted)
        .map(({ taskId, answer, grade }) => `\n${taskId}: ${answer ?? "no answer"}\n  ${grade.reason}`),
    ].join("\n"),
    html: () => comparisonReport([evaluation], compareEvaluations([evaluation]), { title: summary.system }),
  };
};

function summaryText({ summary }: StoredEvaluation): string {
  const row = (name: string, { tasks, success, perTask }: Pick<typeof summary, "tasks" | "success" | "perTask">) => [
    name,
    String(tasks),
    percentWithInterval(success),
    count(perTask.billedTokens),
    count(perTask.toolCalls),
  ];
  const groups = Object.entries({ family: summary.byFamily, level: summary.byLevel }).flatMap(([kind, figures]) =>
    Object.entries(figures)
      .filter(([group]) => group !== "none")
      .map(([group, of]) => row(`${kind} ${group}`, of)),
  );
  return [
    ...(summary.what ? [`${summary.system}: ${summary.what}`] : []),
    textTable([["", "tasks", "success", "tokens/task", "tools/task"], row("all", summary), ...groups]),
    `\nof ${summary.runs} runs: right ${summary.successes}, wrong ${summary.wrong}, unanswered ${summary.unanswered}, crashed ${summary.crashed}, not graded ${summary.undecided}, not run ${summary.missing}`,
    ...(summary.samples > 1 ? [`majority of ${summary.samples}: ${percent(summary.majority ?? 0)}`] : []),
  ].join("\n");
}

async function showTask(
  { records, tasks, folder }: StoredEvaluation,
  taskId: string,
  out: Asked["out"],
): Promise<Shown> {
  const tried = records.filter((one) => one.taskId === taskId);
  if (tried.length === 0)
    throw new UsageError(`${folder} has no run of a task "${taskId}". Its tasks: coa show ${folder} --items`);
  const runs = await readRuns(folder, new Set(tried.flatMap(({ run }) => run?.id ?? [])));
  const task = tasks.find(({ id }) => id === taskId);
  const samples = tried.map((record) => ({ record, run: record.run && runs.get(record.run.id) }));
  const texts = samples.map(({ record: { run: stored, answer, grade }, run }) => {
    const shown =
      run === undefined
        ? ""
        : stored?.kind === "trajectory"
          ? chainText(readTrajectory(run), out.style)
          : runTree(readTeamRun(run), out.width);
    return `${shown}\n\nanswer:   ${answer ?? "(none)"}\ngrade:    ${grade.correct ? "right" : "wrong"} (${grade.reason})`;
  });
  return {
    json: { task, samples },
    text: [`question: ${task?.question ?? ""}\nright:    ${task?.answers.join(" or ") ?? ""}`, ...texts].join("\n\n"),
  };
}

/** Success when a model picks one of each task's answers. */
async function bestOf(
  { folder, tasks, records }: StoredEvaluation,
  choose: NonNullable<Asked["choose"]>,
  signal: AbortSignal,
): Promise<number> {
  const { openaiCompatible } = await import("../../models/openai-compatible.ts");
  const model = openaiCompatible(choose);
  try {
    const runs = await readRuns(folder, new Set(records.flatMap(({ run }) => run?.id ?? [])));
    return await chosenSuccess(tasks, records, byJudge(model), { runs, signal });
  } finally {
    await model.close();
  }
}
