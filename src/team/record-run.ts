/** The record of one run as it happens: agents, steps in the order they started, and every distinct message once. */

import { type CountedCall, runUsage } from "../base/count/run-usage.ts";
import { messageHash } from "../core/fingerprint.ts";
import type { Message } from "../core/message.ts";
import type { ChatReply, ChatTool } from "../core/model.ts";
import type { TeamAgent, TeamRun, TeamStep } from "../core/team-run.ts";

interface MadeCall {
  agent: TeamAgent;
  model: string;
  messages: readonly Message[];
  startedAt: number;
  endedAt: number;
  tools?: readonly ChatTool[];
  settings?: TeamStep["settings"];
  reply?: ChatReply;
  costUsd?: number;
  error?: string;
}

const noReply: ChatReply = {
  text: "",
  toolCalls: [],
  finish: "stop",
  usage: { promptTokens: 0, completionTokens: 0 },
};

export function recordRun(
  run: Pick<TeamRun, "id" | "taskId" | "question" | "topology" | "history" | "session" | "family">,
) {
  const agents: TeamAgent[] = [];
  const steps: TeamStep[] = [];
  const messages: Record<string, Message> = {};
  const calls: CountedCall[] = [];
  const remember = (message: Message): string => {
    const key = messageHash(message);
    messages[key] ??= message;
    return key;
  };
  return {
    agents,
    steps,
    addAgent(agent: Omit<TeamAgent, "id">) {
      const added: TeamAgent = { id: `agent-${agents.length + 1}`, ...agent };
      agents.push(added);
      return added;
    },
    /** Writes down a model call: its reply, or the error that it ended with. */
    addStep(made: MadeCall) {
      const { agent, model, messages: seen, tools = [], reply = noReply, startedAt, endedAt, costUsd, error } = made;
      const { promptTokens, completionTokens, cachedTokens } = reply.usage;
      const step: TeamStep = {
        id: `step-${steps.length + 1}`,
        agentId: agent.id,
        model,
        input: seen.map(remember),
        text: reply.text,
        reasoning: reply.reasoning,
        toolCalls: reply.toolCalls.map((call) => ({ ...call })),
        promptTokens,
        completionTokens,
        cachedTokens,
        settings: made.settings,
        startedAt,
        endedAt,
        responseId: reply.responseId,
        ...(error !== undefined && { error }),
      };
      steps.push(step);
      calls.push({
        ...reply.usage,
        messages: seen,
        tools,
        costUsd,
        text: reply.text,
        toolCalls: step.toolCalls,
        startedAt,
      });
      return step;
    },
    finish({
      wallMs,
      ...outcome
    }: Pick<TeamRun, "answer" | "ending" | "replans" | "scores"> & { wallMs: number }): TeamRun {
      const usage = { ...runUsage(calls), wallMs };
      return {
        version: 1,
        ...run,
        agents,
        steps: steps.toSorted((a, b) => a.startedAt! - b.startedAt!),
        messages,
        ...outcome,
        usage,
        source: "team",
        completeness: { toolSchemas: true, toolCallIds: true, content: true, truncated: false, notes: [] },
      };
    },
  };
}

export type RunRecord = ReturnType<typeof recordRun>;
