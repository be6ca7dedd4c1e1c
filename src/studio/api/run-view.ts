/**
 * A team run as the browser draws it: agents in the order they began, every step on one clock, and for each prompt how
 * much of it had been read before (`reread`), how much was sent again (`retold`: a message that some agent had already
 * seen, outside the shared beginning), and how much was new.
 */

import { type CountedCall, rereadTokens } from "../../base/count/run-usage.ts";
import { messageTokens } from "../../base/count/token-estimate.ts";
import type { Message } from "../../core/message.ts";
import type { TeamRun, TeamStep } from "../../core/team-run.ts";
import { type CutText, cutText } from "./cut-text.ts";

export interface AgentView {
  id: string;
  name: string;
  role: string;
  /** How many agents of the same name began before it. */
  number: number;
  /** Who called it or handed over to it. */
  parent?: string;
  ambiguous?: boolean;
  report?: CutText;
}

export interface CallView {
  id: string;
  name: string;
  arguments: CutText;
  result?: CutText;
  error?: CutText;
  start?: number;
  end?: number;
  delegatesTo?: string;
}

export interface StepView {
  id: string;
  agent: string;
  /** Which step of its agent, from 1. */
  number: number;
  move?: string;
  model?: string;
  /** Milliseconds since the run began; absent where the recording has no times. */
  start?: number;
  end?: number;
  text: CutText;
  reasoning?: CutText;
  calls: CallView[];
  /** Messages in the prompt, and how many of them some step had seen before. */
  messages: number;
  seenMessages: number;
  tokens: { prompt: number; reread: number; retold: number; completion: number };
  finish?: string;
  error?: string;
}

export interface RunView {
  id: string;
  taskId?: string;
  question: CutText;
  answer: CutText | null;
  topology: string;
  source: string;
  family?: string;
  ending: TeamRun["ending"];
  usage: TeamRun["usage"];
  agents: AgentView[];
  steps: StepView[];
  /** What the recording lost, and why it must not be trained on. */
  notes: string[];
  untrainable: { reason: string; step?: string; detail?: string }[];
}

/** The view of a run. */
export function runView(run: TeamRun): RunView {
  const began = Math.min(...run.steps.map((step) => step.startedAt ?? Number.POSITIVE_INFINITY));
  const since = (time: number | undefined) =>
    time === undefined || !Number.isFinite(began) ? undefined : Math.max(0, time - began);
  const calls = run.steps.map((step) => countedCall(run, step));
  const reread = rereadTokens(calls);
  const seen = new Set<string>();
  const numbers = new Map<string, number>();
  const steps = run.steps.map((step, index): StepView => {
    const number = (numbers.get(step.agentId) ?? 0) + 1;
    numbers.set(step.agentId, number);
    const seenMessages = step.input.filter((hash) => seen.has(hash)).length;
    const prompt = Math.max(step.promptTokens, 0);
    const again = toldAgain(run, step, seen, prompt, reread[index]!);
    for (const hash of step.input) seen.add(hash);
    return {
      id: step.id,
      agent: step.agentId,
      number,
      move: step.move,
      model: step.model,
      start: since(step.startedAt),
      end: since(step.endedAt),
      text: cutText(step.text),
      ...(step.reasoning && { reasoning: cutText(step.reasoning) }),
      calls: step.toolCalls.map((call) => ({
        id: call.id,
        name: call.name,
        arguments: cutText(call.arguments),
        ...(call.result !== undefined && { result: cutText(call.result) }),
        ...(call.error !== undefined && { error: cutText(call.error) }),
        start: since(call.startedAt),
        end: since(call.endedAt),
        delegatesTo: call.delegatesTo,
      })),
      messages: step.input.length,
      seenMessages,
      tokens: { prompt, reread: Math.min(prompt, reread[index]!), retold: again, completion: step.completionTokens },
      finish: step.finish,
      ...(step.error !== undefined && { error: step.error }),
    };
  });
  return {
    id: run.id,
    taskId: run.taskId,
    question: cutText(run.question),
    answer: run.answer === null ? null : cutText(run.answer),
    topology: run.topology,
    source: run.source,
    family: run.family,
    ending: run.ending,
    usage: run.usage,
    agents: agentViews(run),
    steps,
    notes: run.completeness.notes,
    untrainable: run.completeness.untrainable ?? [],
  };
}

function countedCall(run: TeamRun, step: TeamStep): CountedCall {
  const messages = step.input.map((hash) => run.messages[hash]).filter((message) => message !== undefined);
  // A recorder may keep tool definitions at the first activation of an agent only.
  const agent = run.agents.find(({ id }) => id === step.agentId);
  const tools =
    (agent?.tools ? agent : run.agents.find(({ name, tools }) => name === agent?.name && tools))?.tools ?? [];
  return { ...step, messages, tools };
}

/** Tokens of messages that were seen before and are outside the shared beginning: they were sent again. */
function toldAgain(run: TeamRun, step: TeamStep, seen: ReadonlySet<string>, prompt: number, reread: number): number {
  const weight = (message: Message | undefined) => (message ? messageTokens(message) : 0);
  const all = step.input.reduce((sum, hash) => sum + weight(run.messages[hash]), 0);
  const known = step.input.reduce((sum, hash) => sum + (seen.has(hash) ? weight(run.messages[hash]) : 0), 0);
  if (all === 0) return 0;
  return Math.max(0, Math.min(prompt - reread, Math.round((prompt * known) / all) - reread));
}

function agentViews(run: TeamRun): AgentView[] {
  const callers = new Map<string, string>();
  for (const step of run.steps) for (const call of step.toolCalls) callers.set(call.id, step.agentId);
  const numbers = new Map<string, number>();
  return run.agents.map((agent) => {
    const number = (numbers.get(agent.name) ?? 0) + 1;
    numbers.set(agent.name, number);
    const parent =
      agent.handoffFrom ?? (agent.parentCallId === undefined ? undefined : callers.get(agent.parentCallId));
    return {
      id: agent.id,
      name: agent.name,
      role: agent.role ?? agent.name,
      number,
      ...(parent !== undefined && { parent }),
      ...(agent.ambiguousLink && { ambiguous: true }),
      ...(agent.report !== undefined && { report: cutText(agent.report) }),
    };
  });
}
