/**
 * Several systems on the same tasks, side by side. The first named is the one that the others are measured against, and
 * its topology is given with every saving, because "saves 80 %" means nothing without saying compared with what.
 */
import { UsageError } from "../core/errors.ts";
import type { Comparison, ComparisonRow, Estimate, Summary } from "../report/figures.ts";
import type { EvaluationRecord } from "./evaluation-record.ts";
import type { StoredEvaluation } from "./read-evaluation.ts";
import { bootstrap, comparePaired } from "./statistics.ts";
import { summarise } from "./summarise.ts";

/** Compares evaluations; the first is the baseline. */
export function compareEvaluations(evaluations: readonly StoredEvaluation[]): Comparison {
  const [first, ...others] = evaluations;
  if (!first) throw new UsageError("nothing to compare: name at least one evaluation");
  const shared = first.tasks
    .map((task) => task.id)
    .filter((id) => others.every((other) => other.tasks.some((task) => task.id === id)));
  if (shared.length === 0)
    throw new UsageError("these evaluations have no task in common: evaluate the systems on the same tasks");
  const names = unique(evaluations.map((evaluation) => evaluation.summary.system));
  const base = perTask(first, shared);
  const rows = evaluations.map((evaluation, i): ComparisonRow => {
    const summary = summaryOf(evaluation, shared);
    const row = { system: names[i]!, topology: summary.topology ?? "single", summary };
    if (i === 0) return row;
    const mine = perTask(evaluation, shared);
    return {
      ...row,
      paired: comparePaired(
        base.map((task) => task.success),
        mine.map((task) => task.success),
      ),
      saving: {
        billedTokens: saving(base, mine, (record) => record.usage.billedTokens),
        computedTokens: saving(base, mine, (record) => record.usage.computedTokens),
        toolCalls: saving(base, mine, (record) => record.usage.toolCalls),
        costUsd: saving(base, mine, (record) => record.usage.costUsd),
        ...(summary.perTask.rounds !== undefined && {
          rounds: saving(base, mine, (record) => record.path?.rounds ?? 0),
        }),
      },
    };
  });
  return {
    baseline: { system: rows[0]!.system, topology: rows[0]!.topology },
    tasks: shared.length,
    rows,
    differing: differing(evaluations, names, shared),
  };
}

/** Figures of the shared tasks alone: a system that was given easier tasks besides must not look better for them. */
function summaryOf({ summary, tasks, records }: StoredEvaluation, ids: readonly string[]): Summary {
  if (tasks.length === ids.length) return summary;
  const kept = new Set(ids);
  const { system, topology, samples, measure, what } = summary;
  const figures = summarise(
    records.filter((record) => kept.has(record.taskId)),
    { system, topology, samples, measure, tasks: tasks.filter((task) => kept.has(task.id)) },
  );
  return { ...figures, ...(what !== undefined && { what }) };
}

interface TaskOutcome {
  success: number;
  records: EvaluationRecord[];
}

function perTask(evaluation: StoredEvaluation, ids: readonly string[]): TaskOutcome[] {
  const byTask = Map.groupBy(evaluation.records, (record) => record.taskId);
  return ids.map((id) => {
    const records = byTask.get(id) ?? [];
    return {
      records,
      success: records.filter((record) => record.grade.correct === true).length / evaluation.summary.samples,
    };
  });
}

/** 1 − (spent per success here) / (spent per success there); tasks are drawn again in pairs for the interval. */
function saving(base: TaskOutcome[], mine: TaskOutcome[], of: (record: EvaluationRecord) => number): Estimate | null {
  const pairs = base.map((task, i) => ({ base: spentAndRight(task, of), mine: spentAndRight(mine[i]!, of) }));
  const share = (rows: readonly (typeof pairs)[number][]) => {
    const spent = (side: "base" | "mine") => rows.reduce((sum, row) => sum + row[side].spent, 0);
    const right = (side: "base" | "mine") => rows.reduce((sum, row) => sum + row[side].right, 0);
    return 1 - spent("mine") / right("mine") / (spent("base") / right("base"));
  };
  const estimate = bootstrap(pairs, share);
  return Number.isFinite(estimate.value) ? estimate : null;
}

function spentAndRight(task: TaskOutcome, of: (record: EvaluationRecord) => number): { spent: number; right: number } {
  return {
    spent: task.records.reduce((sum, record) => sum + of(record), 0),
    right: task.records.filter((record) => record.grade.correct === true).length,
  };
}

function differing(
  evaluations: readonly StoredEvaluation[],
  names: readonly string[],
  ids: readonly string[],
): Comparison["differing"] {
  const outcomes = evaluations.map((evaluation) => perTask(evaluation, ids));
  return ids.flatMap((taskId, at) => {
    const successes = outcomes.map((system) => system[at]!.success);
    if (successes.every((success) => success === successes[0])) return [];
    const entries = names.map((name, system) => {
      const { records, success } = outcomes[system]![at]!;
      const shown = records[0];
      const runId = shown?.run?.id;
      return [
        name,
        {
          success,
          answer: shown?.answer ?? null,
          reason: shown?.grade.reason ?? "not run",
          ...(runId ? { runId } : {}),
        },
      ] as const;
    });
    return [{ taskId, outcomes: Object.fromEntries(entries) }];
  });
}

/** Names made different where two evaluations carry the same. */
function unique(names: readonly string[]): string[] {
  return names.map((name, i) => (names.indexOf(name) === i ? name : `${name} (${i + 1})`));
}
