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
  const { stored, problems } = await readEvaluations(context, query.getAll("folder"));
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
  const begun = (await readEvaluations(context)).stored.filter(({ evaluation }) => evaluation.records.length > 0);
  if (begun.length === 0) return { sentence: null };
  const newest = begun.reduce((a, b) => (b.at > a.at ? b : a));
  const tasksOf = ({ evaluation: { tasks } }: Stored) =>
    JSON.stringify(tasks.map(({ id, question }) => [id, question]));
  // Those that share their tasks with the newest.
  const together = begun.filter((one) => tasksOf(one) === tasksOf(newest));
  const comparison = compareEvaluations(together.map(({ evaluation }) => evaluation));
  const intervals = comparison.rows.map(({ system, summary }) => `${system}: ${successText(summary)}`);
  return { sentence: resultSentence(comparison), intervals: [...intervals, ...trainingLines(comparison)] };
}

type Stored = { folder: string; at: string; evaluation: StoredEvaluation };

/**
 * Evaluations in an order that means something, however their files were copied: usual conditions first, then teams before what
 * learned from them, then one stage of training after the other; of a kind as they were begun, and the plainest name first where
 * that was at once.
 */
async function readEvaluations(context: StudioContext, asked: readonly string[] = []) {
  const known = new Set(stageFolders(context, "evaluation").map(({ folder }) => folder));
  const missing = asked.find((folder) => !known.has(folder));
  if (missing !== undefined) throw new NotFound(`no evaluation is in "${missing}"`);
  const problems: string[] = [];
  const stored: Stored[] = [];
  for (const folder of asked.length > 0 ? asked : known) {
    const path = join(context.root, folder);
    try {
      const { createdAt: at = "" } = (await readManifest(path)) ?? {};
      stored.push({ folder, at, evaluation: await readEvaluation(path) });
    } catch (error) {
      problems.push(`${folder}: ${(error as Error).message}`);
    }
  }
  const rank = ({ folder, at, evaluation: { summary } }: Stored) => {
    const { condition, topology = "single", learned } = summary;
    const kind = [condition === undefined, topology !== "single", learned === undefined, learned === "sft"];
    return `${kind.map((is) => (is ? 0 : 1)).join("")} ${at.slice(0, 19)} ${String(folder.length).padStart(5, "0")}`;
  };
  return { stored: stored.sort((a, b) => rank(a).localeCompare(rank(b))), problems };
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
