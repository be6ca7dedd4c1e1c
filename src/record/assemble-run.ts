/**
 * Makes a team run out of agents and calls, whichever recorder saw them: every message stored once by hash, usage
 * summed over model calls alone (never over spans that contain others), and a report of what the recording lacks.
 */

import { runUsage } from "../base/count/run-usage.ts";
import type { HostedCall, Loss, ToolDefinition, WireReply } from "../base/wire/wire-api.ts";
import { messageHash } from "../core/fingerprint.ts";
import type { Message } from "../core/message.ts";
import type { TeamAgent, TeamRun, TeamStep, TeamToolCall } from "../core/team-run.ts";
import {
  agreedAnswer,
  askedMove,
  askedQuestion,
  isTurn,
  markedAnswer,
  proposedAnswer,
} from "../language/team-moves.ts";
import { isTransfer, nameFromCall } from "./agent-name.ts";
import { answerByTool } from "./answer-by-tool.ts";
import { isSent } from "./recorded-call.ts";
import { runAnswer } from "./run-answer.ts";
import { looseAgents, whyUntrainable } from "./trainable.ts";
import { historyBefore, spoken, toldTask } from "./user-turn.ts";

/** One model call, with the agent that made it and what its tools answered. */
export interface CallParts extends Omit<TeamStep, "id" | "input"> {
  messages: Message[];
  tools: ToolDefinition[];
  truncated?: boolean;
  lost?: Loss[];
  /** Tools that the server ran before it wrote the text. */
  hosted?: HostedCall[];
  /** Other replies to the same request, of which any may have been used. */
  others?: WireReply["others"];
}

/** What a recorder knows of a run before it is put together. */
export interface RunParts {
  id: string;
  source: string;
  agents: TeamAgent[];
  calls: CallParts[];
  taskId?: string;
  question?: string;
  answer?: string | null;
  topology?: TeamRun["topology"];
  /** The conversation before the question. */
  history?: Message[];
  /** Shared by the turns of one conversation. */
  session?: string;
  /** Which parts of its structure were inferred from content. */
  inferred?: TeamRun["completeness"]["inferred"];
  /** Why its first agent is probably another run's. */
  unlinked?: string;
  /** Why it may be a part of another run. */
  partOf?: string;
  /** Agents whose last reply no other agent was given, where the flow is known. */
  ends?: string[];
  notes?: string[];
  truncated?: boolean;
  /** False where a format has no ids of its own for tool calls. */
  toolCallIds?: boolean;
  error?: string;
  feedback?: TeamRun["feedback"];
}

