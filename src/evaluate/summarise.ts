/**
 * The figures of one system on one set of tasks. Every planned run is in the denominator: what was not answered,
 * crashed or could not be graded counts as no success, and is shown separately. Costs are given per task (one run of
 * it), per success (everything spent, failures included, divided by the successes) and of the right runs alone.
 */
import type { Costs, Estimate, GroupFigures, Measure, Summary } from "../report/figures.ts";
import { identityText } from "../report/identity-text.ts";
import type { EvaluationRecord } from "./evaluation-record.ts";
import { bootstrap, mean, passAtK } from "./statistics.ts";

export interface SummariseOptions {
  system: string;
  topology?: string;
  samples: number;
  /** Every task that was planned, with its groups. */
  tasks: readonly { id: string; family?: string; level?: string | number }[];
  majority?: number | null;
  measure?: Measure;
  identity?: Readonly<Record<string, unknown>>;
}

interface TaskRuns {
  family: string;
  level: string;
  records: EvaluationRecord[];
  samples: number;
}

/** Computes every figure of a system from its records. */
export function summarise(records: readonly EvaluationRecord[], options: SummariseOptions): Summary {
  const { system, topology, samples, tasks } = options;
  const byTask = Map.groupBy(records, (record) => record.taskId);
  const rows: TaskRuns[] = tasks.map((task) => ({
    family: task.family ?? "none",
    level: task.level === undefined ? "none" : String(task.level),
    records: byTask.get(task.id) ?? [],
    samples,
  }));
  const runs = tasks.length * samples;
  const right = records.filter((record) => record.grade.correct === true);
  const undecided = records.filter((record) => record.grade.correct === null && record.ending.reason !== "error");
  const crashed = records.filter((record) => record.ending.reason === "error");
  const unanswered = records.filter(
    (record) => record.answer === null && record.ending.reason !== "error" && record.grade.correct === false,
  );
  return {
    version: 1,
    system,
    ...(topology ? { topology } : {}),
    ...whatOf(options.identity),
    samples,
    ...(options.measure ? { measure: options.measure } : {}),
    ...figures(rows),
    score: runs === 0 ? 0 : total(records, (record) => record.grade.score) / runs,
    passAtK: passes(rows, samples),
    majority: options.majority ?? null,
    calibrationError: calibrationError(records),
    whenRight: right.length === 0 ? null : divide(costs(right), right.length),
    runs,
    successes: right.length,
    wrong: records.length - right.length - undecided.length - crashed.length - unanswered.length,
    unanswered: unanswered.length,
    crashed: crashed.length,
    undecided: undecided.length,
    missing: runs - records.length,
    ...replayedOf(records),
    toolCalls: sumTables(records.map((record) => record.toolCalls)),
    tokensByRole: sumTables(records.map((record) => record.tokensByRole)),
    byFamily: groups(rows, (row) => row.family),
    byLevel: groups(rows, (row) => row.level),
  };
}

function whatOf(identity: SummariseOptions["identity"]): Pick<Summary, "what" | "learned" | "condition" | "scripted"> {
  const what = identityText(identity);
  const text = (key: "learned" | "condition") => {
    const value = identity?.[key];
    return typeof value === "string" ? { [key]: value } : {};
  };
  return {
    ...(what !== undefined && { what }),
    ...text("learned"),
    ...text("condition"),
    ...(identity?.["scripted"] === true && { scripted: true }),
  };
}

/** Calls that recordings answered, where tools were replayed. */
function replayedOf(records: readonly EvaluationRecord[]): Pick<Summary, "replayed"> {
  const found = records.flatMap(({ replayed }) => replayed ?? []);
  if (found.length === 0) return {};
  const sum = (key: "calls" | "missing") => found.reduce((total, one) => total + one[key], 0);
  return { replayed: { calls: sum("calls"), missing: sum("missing") } };
}

