/** A run in short: numbers for machines, a tree with tokens for people. */
import type { Price } from "../core/model.ts";
import type { TeamAgent, TeamRun } from "../core/team-run.ts";
import { callCost, priceOf } from "../core/usage.ts";
import { isSent } from "./recorded-call.ts";
import { refusedForTraining } from "./trainable.ts";

/** What `--json` prints for each run. */
export interface RunSummary {
  id: string;
  source: string;
  topology: TeamRun["topology"];
  question: string;
  agents: { id: string; name: string; modelCalls: number; toolCalls: number; tokens: number }[];
  delegations: { from: string; to: string; callId: string }[];
  handoffs: { from: string; to: string }[];
  ambiguousLinks: number;
  modelCalls: number;
  toolCalls: number;
  tokens: { prompt: number; completion: number; billed: number; computed: number };
  answer: string | null;
  completeness: TeamRun["completeness"];
  /** US dollars, where prices are known. */
  costUsd: number;
  /** Why it must not be trained on; null when it may. */
  refused: string | null;
  reasons: string[];
}

export function summariseRun(run: TeamRun): RunSummary {
  const names = new Map(run.agents.map((agent) => [agent.id, agent.name]));
  const owner = new Map(run.steps.flatMap((step) => step.toolCalls.map((call) => [call.id, step.agentId] as const)));
  const label = (id: string) => names.get(id) ?? id;
  return {
    id: run.id,
    source: run.source,
    topology: run.topology,
    question: run.question,
    agents: run.agents.map((agent) => agentNumbers(run, agent)),
    delegations: run.agents.flatMap((agent) =>
      agent.parentCallId === undefined
        ? []
        : [{ from: label(owner.get(agent.parentCallId) ?? ""), to: agent.name, callId: agent.parentCallId }],
    ),
    handoffs: run.agents.flatMap(({ name, handoffFrom, joins = [] }) =>
      (handoffFrom === undefined ? joins : [handoffFrom, ...joins]).map((from) => ({ from: label(from), to: name })),
    ),
    ambiguousLinks: run.agents.filter((agent) => agent.ambiguousLink).length,
    modelCalls: run.usage.modelCalls,
    toolCalls: run.usage.toolCalls,
    tokens: {
      prompt: run.usage.promptTokens,
      completion: run.usage.completionTokens,
      billed: run.usage.billedTokens,
      computed: run.usage.computedTokens,
    },
    answer: run.answer,
    completeness: run.completeness,
    costUsd: run.usage.costUsd,
    refused: refusedForTraining(run),
    reasons: [...new Set((run.completeness.untrainable ?? []).map(({ reason }) => reason))],
  };
}

/** The run with the cost of each call and of all; `*` is the price of every model that has none of its own. */
export function priceRun(run: TeamRun, prices: Record<string, Price>): TeamRun {
  if (Object.keys(prices).length === 0) return run;
  const steps = run.steps.map((step) => ({
    ...step,
    costUsd: callCost(step, priceOf(prices, step.model ?? "")),
  }));
  const costUsd = steps.reduce((sum, step) => sum + step.costUsd, 0);
  return { ...run, steps, usage: { ...run.usage, costUsd } };
}

function agentNumbers(run: TeamRun, agent: TeamAgent): RunSummary["agents"][number] {
  const steps = run.steps.filter((step) => step.agentId === agent.id);
  return {
    id: agent.id,
    name: agent.name,
    modelCalls: steps.filter(isSent).length,
    toolCalls: steps.reduce((sum, step) => sum + step.toolCalls.length, 0),
    tokens: steps.reduce((sum, step) => sum + step.promptTokens + step.completionTokens, 0),
  };
}

/** The run as a tree: agents under the calls that started them, tools and words on the way. */
export function runTree(run: TeamRun, width = 100): string {
  const lines = [
    `${run.id}  ${run.topology}, ${run.usage.modelCalls} model calls, ${run.usage.billedTokens} tokens, from ${run.source}`,
  ];
  const line = (depth: number, text: string) => {
    const indent = "  ".repeat(depth);
    const flat = text.replace(/\s+/g, " ").trim();
    const room = Math.max(20, width - indent.length);
    lines.push(indent + (flat.length > room ? `${flat.slice(0, room - 1)}…` : flat));
  };
  const told = new Set<string>();
  const tell = (agent: TeamAgent, depth: number): void => {
    if (told.has(agent.id)) return;
    told.add(agent.id);
    const { modelCalls, tokens } = agentNumbers(run, agent);
    const joined = (agent.joins ?? []).map((id) => run.agents.find((one) => one.id === id)?.name ?? id);
    const marks = [
      agent.ambiguousLink ? " (link ambiguous)" : "",
      agent.side ? ` (beside the work: ${agent.side})` : "",
      joined.length > 0 ? ` (read ${joined.join(", ")} too)` : "",
    ];
    line(depth, `${agent.name}  ${modelCalls} calls, ${tokens} tokens${marks.join("")}`);
    for (const step of run.steps.filter((one) => one.agentId === agent.id)) {
      if (step.text) line(depth + 1, `"${step.text}"`);
      if (step.error) line(depth + 1, `failed: ${step.error}`);
      for (const call of step.toolCalls) {
        line(depth + 1, `${call.name}(${call.arguments})${call.delegatesTo ? "" : ` → ${call.result ?? "no result"}`}`);
        const child = run.agents.find((one) => one.id === call.delegatesTo);
        if (child) tell(child, depth + 2);
      }
    }
    for (const next of run.agents.filter((one) => one.handoffFrom === agent.id)) tell(next, depth + 1);
  };
  for (const agent of run.agents) if (!agent.parentCallId && !agent.handoffFrom) tell(agent, 1);
  for (const agent of run.agents) tell(agent, 1);
  lines.push(`  answer: ${run.answer ?? "none"}`);
  const refused = refusedForTraining(run);
  if (refused) lines.push(`  not for training: ${refused}`);
  const { inferred = [] } = run.completeness;
  const shape = inferred.map((what) => (what === "run" ? "which calls are one run" : "who called whom"));
  if (shape.length > 0) lines.push(`  inferred from what was said: ${shape.join(", ")}`);
  for (const note of run.completeness.notes) lines.push(`  note: ${note}`);
  return lines.join("\n");
}