export function assembleRun(parts: RunParts): TeamRun {
  // Foreign counts may be anything; none is below zero.
  const above = ({ promptTokens, completionTokens, ...call }: CallParts): CallParts => ({
    ...call,
    promptTokens: Math.max(0, promptTokens),
    completionTokens: Math.max(0, completionTokens),
  });
  const calls = parts.calls.map(above).sort((a, b) => (a.startedAt ?? 0) - (b.startedAt ?? 0));
  const messages: Record<string, Message> = {};
  const steps = calls.flatMap(withHostedCalls).map((call, index): TeamStep => {
    const { messages: seen, tools: _tools, truncated: _truncated, lost: _lost, ...more } = call;
    const { hosted: _hosted, others: _others, ...step } = more;
    const input = seen.map((message) => {
      const key = messageHash(message);
      messages[key] ??= message;
      return key;
    });
    const refusal = step.finish === "refusal" && step.text !== "" ? { refusal: step.text } : {};
    return { id: `step-${index + 1}`, ...step, ...refusal, input };
  });
  const agents = describeAgents(parts.agents, calls);
  linkDelegations(agents, steps);
  const firsts = agents.filter((agent) => !agent.parentCallId && !agent.handoffFrom);
  const root = firsts.find(({ side }) => side === undefined) ?? firsts[0] ?? agents[0];
  const first = firstQuestion(calls, root?.id);
  const asked = askedQuestion(first);
  const managers = agents.filter(({ instructions }) => instructions === root?.instructions).map(({ id }) => id);
  if (asked !== undefined) for (const step of steps) markMove(step, managers.includes(step.agentId), messages);
  // In the small team each takes over from the one before.
  const inTurn = asked !== undefined && Object.values(messages).some(isTurn) ? agreedAnswer(steps) : undefined;
  if (inTurn)
    for (const [index, agent] of agents.entries())
      if (index > 0 && agent.parentCallId === undefined) agent.handoffFrom ??= agents[index - 1]!.id;
  const found = inTurn ?? runAnswer({ agents, steps, messages, ends: parts.ends }, root);
  const answer = parts.answer !== undefined ? parts.answer : found.answer;
  const completeness = completenessOf(parts, agents, calls);
  const history = parts.history ?? historyBefore(firstCall(calls, root?.id)?.messages ?? []);
  const question = parts.question ?? asked ?? first;
  const doubts = {
    unlinked: parts.unlinked,
    part: parts.partOf,
    answer: parts.answer === undefined && "unknown" in found ? found.unknown : undefined,
  };
  const untrainable = whyUntrainable({ agents, steps, question, answer, completeness }, calls, doubts);
  return {
    version: 1,
    id: parts.id,
    ...(parts.taskId !== undefined && { taskId: parts.taskId }),
    question,
    ...(history && { history }),
    ...(parts.session !== undefined && { session: parts.session }),
    topology: parts.topology ?? topologyOf(agents),
    agents,
    steps,
    messages,
    answer,
    ending:
      parts.error !== undefined
        ? { reason: "error", detail: parts.error }
        : { reason: answer === null ? "no-answer" : "answered" },
    usage: runUsage(calls.filter(isSent)),
    ...(inTurn && inTurn.scores.length > 0 && { scores: inTurn.scores }),
    source: parts.source,
    completeness: { ...completeness, ...(untrainable.length > 0 && { untrainable }) },
    ...(parts.feedback && { feedback: parts.feedback }),
  };
}

/** A call in which the server ran tools is two steps: the calls with their results, then the text that followed. */
function withHostedCalls(call: CallParts): CallParts[] {
  const { hosted = [] } = call;
  if (hosted.length === 0) return [call];
  const calls = hosted.map(({ result: _result, ...tool }) => tool);
  const results = hosted.map(({ id, result = "" }): Message => ({ role: "tool", content: result, toolCallId: id }));
  const asked: CallParts = { ...call, text: "", toolCalls: hosted.map((tool) => ({ ...tool })), finish: "tool_calls" };
  delete asked.reasoning;
  return [
    { ...asked, promptTokens: 0, completionTokens: 0, cachedTokens: 0, reasoningTokens: 0 },
    { ...call, messages: [...call.messages, { role: "assistant", content: "", toolCalls: calls }, ...results] },
  ];
}

function describeAgents(given: readonly TeamAgent[], calls: readonly CallParts[]): TeamAgent[] {
  return given.map((agent) => {
    const own = calls.filter((call) => call.agentId === agent.id);
    const instructions = agent.instructions ?? own[0]?.messages.find((message) => message.role === "system")?.content;
    // What the calls offered is exact; a trace often knows names alone.
    const tools = own.find((call) => call.tools.length > 0)?.tools ?? agent.tools;
    const last = own.findLast((call) => call.toolCalls.length === 0 && call.text !== "")?.text;
    const report = agent.report ?? (own.at(-1) && answerByTool(own.at(-1)!, tools)) ?? last;
    return {
      ...agent,
      ...(instructions !== undefined && { instructions }),
      ...(tools && { tools }),
      ...(report && { report }),
    };
  });
}

function linkDelegations(agents: readonly TeamAgent[], steps: readonly TeamStep[]): void {
  const byId = new Map<string, TeamToolCall>();
  for (const step of steps) for (const call of step.toolCalls) if (!byId.has(call.id)) byId.set(call.id, call);
  for (const agent of agents) {
    const call = agent.parentCallId === undefined ? undefined : byId.get(agent.parentCallId);
    if (call && call.delegatesTo === undefined) call.delegatesTo = agent.id;
    if (agent.handoffFrom === undefined) continue;
    // A transfer activates its agent as a call does; it is of no tool.
    const transfers = steps.flatMap((step) => (step.agentId === agent.handoffFrom ? step.toolCalls : []));
    const transfer = transfers.find(
      (one) => !one.delegatesTo && isTransfer(one.name) && nameFromCall(one) === agent.name,
    );
    if (transfer) transfer.delegatesTo = agent.id;
  }
}

