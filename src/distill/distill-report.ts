/**
 * What a distillation did, as data: how many chains entered and left each stage and why, what they cost before and after,
 * what they look like, and everything that was broken. Made from the journal of outcomes alone.
 */
import type { DistillReport, DroppedSample, TokenReport } from "../report/distill-text.ts";
import type { ChainFacts, RecordOutcome } from "./judge-record.ts";

/** One line of the journal: what became of one input line. */
export interface OutcomeRecord extends Omit<RecordOutcome, "trajectory" | "signature"> {
  index: number;
  file: string;
  line: number;
  /** Base64 of the near-duplicate signature, for resuming. */
  signature?: string;
}

const listedProblems = 200;
const listedDrops = 5_000;

export interface Tally {
  add(outcome: OutcomeRecord): void;
  finish(more: { copies: number; samples: DroppedSample[] }): DistillReport;
  readonly records: number;
}

/** Counts outcomes as they come; holds numbers, not chains. */
export function reportTally(profile: string, inputs: readonly string[], stageNames: readonly string[]): Tally {
  const stages = new Map<string, { dropped: number; reasons: Map<string, number> }>();
  const stageOf = (name: string) => {
    let stage = stages.get(name);
    if (!stage) stages.set(name, (stage = { dropped: 0, reasons: new Map() }));
    return stage;
  };
  for (const name of stageNames) stageOf(name);
  const keptFacts = new Map<number, KeptFacts>();
  const families: DistillReport["families"] = {};
  const problems: DistillReport["problems"] = [];
  let records = 0;
  const dropped: DistillReport["dropped"] = [];
  let problemCount = 0;

  const drop = (name: string, reason: string) => {
    const stage = stageOf(name);
    stage.dropped++;
    stage.reasons.set(reason, (stage.reasons.get(reason) ?? 0) + 1);
  };
  return {
    get records() {
      return records;
    },
    add(outcome) {
      records++;
      const family = outcome.family || "(none)";
      families[family] ??= { entered: 0, kept: 0 };
      families[family].entered++;
      const { id, taskId, stage, reason = "unknown", detail } = outcome;
      if (stage === null)
        keptFacts.set(outcome.index, { family, facts: outcome.facts!, right: rightness(outcome), id, taskId });
      else {
        drop(stage, reason);
        if (dropped.length < listedDrops) dropped.push({ id, taskId, stage, reason, ...(detail && { detail }) });
      }
      if (!outcome.problem) return;
      problemCount++;
      const { file, line } = outcome;
      const message = [outcome.reason, outcome.detail].filter(Boolean).join(": ");
      if (problems.length < listedProblems) problems.push({ file, line, id, stage: stage ?? "", message });
    },
    finish({ copies, samples }) {
      const report = keptReport([...keptFacts.values()], families);
      let left = records;
      const stageReports = [...stages].map(([name, { dropped, reasons }]): DistillReport["stages"][number] => {
        const entered = left;
        left -= dropped;
        return { name, entered, dropped, reasons: Object.fromEntries([...reasons].sort((a, b) => b[1] - a[1])) };
      });
      return {
        version: 1,
        profile,
        inputs,
        records,
        stages: stageReports,
        kept: keptFacts.size,
        copies,
        written: keptFacts.size + copies,
        ...report,
        families,
        dropped,
        problems,
        problemCount,
        samples,
      };
    },
  };
}

interface KeptFacts {
  id: string;
  taskId: string;
  family: string;
  facts: ChainFacts;
  right: string;
}

/** How it is known that a kept chain is right. */
function rightness({ decisions = [] }: OutcomeRecord): KeptFacts["right"] {
  const decision = decisions.find(({ stage }) => stage === "correctness");
  if (!decision) return "not asked";
  if (decision.measure === undefined) return "assumed";
  if (decision.measure === "reward") return "rewarded";
  const by = /^right by (?!task file)(.+)$/.exec(decision.detail ?? "")?.[1];
  return by === undefined ? "graded" : `graded by ${by}`;
}

function keptReport(kept: readonly KeptFacts[], families: DistillReport["families"]) {
  const hops: Record<string, number> = {};
  const tools: Record<string, number> = {};
  const tokens = new Map<string, TokenReport>();
  let reflecting = 0;
  let correcting = 0;
  let filledThoughts = 0;
  const right: DistillReport["right"] = { graded: 0, rewarded: 0, assumed: 0, "not asked": 0 };
  for (const { family, facts, right: how } of kept) {
    right[how] = (right[how] ?? 0) + 1;
    families[family]!.kept++;
    hops[facts.hops] = (hops[facts.hops] ?? 0) + 1;
    for (const [tool, count] of Object.entries(facts.tools)) tools[tool] = (tools[tool] ?? 0) + count;
    if (facts.reflects) reflecting++;
    if (facts.corrects) correcting++;
    filledThoughts += facts.filledThoughts;
    const topology = facts.team?.topology ?? "chain";
    const sum = tokens.get(topology) ?? {
      topology,
      chains: 0,
      team: { billed: 0, computed: 0 },
      chain: { billed: 0, computed: 0 },
    };
    sum.chains++;
    sum.team.billed += facts.team?.billed ?? 0;
    sum.team.computed += facts.team?.computed ?? 0;
    sum.chain.billed += facts.billed;
    sum.chain.computed += facts.computed;
    tokens.set(topology, sum);
  }
  return { right, hops, tools, reflecting, correcting, filledThoughts, tokens: [...tokens.values()] };
}
