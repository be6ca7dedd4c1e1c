/** The report of a distillation as one HTML file: the flow from stage to stage, the reasons, samples, tokens, histograms. */

import { writtenForm } from "../core/trajectory.ts";
import type { DistillReport, DroppedSample } from "./distill-report.ts";
import { flowPlot } from "./flow-plot.ts";
import { escapeHtml, htmlPage, htmlTable } from "./page.ts";

/** The page. */
export function distillHtml(report: DistillReport): string {
  const { profile, kept, copies, reflecting, filledThoughts } = report;
  return htmlPage(
    `Distillation: ${report.records} records in, ${kept} chains kept`,
    `<p class="lead">Profile ${escapeHtml(profile)}. ${report.written} chains written, of them ${copies} further copies of chains that correct themselves; ${reflecting} reflect; ${filledThoughts} thoughts were filled in. Right: ${escapeHtml(rightText(report))}.</p>
${flowPlot(report)}
<h2>Stages</h2>${stageTable(report)}
<h2>Tokens per task</h2>${tokenTable(report)}
<h2>Hops per chain</h2>${histogram("hops", report.hops)}
<h2>Tool calls</h2>${histogram("tool", report.tools)}
<h2>Families</h2>${familyTable(report)}
<h2>What was dropped</h2>${droppedTable(report)}
<h2>Chains that were dropped, for example</h2>${report.samples.map(sample).join("\n") || "<p>Nothing.</p>"}
<h2>What was broken</h2>${problemList(report)}`,
  );
}

function stageTable({ stages }: DistillReport): string {
  const rows = stages.map(({ name, entered, dropped, reasons }) => {
    const why = Object.entries(reasons).map(([reason, count]) => `${reason} (${count})`);
    return [name, `${entered}`, `${dropped}`, `${entered - dropped}`, why.join(", ")];
  });
  return htmlTable([["stage", "entered", "dropped", "left", "why"], ...rows], [4]);
}

function tokenTable({ tokens }: DistillReport): string {
  const head = ["topology of the team", "tasks", "team, billed", "team, computed", "chain, billed without a cache"];
  const rows = tokens.map(({ topology, chains, team, chain }) => {
    const mean = (value: number) => (chains === 0 || value === 0 ? "–" : `${Math.round(value / chains)}`);
    return [topology, `${chains}`, ...[team.billed, team.computed, chain.billed, chain.computed].map(mean)];
  });
  return htmlTable([[...head, "chain, computed in one sequence"], ...rows]);
}

function histogram(name: string, counts: Readonly<Record<string, number>>): string {
  const most = Math.max(1, ...Object.values(counts));
  const bar = (count: number) => ({
    html: `<span class="bar" style="width:${Math.ceil((240 * count) / most)}px"></span>`,
  });
  const rows = Object.entries(counts).map(([key, count]) => [key, `${count}`, bar(count)]);
  return htmlTable([[name, "chains", ""], ...rows], [2]);
}

function familyTable({ families }: DistillReport): string {
  const rows = Object.entries(families).map(([name, { entered, kept }]) => [name, `${entered}`, `${kept}`]);
  return htmlTable([["family", "entered", "kept"], ...rows]);
}

/** How it is known that the kept chains are right. */
export function rightText({ right }: DistillReport): string {
  const parts = Object.entries(right).filter(([, count]) => count > 0);
  return parts.map(([how, count]) => `${count} ${how}`).join(", ") || "none";
}

function droppedTable({ dropped, records, kept }: DistillReport): string {
  if (dropped.length === 0) return "<p>Nothing.</p>";
  const rows = dropped.map(({ id, taskId, stage, reason, detail = "" }) => [id, taskId, stage, reason, detail]);
  const more = records - kept - dropped.length;
  const note = more > 0 ? `<p class="note">${more} more are in outcomes.jsonl.</p>` : "";
  return `${htmlTable([["run", "task", "stage", "reason", "detail"], ...rows], [1, 2, 3, 4])}${note}`;
}

function sample({ stage, id, reason, detail, trajectory }: DroppedSample): string {
  const summary = `${stage}: ${reason}${detail ? ` (${detail})` : ""}: ${id}`;
  const text = trajectory?.segments.map(writtenForm).join("\n") ?? "no chain was made";
  return `<details><summary>${escapeHtml(summary)}</summary><pre>${escapeHtml(text)}</pre></details>`;
}

function problemList({ problems, problemCount }: DistillReport): string {
  if (problemCount === 0) return "<p>Nothing.</p>";
  const rows = problems.map(({ file, line, stage, message }) => [`${file}:${line}`, stage, message]);
  return `<p>${problemCount} in all.</p>${htmlTable([["where", "stage", "what"], ...rows], [1, 2])}`;
}