function topologyOf(agents: readonly TeamAgent[]): TeamRun["topology"] {
  if (agents.some((agent) => agent.handoffFrom)) return "handoff";
  if (agents.some((agent) => agent.parentCallId)) return "agents-as-tools";
  return agents.length === 1 ? "single" : "unknown";
}

function firstCall(calls: readonly CallParts[], rootId: string | undefined): CallParts | undefined {
  return calls.find((call) => call.agentId === rootId && call.messages.length > 0) ?? calls[0];
}

function firstQuestion(calls: readonly CallParts[], rootId: string | undefined): string {
  const first = firstCall(calls, rootId);
  return toldTask(first?.messages) ?? spoken(first?.messages.findLast(({ role }) => role === "user")?.content ?? "");
}

/** Our own team is known by what it asks its members for, and so is what each step of it was. */
function markMove(step: TeamStep, isManager: boolean, messages: Readonly<Record<string, Message>>): void {
  if (step.error !== undefined) return;
  const input = step.input.map((key) => messages[key]!);
  if (step.toolCalls.length > 0) step.move = "act";
  else if (step.text.trim() !== "" || !isManager) {
    const asked = askedMove(input, isManager);
    if (!isManager && asked === "answer") step.move = markedAnswer(step.text) === null ? "report" : "answer";
    else if (asked !== "answer" || proposedAnswer(step.text) !== null) step.move = asked;
  }
}

function completenessOf(
  parts: RunParts,
  agents: readonly TeamAgent[],
  calls: readonly CallParts[],
): TeamRun["completeness"] {
  const notes = [...(parts.notes ?? [])];
  const toolCalls = calls.flatMap((call) => call.toolCalls);
  const ids = toolCalls.map((call) => call.id);
  const users = agents.filter((agent) => calls.some((call) => call.agentId === agent.id && call.toolCalls.length > 0));
  const toolSchemas = users.every((agent) =>
    calls
      .filter((call) => call.agentId === agent.id)
      .flatMap((call) => call.toolCalls)
      .every((call) => agent.tools?.some((tool) => tool.name === call.name && tool.parameters !== undefined)),
  );
  const empty = calls.filter(
    (call) =>
      call.error === undefined &&
      (call.messages.length === 0 || (call.text === "" && call.toolCalls.length === 0 && !call.reasoning)),
  ).length;
  if (empty > 0) notes.push(`${empty} of ${calls.length} model calls have no prompt or no reply`);
  const answers = new Set(calls.filter((call) => answerByTool(call, call.tools)).flatMap((call) => call.toolCalls));
  const left = toolCalls.filter((call) => call.result === undefined && call.error === undefined);
  const open = left.filter((call) => !answers.has(call)).length;
  if (open > 0) notes.push(`${open} of ${toolCalls.length} tool calls have no result`);
  const failed = calls.filter((call) => call.error !== undefined).length;
  if (failed > 0) notes.push(`${failed} of ${calls.length} model calls failed or broke off`);
  const cut = calls.filter((call) => call.truncated).length;
  if (cut > 0) notes.push(`${cut} of ${calls.length} model calls are cut`);
  const unlinked = looseAgents(agents);
  if (unlinked > 0) notes.push(`${unlinked} agents could not be linked to the one that started them`);
  const ambiguous = agents.filter((agent) => agent.ambiguousLink).length;
  if (ambiguous > 0) notes.push(`${ambiguous} links between agents are ambiguous`);
  return {
    toolSchemas,
    toolCallIds: parts.toolCallIds !== false && new Set(ids).size === ids.length && !ids.includes(""),
    content: empty === 0 && calls.length > 0 && (open === 0 || open < toolCalls.length),
    truncated: (parts.truncated ?? false) || cut > 0,
    notes: [...new Set(notes)],
    ...(parts.inferred && parts.inferred.length > 0 && { inferred: parts.inferred }),
  };
}
