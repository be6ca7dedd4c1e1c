/**
 * A run at work: what every part of it shares, and the two things a member can do, asking its model and calling a tool.
 * Both are budgeted, recorded and labelled here and nowhere else.
 */

import { randomUUID } from "node:crypto";
import { type CountTokens, requestTokens } from "../base/count/token-estimate.ts";
import { atBoundary, CoaError, isAbort, messageOf } from "../core/errors.ts";
import type { Message } from "../core/message.ts";
import type { ChatModel, ChatReply, ChatTool, Price } from "../core/model.ts";
import type { Task } from "../core/task.ts";
import type { TeamAgent, TeamStep, TeamToolCall, Topology } from "../core/team-run.ts";
import type { Tool } from "../core/tool.ts";
import { callCost } from "../core/usage.ts";
import { checkInput } from "../language/check-input.ts";
import { errorText, outputText } from "../language/observation.ts";
import { writtenCalls } from "../language/written-calls.ts";
import type { TeamMember } from "./agents.ts";
import type { Meter } from "./budget.ts";
import type { RunRecord } from "./record-run.ts";
import { callInput } from "./role.ts";
import type { TeamOptions } from "./run-team.ts";
import type { MemoryEntry } from "./working-memory.ts";

export type TeamEvent =
  | { type: "agent-start"; agent: TeamAgent }
  /** Text as it is written, where replies are streamed. */
  | { type: "text-delta"; agent: TeamAgent; text: string }
  | { type: "step-end"; agent: TeamAgent; step: TeamStep }
  | { type: "tool-call"; agent: TeamAgent; call: TeamToolCall }
  | { type: "tool-result"; agent: TeamAgent; call: TeamToolCall; ms: number };

export interface WorkSession {
  task: Task;
  runId: string;
  topology: Extract<Topology, "agents-as-tools" | "handoff">;
  team: readonly TeamMember[];
  playerOf(role: string): ChatModel;
  record: RunRecord;
  meter: Meter;
  countTokens: CountTokens;
  work: MemoryEntry[];
  limits: Required<NonNullable<TeamOptions["limits"]>>;
  /** What members read of a tool's output: what a chain would read of it. */
  show(output: string): string;
  priceOf(model: ChatModel): Price | undefined;
  temperature?: number;
  seed?: number;
  stream?: boolean;
  signal: AbortSignal;
  now(): number;
  emit(event: TeamEvent): void;
}

/** Asks a member's model for its next move. The reply comes back with the message that repeats it in the history. */
export async function askMember(
  session: WorkSession,
  asked: {
    agent: TeamAgent;
    role: string;
    messages: readonly Message[];
    tools: readonly ChatTool[];
    /** The member was told in its instructions how to write calls: the server is given no tools. */
    inText?: boolean;
  },
): Promise<{ reply: ChatReply; message: Message; step: TeamStep }> {
  const { agent, messages, tools, inText } = asked;
  const model = session.playerOf(asked.role);
  const countTokens = model.countTokens ?? session.countTokens;
  const promptTokens = requestTokens({ messages, tools: inText ? [] : tools }, countTokens);
  const maxTokens = session.meter.startModelCall(promptTokens, session.limits.maxTokens);
  const startedAt = session.now();
  const settings = { maxTokens, temperature: session.temperature, seed: session.seed };
  let reply: ChatReply;
  try {
    session.signal.throwIfAborted();
    reply = await atBoundary("model", `${model.name} as ${agent.name}`, () =>
      model.chat({
        messages,
        tools: tools.length > 0 && !inText ? tools : undefined,
        ...settings,
        signal: session.signal,
        ...(session.stream && { onDelta: (text: string) => session.emit({ type: "text-delta", agent, text }) }),
      }),
    );
  } catch (error) {
    session.meter.endModelCall(promptTokens + maxTokens, { tokens: 0, costUsd: 0 });
    if (!isAbort(error)) {
      const failure = { agent, model: model.name, messages, settings, error: messageOf(error) };
      session.record.addStep({ ...failure, startedAt, endedAt: session.now() });
    }
    throw error;
  }
  if (reply.toolCalls.length === 0 && tools.length > 0) reply = withWrittenCalls(reply, tools, inText);
  const costUsd = callCost(reply.usage, session.priceOf(model));
  const spent = { tokens: reply.usage.promptTokens + reply.usage.completionTokens, costUsd };
  session.meter.endModelCall(promptTokens + maxTokens, spent);
  const message: Message = {
    role: "assistant",
    content: reply.text,
    name: agent.name,
    ...(reply.toolCalls.length > 0 ? { toolCalls: reply.toolCalls } : {}),
  };
  const step = session.record.addStep({
    agent,
    model: model.name,
    messages,
    tools,
    settings,
    reply,
    startedAt,
    endedAt: session.now(),
    costUsd,
  });
  session.emit({ type: "step-end", agent, step });
  return { reply, message, step };
}

function withWrittenCalls(reply: ChatReply, tools: readonly ChatTool[], programs?: boolean): ChatReply {
  const { said, calls } = writtenCalls(reply.text, tools, { programs });
  if (calls.length === 0) return reply;
  const toolCalls = calls.map((call) => ({ id: `call-${randomUUID().slice(0, 12)}`, ...call }));
  return { ...reply, text: said, toolCalls, finish: "tool_calls" };
}

/** Runs one tool call of a member and writes the outcome into the call. A failing tool is an outcome, not an error. */
export async function runToolCall(
  session: WorkSession,
  agent: TeamAgent,
  tools: readonly Tool[],
  call: TeamToolCall,
): Promise<string> {
  session.meter.startToolCall();
  session.emit({ type: "tool-call", agent, call });
  const startedAt = session.now();
  call.startedAt = startedAt;
  try {
    call.result = session.show(outputText(await callTool(session, tools, call)));
  } catch (error) {
    if (isAbort(error) && session.signal.aborted) throw error;
    call.error = session.show(messageOf(error));
  }
  call.endedAt = session.now();
  session.emit({ type: "tool-result", agent, call, ms: call.endedAt - startedAt });
  return call.result ?? errorText(call.name, call.error!);
}

async function callTool(session: WorkSession, tools: readonly Tool[], call: TeamToolCall): Promise<unknown> {
  const tool = tools.find((candidate) => candidate.name === call.name);
  if (!tool) {
    const names = tools.map((candidate) => candidate.name).join(", ");
    throw new CoaError("tool", `there is no tool "${call.name}"; the tools are: ${names}`);
  }
  const parsed = callInput(call.arguments);
  if ("problem" in parsed) throw new CoaError("tool", parsed.problem);
  const checked = await checkInput(tool, parsed.input);
  if ("problem" in checked) {
    const given = JSON.stringify(parsed.input).slice(0, 200);
    throw new CoaError("tool", `${tool.name} can't take ${given}: ${checked.problem}`);
  }
  const signals = tool.timeoutMs === undefined ? [] : [AbortSignal.timeout(tool.timeoutMs)];
  const signal = signals.length > 0 ? AbortSignal.any([session.signal, ...signals]) : session.signal;
  return atBoundary("tool", call.name, () =>
    tool.execute(checked.value, {
      signal,
      trajectoryId: session.runId,
      taskId: session.task.id,
      question: session.task.question,
    }),
  );
}

/** Waits for all, then passes on the first error: no work of a run may continue once it has ended. */
export async function allSettledOrThrow<T>(work: readonly Promise<T>[]): Promise<T[]> {
  const settled = await Promise.allSettled(work);
  return settled.map((one) => {
    if (one.status === "rejected") throw one.reason;
    return one.value;
  });
}
