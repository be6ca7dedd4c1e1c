/**
 * Whether a recorded run may be trained on. This is the only place that decides it, and each refusal has a name: a run
 * that is cut, or in which something happened that the recording does not hold, would teach the model something false.
 */
import type { ToolCall } from "../core/message.ts";
import type { TeamAgent, TeamRun } from "../core/team-run.ts";
import { isTransfer, nameFromCall } from "./agent-name.ts";
import { answerByTool } from "./answer-by-tool.ts";
import type { CallParts } from "./assemble-run.ts";
import { isAsked } from "./user-turn.ts";

/** Why a run must not be trained on. */
export type Untrainable = NonNullable<TeamRun["completeness"]["untrainable"]>[number];

export const untrainableReasons = {
  cut: "text is missing: a reply ended at the token limit or broke off, or the recording was shortened",
  "missing-media": "images, sound or files that the model saw are not in the recording",
  "hosted-tool": "a tool that the server ran left no result",
  "history-unseen": "a part of the conversation stayed on the server",
  "part-of-run": "it looks like a part of another run",
  "side-call": "it was made beside the work of another run: a title, a guard's verdict, who speaks next, a memory",
  "no-question": "the question is empty, or it is a tool's result or a program's reminder",
  "unread-protocol": "a reply is a step of a text protocol that was not read",
  "answer-unknown": "it is not known which reply was given back as the answer",
  "no-result": "results of tool calls are missing",
  instructions: "an agent's instructions are those of its caller, or change from call to call",
  unlinked: "an agent could not be linked to the one that started it",
  ambiguous: "more than one call may have started an agent (record with a run id), or more than one reply may be meant",
  "no-content": "prompts or replies are missing",
  refused: "the model refused to answer",
  "no-answer": "the run has no answer",
} as const;

/** A name of `untrainableReasons`. */
export type UntrainableReason = keyof typeof untrainableReasons;

/** All reasons against training on a run. */
export function whyUntrainable(
  run: Pick<TeamRun, "agents" | "steps" | "answer" | "question"> & {
    completeness: Omit<TeamRun["completeness"], "untrainable">;
  },
  calls: readonly CallParts[],
  doubts: Partial<Record<"unlinked" | "part" | "answer", string | undefined>> = {},
): Untrainable[] {
  const found: Untrainable[] = [];
  const add = (reason: UntrainableReason, detail?: string, step?: string) =>
    found.push({ reason, ...(detail && { detail }), ...(step && { step }) });
  const { truncated, content, notes } = run.completeness;
  for (const step of run.steps) {
    if (step.finish === "length") add("cut", "the reply ended at the token limit", step.id);
    else if (step.finish === "other") add("cut", "the reply did not end by itself", step.id);
  }
  if (truncated && found.length === 0) add("cut", notes.join("; "));
  const lost = new Set(calls.flatMap((call) => call.lost ?? []));
  if (lost.has("media")) add("missing-media");
  if (lost.has("hosted-tool")) add("hosted-tool");
  if (lost.has("server-history")) add("history-unseen");
  if (!content) add("no-content", notes.join("; "));
  else if (lost.has("prompt")) add("no-content", "a prompt is not one text");
  const loose = looseAgents(run.agents);
  // A team that records itself says what each step is; its judges are called by its rules, not by an agent.
  const marked = run.steps.some((step) => step.move !== undefined);
  if (loose > 0 && !marked) add("unlinked", `${loose} of ${run.agents.length} agents`);
  if (doubts.unlinked !== undefined) add("unlinked", doubts.unlinked);
  if (doubts.part !== undefined) add("part-of-run", doubts.part);
  if (run.agents.length > 0 && run.agents.every((agent) => agent.side)) add("side-call", run.agents[0]!.side);
  if (!found.some(({ reason }) => reason === "no-content") && !isAsked(run.question)) add("no-question");
  const changed = run.agents.find((agent) => changesInstructions(agent, run, calls));
  if (changed) add("instructions", changed.name);
  const open = calls.flatMap((call) => (answerByTool(call, call.tools) === undefined ? call.toolCalls : []));
  const missing = open.filter(
    (call) => (call.result ?? call.error ?? call.delegatesTo) === undefined && !movesControl(call, run.agents),
  ).length;
  if (content && missing > 0) add("no-result", `${missing} of ${open.length} tool calls`);
  const before = calls[0]?.messages.filter(({ role, toolCalls }) => role === "assistant" && !toolCalls) ?? [];
  const replies = run.steps.filter(({ toolCalls }) => toolCalls.length === 0).map(({ text }) => text);
  if ([run.answer ?? "", ...replies, ...before.map(({ content }) => content)].some(isProtocolStep))
    add("unread-protocol");
  if (doubts.answer !== undefined && loose === 0) add("answer-unknown", doubts.answer);
  const ambiguous = run.agents.filter((agent) => agent.ambiguousLink).length;
  if (ambiguous > 0) add("ambiguous", `${ambiguous} of ${run.agents.length} agents`);
  if (calls.some(mayBeAnother)) add("ambiguous", "several replies were asked for: which of them was used is not known");
  if (run.answer === null) add("no-answer");
  else if (run.steps.some((step) => step.refusal !== undefined && step.refusal === run.answer)) add("refused");
  return found;
}

