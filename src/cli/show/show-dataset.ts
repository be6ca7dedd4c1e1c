/** A dataset: its counts, or one example with what is trained and what is masked. */
import { UsageError } from "../../core/errors.ts";
import { type Trajectory, writtenForm } from "../../core/trajectory.ts";
import { type Dataset, openDataset } from "../../dataset/dataset-folder.ts";
import { datasetStats } from "../../dataset/dataset-stats.ts";
import { type InspectedSpan, inspectSequence } from "../../dataset/inspect-sequence.ts";
import { type TrainingSequence, trainedTokens } from "../../dataset/training-sequence.ts";
import { type OutcomeRecord, readOutcomes, readReport } from "../../distill/read-distillation.ts";
import { reportText } from "../../report/distill-text.ts";
import { table } from "../output.ts";
import type { Asked, Shown, View } from "./shown.ts";

/** Shows a dataset folder; an item is a number counted from 0, or a trajectory's id. */
export const showDataset: View = async (folder, asked) => {
  const dataset = await openDataset(folder);
  if (asked.item !== undefined) return showExample(dataset, folder, asked.item, asked);
  if (!asked.all) return showCounts(dataset);
  const lines = (await Array.fromAsync(dataset.sequences())).map((sequence) => ({
    id: sequence.id,
    taskId: sequence.taskId,
    tokens: sequence.tokens.length,
    trained: trainedTokens(sequence),
  }));
  const rows = lines.map(({ id, taskId, tokens, trained }) => [id, taskId, String(tokens), String(trained)]);
  return {
    json: lines,
    text: table([["example", "task", "tokens", "trained"], ...rows], ["left", "left", "right", "right"]),
  };
};

async function showCounts(dataset: Dataset): Promise<Shown> {
  const stats = await datasetStats(dataset);
  const { dropped, cut, fingerprint } = dataset.manifest;
  const { lengths } = stats;
  const counts = (record: Readonly<Record<string, number>>) =>
    Object.entries(record)
      .map(([name, count]) => `${name} ${count}`)
      .join(", ");
  const { min, p50, mean, p90, p99, max } = lengths;
  const rows = [
    ["examples", String(stats.examples)],
    ["tasks", String(stats.tasks)],
    ["tokens", String(stats.tokens)],
    ["trained", `${stats.trainedTokens} (${((100 * stats.trainedTokens) / Math.max(1, stats.tokens)).toFixed(1)} %)`],
    ["length", `min ${min}, median ${p50}, mean ${mean.toFixed(0)}, p90 ${p90}, p99 ${p99}, max ${max}`],
    ["profiles", counts(stats.profiles)],
    ["dropped", counts(dropped) || "none"],
    ["cut", String(cut)],
    ["fingerprint", fingerprint.slice(0, 16)],
  ];
  const most = Math.max(1, ...stats.histogram.map((bucket) => bucket.count));
  const bars = stats.histogram.map(({ upTo, count }) => [
    `≤ ${upTo}`,
    String(count),
    "█".repeat(Math.ceil((40 * count) / most)),
  ]);
  return {
    json: { ...stats, dropped, cut, fingerprint },
    text: `${table(rows)}\n${table(bars, ["right", "right", "left"])}`,
  };
}

async function showExample(
  dataset: Dataset,
  folder: string,
  item: string,
  { out, all }: Pick<Asked, "out" | "all">,
): Promise<Shown> {
  const sequence = await exampleOf(dataset, item);
  if (!sequence)
    throw new UsageError(
      `${folder} has ${dataset.manifest.examples} examples, but not ${/^\d+$/.test(item) ? `example ${item}` : `one of trajectory ${item}`}`,
    );
  const { id, taskId, profile } = sequence;
  const spans = inspectSequence(sequence, await dataset.tokenizer());
  const shown = spans.map((span) => spanText(span, all, out)).join(out.isTTY ? "" : "\n");
  const head = `${id} (task ${taskId}): ${sequence.tokens.length} tokens, ${trainedTokens(sequence)} trained`;
  return { json: { id, taskId, profile, spans }, text: `${head}\n${shown}` };
}

async function exampleOf(dataset: Dataset, item: string): Promise<TrainingSequence | undefined> {
  let at = 0;
  for await (const sequence of dataset.sequences())
    if (sequence.id === item || (/^\d+$/.test(item) && at++ === Number(item))) return sequence;
  return undefined;
}

/** On a terminal by colour; elsewhere each span on lines of its own, named. */
function spanText(span: InspectedSpan, tokens: boolean, out: Asked["out"]): string {
  const text = tokens ? span.pieces.join("│") : span.text;
  if (!out.isTTY) return `[${span.kind}${span.weight !== 0 && span.weight !== 1 ? ` ${span.weight}` : ""}] ${text}`;
  if (span.kind === "trained") return out.style("green", text);
  return out.style(span.kind === "prompt" ? "blue" : "gray", text);
}

/** Shows a distillation's folder; an item is a run, a chain or a task. */
export const showDistillation: View = async (folder, { item, all, out }) => {
  if (item === undefined && !all) {
    const report = await readReport(folder);
    return { json: report, text: reportText(report) };
  }
  const wanted = ({ id, taskId }: OutcomeRecord) => all || id === item || taskId === item;
  const found = await Array.fromAsync(readOutcomes(folder, wanted));
  if (found.length === 0)
    throw new UsageError(`${folder} has no run, chain or task "${item}"; see them all: coa show ${folder} --items`);
  return {
    json: found.map(({ outcome: { signature: _, ...outcome }, chain }) => ({ ...outcome, ...(!all && { chain }) })),
    text: found.map(({ outcome, chain }) => outcomeText(outcome, all ? undefined : chain, out)).join("\n"),
    notes: found.some(({ outcome, chain }) => !all && !chain && outcome.stage !== null)
      ? ["its chain was not kept; three samples of each stage are"]
      : [],
  };
};

/** A distillation: what it kept and dropped and why, or what became of one run. */
function outcomeText(outcome: OutcomeRecord, chain: Trajectory | undefined, out: Asked["out"]): string {
  const { id, taskId, file, line, stage, reason, detail, decisions = [] } = outcome;
  const result = stage === null ? "kept" : `dropped by ${stage}: ${reason}${detail ? ` (${detail})` : ""}`;
  return [
    `${id} (task ${taskId}, ${file}:${line}): ${result}`,
    ...decisions
      .filter(({ measure }) => measure !== undefined)
      .map(({ stage: by, measure, value, threshold }) => `  ${by}: ${measure} ${value} (bound ${threshold})`),
    ...(chain?.segments ?? []).map((segment) =>
      out.style(segment.by === "model" ? "green" : "gray", writtenForm(segment)),
    ),
  ].join("\n");
}
