/** A distillation: what it kept and dropped and why, or what became of one run. */
import { UsageError } from "../../core/errors.ts";
import { type Trajectory, writtenForm } from "../../core/trajectory.ts";
import { type OutcomeRecord, readOutcomes, readReport } from "../../distill/read-distillation.ts";
import { reportText } from "../../report/distill-text.ts";
import type { Asked, View } from "./shown.ts";

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
