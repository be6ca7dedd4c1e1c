/** The report for a terminal: the flow from stage to stage as bars that get shorter, with the reasons beside them. */
import type { Trajectory } from "../core/trajectory.ts";

/** Tokens of kept chains beside what the teams spent on the same tasks, for one topology. */
export interface TokenReport {
  topology: string;
  chains: number;
  team: { billed: number; computed: number };
  chain: { billed: number; computed: number };
}

/** A chain that was dropped, shown as an example. */
export interface DroppedSample {
  stage: string;
  id: string;
  reason: string;
  detail?: string;
  /** The chain, where one was made. */
  trajectory?: Trajectory;
}

export interface DistillReport {
  version: 1;
  profile: string;
  inputs: readonly string[];
  records: number;
  /** How many chains entered each stage and left it, by reason, most frequent first. */
  stages: { name: string; entered: number; dropped: number; reasons: Record<string, number> }[];
  kept: number;
  /** Further copies of chains that correct themselves. */
  copies: number;
  written: number;
  reflecting: number;
  correcting: number;
  filledThoughts: number;
  /** @internal */
  tokens: TokenReport[];
  hops: Record<string, number>;
  tools: Record<string, number>;
  families: Record<string, { entered: number; kept: number }>;
  /** Kept chains by how it is known that they are right: graded (by feedback, by judge), by their reward, or only assumed. */
  right: Record<"graded" | "rewarded" | "assumed" | "not asked", number> & Record<string, number>;
  /** Every record that was dropped, with its reason; the first so many where there are more. */
  dropped: { id: string; taskId: string; stage: string; reason: string; detail?: string }[];
  problems: { file: string; line: number; id: string; stage: string; message: string }[];
  problemCount: number;
  /** @internal */
  samples: DroppedSample[];
}

const barWidth = 30;

export function reportText(report: DistillReport): string {
  return [
    `${report.records} records in, ${report.kept} chains kept, ${report.written} written (${report.copies} further copies of chains that correct themselves)`,
    flow(report),
    tokens(report),
    histogram("hops per chain", report.hops),
    histogram("tool calls", report.tools),
    families(report),
    `${report.reflecting} reflect, ${report.correcting} correct themselves, ${report.filledThoughts} thoughts were filled in; right: ${rightText(report)}`,
    samples(report),
    problems(report),
  ]
    .filter((part) => part !== "")
    .join("\n\n");
}

function flow(report: DistillReport): string {
  const bar = (count: number) =>
    "█".repeat(Math.round((barWidth * count) / Math.max(1, report.records))).padEnd(barWidth, "·");
  const lines = report.stages.map((stage) => {
    const left = stage.entered - stage.dropped;
    const reasons = Object.entries(stage.reasons)
      .slice(0, 3)
      .map(([reason, count]) => `${reason} ${count}`);
    const why = stage.dropped > 0 ? `  -${stage.dropped}: ${reasons.join(", ")}` : "";
    return `${stage.name.padEnd(16)}${bar(left)} ${String(left).padStart(7)}${why}`;
  });
  return lines.join("\n");
}

function tokens(report: DistillReport): string {
  return report.tokens
    .filter((sum) => sum.chains > 0)
    .map((sum) => {
      const mean = (value: number) => Math.round(value / sum.chains);
      const chain = `as a chain: ${mean(sum.chain.billed)} billed without a cache, ${mean(sum.chain.computed)} computed in one sequence`;
      if (sum.team.billed === 0) return `tokens per chain (${sum.chains}), ${chain}`;
      return `tokens per task, measured against ${sum.topology} (${sum.chains} runs): team ${mean(sum.team.billed)} billed, ${mean(sum.team.computed)} computed; ${chain}`;
    })
    .join("\n");
}

function histogram(title: string, counts: Readonly<Record<string, number>>): string {
  const entries = Object.entries(counts);
  if (entries.length === 0) return "";
  const most = Math.max(...entries.map(([, count]) => count));
  const lines = entries.map(
    ([name, count]) => `  ${name.padEnd(14)}${"▇".repeat(Math.ceil((24 * count) / most))} ${count}`,
  );
  return [title, ...lines].join("\n");
}

function families(report: DistillReport): string {
  const entries = Object.entries(report.families);
  if (entries.length < 2) return "";
  return [
    "families (kept of entered)",
    ...entries.map(([name, { entered, kept }]) => `  ${name.padEnd(14)}${kept} of ${entered}`),
  ].join("\n");
}

function samples(report: DistillReport): string {
  if (report.samples.length === 0) return "";
  const lines = report.samples.map(
    ({ stage, id, reason, detail }) => `  ${stage.padEnd(16)}${id}: ${reason}${detail ? ` (${detail})` : ""}`,
  );
  return ["dropped, for example", ...lines].join("\n");
}

function problems(report: DistillReport): string {
  if (report.problemCount === 0) return "";
  const lines = report.problems
    .slice(0, 20)
    .map(({ file, line, stage, message }) => `  ${file}:${line} (${stage}) ${message}`);
  const more = report.problemCount > 20 ? [`  and ${report.problemCount - 20} more, in report.json`] : [];
  return [`${report.problemCount} broken`, ...lines, ...more].join("\n");
}

/** How it is known that the kept chains are right. */
function rightText({ right }: DistillReport): string {
  const parts = Object.entries(right).filter(([, count]) => count > 0);
  return parts.map(([how, count]) => `${count} ${how}`).join(", ") || "none";
}
