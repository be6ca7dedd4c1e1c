/** An evaluation: by family and level, outcomes, what went wrong; or what the system did for one task. */
import { UsageError } from "../../core/errors.ts";
import { teamRunSchema } from "../../core/team-run.ts";
import { trajectorySchema } from "../../core/trajectory-schema.ts";
import { compareEvaluations, comparisonReport } from "../../evaluate/compare-evaluations.ts";
import { readEvaluation, readRuns, type StoredEvaluation } from "../../evaluate/read-evaluation.ts";
import { taskGrader } from "../../graders/grade-task.ts";
import { runTree } from "../../record/run-summary.ts";
import { replayedLine, rightnessLine, rightWords, textTable } from "../../report/comparison-table.ts";
import type { Summary } from "../../report/figures.ts";
import { count, money as dollars, percent, percentWithInterval } from "../../report/format-figures.ts";
import { successText } from "../../report/result-sentence.ts";
import { chainText } from "../render-chain.ts";
import type { Asked, Shown, View } from "./shown.ts";

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
  const { summary } = evaluation;
  return {
    json: summary,
    text: [
      evaluationText(summary),
      ...records
        .filter(({ grade }) => grade.correct !== true)
        .slice(0, quoted)
        .map(({ taskId, answer, grade }) => `\n${taskId}: ${answer ?? "no answer"}\n  ${grade.reason}`),
    ].join("\n"),
    html: () => comparisonReport([evaluation], compareEvaluations([evaluation]), { title: summary.system }),
  };
};

/** An evaluation in a few lines: success, outcomes, how it was graded, costs, then families and levels. */
export function evaluationText(summary: Summary): string {
  const { samples, measure, perSuccess: cost, replayed } = summary;
  const words = rightWords(measure?.right);
  const row = (name: string, { tasks, success, perTask }: Pick<Summary, "tasks" | "success" | "perTask">) => [
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
  const judges = measure?.judges.map((one) => `; prompt ${one.name} ${one.promptHash}, model ${one.model}`).join("");
  const passes = Object.entries(summary.passAtK).map(([k, value]) => `pass@${k} ${percent(value)}`);
  const money = cost && cost.costUsd > 0 ? dollars(cost.costUsd) : "money not known (--price)";
  return [
    `${summary.system}: ${successText(summary)} of ${summary.tasks} tasks × ${samples}`,
    `${words.right} ${summary.successes}, ${words.wrong} ${summary.wrong}, unanswered ${summary.unanswered}, crashed ${summary.crashed}, not graded ${summary.undecided}, not run ${summary.missing}`,
    measure && `${measure.metric ?? "pass@1"}, graded by ${measure.scorers.join("; ")}${judges}`,
    summary.what,
    measure?.right && rightnessLine(measure.right),
    replayed && replayedLine(summary.system, replayed),
    samples > 1 && `${passes.join(", ")}; majority of ${samples}: ${percent(summary.majority ?? 0)}`,
    cost &&
      `per ${words.success}: ${count(cost.billedTokens)} tokens billed, ${count(cost.computedTokens)} computed, ${count(cost.toolCalls)} tool calls, ${cost.rounds === undefined ? "" : `${count(cost.rounds)} rounds, `}${money}`,
    groups.length > 0 && `\n${textTable([["", "tasks", "success", "tokens/task", "tools/task"], ...groups])}`,
  ]
    .filter((line) => typeof line === "string")
    .join("\n");
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
          ? chainText(trajectorySchema.parse(run), out.style)
          : runTree(teamRunSchema.parse(run), out.width);
    return `${shown}\n\nanswer:   ${answer ?? "(none)"}\ngrade:    ${grade.correct ? "right" : "wrong"} (${grade.reason})`;
  });
  return {
    json: { task, samples },
    text: [`question: ${task?.question ?? ""}\nright:    ${task?.answers.join(" or ") ?? ""}`, ...texts].join("\n\n"),
  };
}
