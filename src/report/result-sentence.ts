/** What a comparison found, in one sentence: what one model answers, for how much of the team's tokens, and what its last training changed. */
import type { Comparison, ComparisonRow, PairedComparison, Summary } from "./figures.ts";
import { count, money, percent } from "./format-figures.ts";

/** Below so many tasks a percentage alone promises too much: the numbers behind it are given. */
const few = 30;
/** Differences that chance would make less often than this are told as differences. */
const clear = 0.05;
const stages: Readonly<Record<string, string>> = { sft: "SFT", rl: "RL", opd: "On-policy distillation" };

/** The sentence. The model is the last one that was trained, under the conditions of the first system. */
export function resultSentence({ rows, tasks }: Comparison): string {
  const alike = rows.filter(({ summary }) => summary.condition === rows[0]!.summary.condition);
  const models = alike.filter(({ topology }) => topology === "single");
  const model = models.findLast(({ summary }) => summary.learned !== undefined) ?? models.at(-1) ?? alike.at(-1)!;
  const team = rows.find(({ system }) => system === model.against);
  const who = model.topology === "single" ? "One model" : model.system;
  const assumed = model.summary.measure?.right?.assumed;
  const does = assumed ? "agrees with the assumed answers to" : "answers";
  const where = model.summary.condition === undefined ? "" : ` where ${model.summary.condition}`;
  const main = `${who} ${does} ${shareOf(model.summary)} ${isNew(model) ? "new " : ""}question${tasks === 1 ? "" : "s"}${where}${teamPart(model, team)}`;
  return `${[main, ...changes(rows)].join("; ")}.`;
}

/** `87 % of 500`, `5 of 7`. */
function shareOf({ success, successes, runs, tasks, samples }: Summary): string {
  if (successes === 0) return `none of ${tasks}`;
  return tasks < few && samples === 1 ? `${successes} of ${runs}` : `${percent(success.value, 0)} of ${count(tasks)}`;
}

/** Success as a table shows it: with few tasks the numbers stand before the percentage. */
export function successText({ success, successes, runs, tasks }: Summary): string {
  const share = `${percent(success.value)} [${(success.low * 100).toFixed(1)}, ${(success.high * 100).toFixed(1)}]`;
  return tasks < few ? `${successes} of ${runs}, ${share}` : share;
}

function isNew({ summary: { measure } }: ComparisonRow): boolean {
  return measure?.split === "test" || /\.test\.jsonl$/.test(measure?.file ?? "");
}

function teamPart(model: ComparisonRow, team: ComparisonRow | undefined): string {
  if (!team) return "";
  const isTeam = team.topology !== "single" && model.topology === "single";
  const spent = model.saving?.billedTokens ? 1 - model.saving.billedTokens.value : undefined;
  const name = isTeam ? "the team" : team.system;
  const beside = ` (${name} ${shareAlone(team.summary)})`;
  if (spent === undefined) return beside;
  const digits = spent < 0.095 ? 1 : 0;
  const [own, theirs] = [model, team].map(({ summary }) => summary.perSuccess?.costUsd);
  const paid = own && theirs ? `, ${money(own)} instead of ${money(theirs)} a right answer` : "";
  return `${beside} with ${percent(spent, digits).replace(".0 ", " ")} of ${isTeam ? "the team's" : `${name}'s`} tokens${paid}`;
}

function shareAlone(summary: Summary): string {
  return shareOf(summary).replace(/ % of .*/, " %");
}

/** What the last stage of training changed, wherever it was measured; one clause where nothing clear came of it. */
function changes(rows: readonly ComparisonRow[]): string[] {
  const trained = rows.flatMap((row) => (row.since ? [{ row, ...row.since }] : []));
  const seen = trained.filter(({ paired }) => paired.pValue < clear);
  if (trained.length > 0 && seen.length === 0) {
    const { stage, row, paired } = trained.at(-1)!;
    return [`${stages[stage] ?? stage} ${unclear(paired, row.summary)}`];
  }
  return seen.map(({ row: { summary, system }, stage, paired, ...since }) => {
    const before = rows.find((one) => one.system === since.system)!.summary;
    const verb = paired.difference.value > 0 ? "raises" : "lowers";
    const where = summary.condition === undefined ? "" : ` where ${summary.condition}`;
    const team = rows.find(
      (one) => one.system !== system && one.topology !== "single" && one.summary.condition === summary.condition,
    );
    const beside = team && summary.condition !== undefined ? ` (the team ${shareAlone(team.summary)})` : "";
    const from = tenths(before, summary);
    return `${stages[stage] ?? stage} ${verb} it from ${from[0]} to ${from[1]} %${where}${beside}`;
  });
}

function unclear({ difference, tasks }: PairedComparison, { success }: Summary): string {
  const before = success.value - difference.value;
  return `made no difference that ${count(tasks)} questions show (${(100 * before).toFixed(0)} to ${percent(success.value, 0)})`;
}

/** Two shares with as many digits as tell them apart. */
function tenths(before: Summary, after: Summary): [string, string] {
  const both = [before, after].map(({ success }) => 100 * success.value) as [number, number];
  const digits = both[0].toFixed(0) === both[1].toFixed(0) ? 1 : 0;
  return [both[0].toFixed(digits), both[1].toFixed(digits)];
}
