/** Evaluations side by side: tasks down, systems across, and how far two systems differ on the same tasks. */
import { join } from "node:path";
import { readManifest } from "../../base/files/manifest.ts";
import { baselineOf, compareEvaluations } from "../../evaluate/compare-evaluations.ts";
import { readEvaluation, type StoredEvaluation } from "../../evaluate/read-evaluation.ts";
import { comparePaired } from "../../evaluate/statistics.ts";
import { trainingLines } from "../../report/comparison-table.ts";
import { resultSentence, successText } from "../../report/result-sentence.ts";
import { type CutText, cutText } from "./cut-text.ts";
import { NotFound, type StudioContext } from "./reader.ts";
import { stageFolders } from "./stage-folders.ts";

/** What one system did with one task, over all its samples. */
export interface MatrixCell {
  /** Share of the samples that were right; null where none was decided. */
  right: number | null;
  samples: number;
  answer: string;
  billed: number;
  ending: string;
  run?: { kind: "run" | "chain"; key: string };
}

export interface MatrixRow {
  task: string;
  question: CutText;
  family: string;
  /** One per system; absent where it did not run the task. */
  cells: (MatrixCell | null)[];
  /** Systems do not agree on whether the task is solved. */
  differs: boolean;
}

/** `GET /api/matrix?folder=…&folder=…`: all evaluations where none is named. */
export async function readMatrix(query: URLSearchParams, context: StudioContext) {
  const known = await evaluationFolders(context);
  const asked = query.getAll("folder");
  const missing = asked.find((folder) => !known.includes(folder));
  if (missing !== undefined) throw new NotFound(`no evaluation is in "${missing}"`);
  const problems: string[] = [];
  const stored: { folder: string; evaluation: StoredEvaluation }[] = [];
  for (const folder of asked.length > 0 ? asked : known) {
    try {
      stored.push({ folder, evaluation: await readEvaluation(join(context.root, folder)) });
    } catch (error) {
      problems.push(`${folder}: ${(error as Error).message}`);
    }
  }
  const cells = stored.map(({ evaluation }) => cellsOf(evaluation));
  const tasks = new Map(stored.flatMap(({ evaluation }) => evaluation.tasks.map((task) => [task.id, task] as const)));
  const rows = [...tasks.values()].map((task): MatrixRow => {
    const row = cells.map((byTask) => byTask.get(task.id) ?? null);
    const decided = row.flatMap((cell) => (cell?.right == null ? [] : [cell.right]));
    return {
      task: task.id,
      question: cutText(task.question),
      family: String(task.family ?? ""),
      cells: row,
      differs: new Set(decided).size > 1,
    };
  });
  return {
    systems: stored.map(({ folder, evaluation: { summary, tasks: own } }, column) => ({
      folder,
      system: summary.system,
      tasks: own.length,
      /** Tasks that it has come to; in `success` the others count as not solved. */
      played: cells[column]!.size,
      success: summary.success ?? null,
      /** What a success cost, failures included; null where there was none. */
      perSuccess: summary.perSuccess,
      scripted: summary.scripted === true,
      condition: summary.condition,
      learned: summary.learned,
      /** What it is measured against: the team, or the first, under the same conditions. */
      against: baselineOf(
        stored.map((one) => one.evaluation.summary),
        column,
      ),
      undecided: rows.filter(({ cells: row }) => row[column] && row[column].right === null).length,
    })),
    /** Systems on the tasks they share, by their places in `systems`. */
    pairs: pairsOf(cells),
    rows,
    problems,
  };
}

/** `GET /api/result`: what the newest evaluations found, in one sentence; null where nothing was evaluated. */
export async function readResult(_query: URLSearchParams, context: StudioContext) {
  const read: StoredEvaluation[] = [];
  for (const folder of await evaluationFolders(context)) {
    const evaluation = await readEvaluation(join(context.root, folder)).catch(() => undefined);
    if (evaluation && evaluation.records.length > 0) read.push(evaluation);
  }
  // Those that share their tasks with the newest.
  const tasksOf = ({ tasks }: StoredEvaluation) => JSON.stringify(tasks.map(({ id, question }) => [id, question]));
  const newest = read.at(-1);
  if (!newest) return { sentence: null };
  const wanted = tasksOf(newest);
  const together = read.filter((one) => tasksOf(one) === wanted);
  const usual = (one: StoredEvaluation) => Number(one.summary.condition !== undefined);
  const comparison = compareEvaluations(together.sort((a, b) => usual(a) - usual(b)));
  const intervals = comparison.rows.map(({ system, summary }) => `${system}: ${successText(summary)}`);
  return { sentence: resultSentence(comparison), intervals: [...intervals, ...trainingLines(comparison)] };
}

/** In the order in which they were begun: a team before what learned from it, a stage of training after the other. */
async function evaluationFolders(context: StudioContext): Promise<string[]> {
  const begun = await Promise.all(
    [...new Set(stageFolders(context, "evaluation").map(({ folder }) => folder))].map(async (folder) => {
      const manifest = await readManifest(join(context.root, folder)).catch(() => undefined);
      return { folder, at: manifest?.createdAt ?? "" };
    }),
  );
  return begun.sort((a, b) => a.at.localeCompare(b.at)).map(({ folder }) => folder);
}

export type ResultView = Awaited<ReturnType<typeof readResult>>;

export type MatrixView = Awaited<ReturnType<typeof readMatrix>>;

function cellsOf({ records }: StoredEvaluation): Map<string, MatrixCell> {
  const cells = new Map<string, MatrixCell>();
  for (const [task, own] of Map.groupBy(records, ({ taskId }) => taskId)) {
    const first = own[0]!;
    const decided = own.flatMap(({ grade }) => (grade.correct === null ? [] : [Number(grade.correct)]));
    const right = decided.length === 0 ? null : decided.reduce((sum, one) => sum + one, 0) / decided.length;
    cells.set(task, {
      right,
      samples: own.length,
      answer: cutText(first.answer ?? "").text,
      billed: first.usage.billedTokens,
      ending: first.ending.reason,
      ...(first.run && { run: { kind: first.run.kind === "team-run" ? "run" : "chain", key: first.run.id } }),
    });
  }
  return cells;
}

function pairsOf(systems: readonly Map<string, MatrixCell>[]) {
  return systems.flatMap((a, first) =>
    systems.slice(first + 1).flatMap((b, after) => {
      const both = [...a].flatMap(([task, { right }]) => {
        const other = b.get(task)?.right;
        return right == null || other == null ? [] : [[right, other] as const];
      });
      if (both.length === 0) return [];
      const { difference, pValue } = comparePaired(
        both.map(([one]) => one),
        both.map(([, two]) => two),
      );
      return [{ first, second: first + 1 + after, tasks: both.length, difference, pValue }];
    }),
  );
}