/** Whether a call moved control to another agent of the run: it needs no result. */
function movesControl(call: ToolCall, agents: readonly TeamAgent[]): boolean {
  return isTransfer(call.name) && agents.some(({ name }) => name === nameFromCall(call));
}

/** Calls of two agents were taken for one: other instructions from call to call, or its caller's where links are inferred. */
function changesInstructions(
  { id, parentCallId, instructions }: TeamAgent,
  { steps, agents, completeness }: Pick<TeamRun, "steps" | "agents" | "completeness">,
  calls: readonly CallParts[],
): boolean {
  const own = calls.filter((call) => call.agentId === id);
  const told = own.flatMap(
    ({ messages }) => messages.find(({ role }) => role === "system")?.content.slice(0, 20) ?? [],
  );
  if (new Set(told).size > 1) return true;
  if (!parentCallId || !instructions || !completeness.inferred?.includes("links")) return false;
  const caller = steps.find(({ toolCalls }) => toolCalls.some((call) => call.id === parentCallId))?.agentId;
  return agents.some((agent) => agent.id === caller && agent.instructions === instructions);
}

/** Agents that neither a call, nor a hand-over, nor a reply that the program passed on ties to the others. */
export function looseAgents(agents: readonly TeamAgent[]): number {
  const group = new Map(agents.map(({ id }) => [id, id]));
  const of = (id: string): string => (group.get(id) === id || !group.has(id) ? id : of(group.get(id)!));
  for (const { id, handoffFrom, joins = [] } of agents) {
    for (const from of handoffFrom === undefined ? joins : [handoffFrom, ...joins])
      if (group.has(from)) group.set(of(from), of(id));
  }
  const called = new Set(agents.filter(({ parentCallId }) => parentCallId !== undefined).map(({ id }) => of(id)));
  const loose = new Set(agents.filter(({ side }) => side === undefined).map(({ id }) => of(id)));
  return Math.max(0, loose.difference(called).size - 1);
}

/** A step of an agent that calls tools by its words: read as an answer it would teach the protocol and not the work. */
const protocolSteps = [
  // Headings of a call and of its input, however they are decorated.
  /^[ \t*#]*(?:thought|reasoning)[ \t\d*]*:[\s\S]*?^[ \t*#]*action(?: input)?[ \t\d*]*:/im,
  /^[ \t*#]*(?:action|tool|tool name|function)[ \t\d*]*:[^\n]*\n[ \t*#]*(?:(?:action |tool )?input|arg(?:ument)?s|parameters)[ \t\d*]*:/im,
  /^\s*Action:\s*\w+\s*[[({\n]/,
  /\[\[ ## next_tool_name ## \]\]|\[TOOL_CALLS\]|✿FUNCTION✿|<\|python_tag\|>|<function=\w|^[ \t]*(?:行动|动作|工具)(?:输入)?\s*[:：]/m,
  /<(?:tool_call|function_call|invoke|tool|tool_name|tool_input|search|information|execute)\b[^>]{0,200}>|^\s*Thought:[\s\S]*<code>/,
  /^\s*(?:DISCUSSION|THOUGHT)\b[\s\S]*\n```\s*$/,
  // Nothing but a call.
  /^\s*(?:```(?:json)?\s*)?\{\s*"(?:tool|tool_name|action|function|function_call|tool_calls)"\s*:/,
  /^\s*[a-z_]\w*\((?:(["'])[^\n]*\1|\w+\s*=[^\n]*)\)\s*$/i,
];

function isProtocolStep(text: string): boolean {
  // Longer texts begin or end with their step.
  const ends = text.length > 8_000 ? `${text.slice(0, 4_000)}\n${text.slice(-4_000)}` : text;
  return protocolSteps.some((pattern) => pattern.test(ends));
}

/** Several different replies came to one request, and no later call shows which was used. */
function mayBeAnother({ text, toolCalls, others = [] }: CallParts): boolean {
  const said = (one: Pick<CallParts, "text" | "toolCalls">) =>
    JSON.stringify([one.text.trim(), one.toolCalls.map((call) => [call.name, call.arguments])]);
  return others.some((one) => said(one) !== said({ text, toolCalls }));
}

/** What keeps this run from being trained on, in one line, or null when nothing does. */
export function refusedForTraining(run: TeamRun): string | null {
  const reasons = run.completeness.untrainable ?? whyUntrainable(run, []);
  if (reasons.length === 0) return null;
  const lines = reasons.map(({ reason, detail }) => {
    const meaning = untrainableReasons[reason as UntrainableReason] ?? reason;
    return `${reason}: ${meaning}${detail ? ` (${detail})` : ""}`;
  });
  return [...new Set(lines)].join("; ");
}
