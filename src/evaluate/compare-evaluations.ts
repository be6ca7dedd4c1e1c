/**
 * Several systems on the same tasks, side by side. Each is measured against the first team that worked under the same
 * conditions (without a team, against the first system), and the topology is given with every saving, because "saves
 * 80 %" means nothing without saying compared with what.
 */
import { UsageError } from "../core/errors.ts";
import { comparisonHtml, type ReportOptions } from "../report/comparison-html.ts";
import type { Comparison, ComparisonRow, Estimate, Summary } from "../report/figures.ts";
import type { EvaluationRecord } from "./evaluation-record.ts";
import type { StoredEvaluation } from "./read-evaluation.ts";
import { bootstrap, comparePaired } from "./statistics.ts";
import { summarise } from "./summarise.ts";

/** Compares evaluations; what each is measured against is chosen by what they are. */
export function compareEvaluations(evaluations: readonly StoredEvaluation[]): Comparison {
  const [first, ...others] = evaluations;
  if (!first) throw new UsageError("nothing to compare: name at least one evaluation");
  const shared = first.tasks
    .map((task) => task.id)
    .filter((id) => others.every((other) => other.tasks.some((task) => task.id === id)));
  if (shared.length === 0)
    throw new UsageError("these evaluations have no task in common: evaluate the systems on the same tasks");
  const names = unique(evaluations.map((evaluation) => evaluation.summary.system));
  const outcomes = evaluations.map((evaluation) => perTask(evaluation, shared));
  const summaries = evaluations.map((evaluation) => summaryOf(evaluation, shared));
  const pairOf = (one: number, other: number) =>
    comparePaired(...([one, other].map((at) => outcomes[at]!.map(({ success }) => success)) as [number[], number[]]));
  const rows = summaries.map((summary, i): ComparisonRow => {
    const before = stageBefore(summaries, i);
    const row = {
      system: names[i]!,
      topology: summary.topology ?? "single",
      summary,
      ...(before !== undefined && {
        since: { system: names[before]!, stage: summary.learned!, paired: pairOf(before, i) },
      }),
    };
    const against = baselineOf(summaries, i);
    if (against === i) return row;
    const [base, mine] = [outcomes[against]!, outcomes[i]!];
    return {
      ...row,
      against: names[against]!,
      paired: pairOf(against, i),
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
  const usual = rows[baselineOf(summaries, 0)]!;
  return {
    baseline: { system: usual.system, topology: usual.topology },
    tasks: shared.length,
    rows,
    differing: differing(outcomes, names, shared),
  };
}

/** What a system is measured against: the first team, or else the first system, under the same conditions. */
export function baselineOf(systems: readonly Pick<Summary, "topology" | "condition">[], place: number): number {
  const alike = (one: (typeof systems)[number]) => one.condition === systems[place]!.condition;
  const team = systems.findIndex((one) => alike(one) && (one.topology ?? "single") !== "single");
  return team >= 0 ? team : systems.findIndex(alike);
}

/** The model before its last stage of training, under the same conditions. */
function stageBefore(systems: readonly Summary[], place: number): number | undefined {
  const { learned, condition } = systems[place]!;
  if (learned === undefined) return undefined;
  // Imitation comes first; other stages follow each other as they are named.
  const order = (at: number) => (systems[at]!.learned === "sft" ? -1 : at);
  const found = [...systems.keys()].filter(
    (at) =>
      systems[at]!.condition === condition &&
      systems[at]!.learned !== undefined &&
      systems[at]!.learned !== learned &&
      order(at) < order(place),
  );
  return found.at(-1);
}

/** Figures of the shared tasks alone: a system that was given easier tasks besides must not look better for them. */
function summaryOf({ summary, tasks, records }: StoredEvaluation, ids: readonly string[]): Summary {
  if (tasks.length === ids.length) return summary;
  const kept = new Set(ids);
  const { system, topology, samples, measure } = summary;
  const figures = summarise(
    records.filter((record) => kept.has(record.taskId)),
    { system, topology, samples, measure, tasks: tasks.filter((task) => kept.has(task.id)) },
  );
  return { ...summary, ...figures };
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
  outcomes: readonly TaskOutcome[][], // [system][task]
  names: readonly string[],
  ids: readonly string[],
): Comparison["differing"] {
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

/** The whole page. `comparison` must be of these evaluations. */
export function comparisonReport(
  evaluations: readonly StoredEvaluation[],
  comparison: Comparison,
  options: Omit<ReportOptions, "questions"> = {},
): string {
  const questions = new Map(evaluations.flatMap(({ tasks }) => tasks.map((task) => [task.id, task] as const)));
  return comparisonHtml(comparison, { ...options, questions });
}