/** HLE's figure: answers in order of confidence, a hundred to a bin, the last bin with what is left. */
function calibrationError(records: readonly EvaluationRecord[]): number | null {
  const judged = records.flatMap(({ grade }) =>
    grade.confidence === undefined || grade.correct === null ? [] : [{ sure: grade.confidence, right: grade.correct }],
  );
  if (judged.length === 0) return null;
  judged.sort((a, b) => a.sure - b.sure);
  const bins = Math.max(1, Math.floor(judged.length / 100));
  let sum = 0;
  for (let bin = 0; bin < bins; bin++) {
    const members = judged.slice(bin * 100, bin === bins - 1 ? undefined : (bin + 1) * 100);
    const gap = mean(members.map(({ sure }) => sure)) - mean(members.map(({ right }) => (right ? 1 : 0)));
    sum += (members.length / judged.length) * gap * gap;
  }
  return Math.sqrt(sum);
}

function groups(rows: TaskRuns[], key: (row: TaskRuns) => string): Record<string, GroupFigures> {
  const grouped = [...Map.groupBy(rows, key)].sort(([a], [b]) => a.localeCompare(b, "en", { numeric: true }));
  return Object.fromEntries(grouped.map(([name, members]) => [name, figures(members)]));
}

function figures(rows: TaskRuns[]): GroupFigures {
  const records = rows.flatMap((row) => row.records);
  const successes = records.filter((record) => record.grade.correct === true).length;
  const spent = costs(records);
  return {
    tasks: rows.length,
    success: successOfAll(rows.map(successOf)),
    perTask: divide(spent, Math.max(1, records.length)),
    perSuccess: successes === 0 ? null : divide(spent, successes),
  };
}

/**
 * Mean success with its interval. Where every task had the same result, drawing again can only repeat it, so the
 * interval is the exact binomial one: none of three does not prove a rate of zero.
 */
export function successOfAll(shares: readonly number[]): Estimate {
  const estimate = bootstrap(shares, mean);
  const [first] = shares;
  if ((first !== 0 && first !== 1) || shares.some((share) => share !== first)) return estimate;
  const bound = 0.025 ** (1 / shares.length);
  return first === 0 ? { value: 0, low: 0, high: 1 - bound } : { value: 1, low: bound, high: 1 };
}

/** Share of a task's planned samples that were right. */
function successOf(row: TaskRuns): number {
  return row.records.filter((record) => record.grade.correct === true).length / row.samples;
}

function passes(rows: TaskRuns[], samples: number): Record<string, number> {
  const ks = new Set([samples]);
  for (let k = 1; k < samples; k *= 2) ks.add(k);
  const sorted = [...ks].sort((a, b) => a - b);
  return Object.fromEntries(
    sorted.map((k) => [String(k), mean(rows.map((row) => passAtK(samples, Math.round(successOf(row) * samples), k)))]),
  );
}

function costs(records: readonly EvaluationRecord[]): Costs {
  return {
    billedTokens: total(records, ({ usage }) => usage.billedTokens),
    computedTokens: total(records, ({ usage }) => usage.computedTokens),
    toolCalls: total(records, ({ usage }) => usage.toolCalls),
    wallMs: total(records, ({ usage }) => usage.wallMs),
    costUsd: total(records, ({ usage }) => usage.costUsd),
    // A crashed run made no path, and other people's systems need not tell theirs.
    ...(records.some(({ path }) => path) && {
      rounds: total(records, ({ path }) => path?.rounds ?? 0),
      pathMs: total(records, ({ path }) => path?.ms ?? 0),
    }),
    ...(records.some(({ formatErrors }) => formatErrors !== undefined) && {
      formatErrors: total(records, ({ formatErrors }) => formatErrors ?? 0),
    }),
  };
}

function divide(spent: Costs, by: number): Costs {
  return Object.fromEntries(Object.entries(spent).map(([name, value]) => [name, value / by])) as unknown as Costs;
}

function total(records: readonly EvaluationRecord[], of: (record: EvaluationRecord) => number): number {
  return records.reduce((sum, record) => sum + of(record), 0);
}

function sumTables(tables: Record<string, number>[]): Record<string, number> {
  const sum: Record<string, number> = {};
  for (const table of tables) for (const [name, value] of Object.entries(table)) sum[name] = (sum[name] ?? 0) + value;
  return Object.fromEntries(Object.entries(sum).sort(([a], [b]) => (a < b ? -1 : 1)));
}
