/**
 * The record of one run as it happens: agents, steps, every distinct message once, and what it cost. `computed` tokens are
 * what a perfect prefix cache would still have to process: the record keeps a tree of all prompts seen so far in the run
 * and charges each call only for what comes after its longest known beginning.
 */
import { hash } from "node:crypto";
import type { Message } from "../core/message.ts";
import type { ChatReply, ChatTool, Price } from "../core/model.ts";
import { fullyComplete, type TeamAgent, type TeamRun, type TeamStep } from "../core/team-run.ts";
import { emptyUsage } from "../core/usage.ts";
import { type CountTokens, messageTokens, toolTokens } from "./role.ts";

interface PrefixNode {
  next: Map<string, PrefixNode>;
}

export interface RunRecord {
  readonly agents: readonly TeamAgent[];
  readonly steps: readonly TeamStep[];
  addAgent(agent: Omit<TeamAgent, "id">): TeamAgent;
  /** Writes down a model call that ended well. */
  addStep(step: {
    agent: TeamAgent;
    model: string;
    messages: readonly Message[];
    tools: readonly ChatTool[];
    reply: ChatReply;
    /** The reply as the history will repeat it, so that it counts as known from now on. */
    written: Message;
    countTokens: CountTokens;
    startedAt: number;
    endedAt: number;
    costUsd: number;
  }): TeamStep;
  /** Writes down a model call that failed. */
  addFailure(step: {
    agent: TeamAgent;
    model: string;
    messages: readonly Message[];
    error: string;
    startedAt: number;
    endedAt: number;
  }): void;
  addToolTime(ms: number): void;
  finish(ending: { answer: string | null; error?: string; wallMs: number; meta: Record<string, unknown> }): TeamRun;
}

/** Starts the record of a run. */
export function recordRun(run: Pick<TeamRun, "id" | "taskId" | "question" | "topology">): RunRecord {
  const agents: TeamAgent[] = [];
  const steps: TeamStep[] = [];
  const messages: Record<string, Message> = {};
  const usage = emptyUsage();
  const known: PrefixNode = { next: new Map() };
  const remember = (message: Message): string => {
    const key = messageHash(message);
    messages[key] ??= message;
    return key;
  };
  return {
    agents,
    steps,
    addAgent(agent) {
      const added = { id: `agent-${agents.length + 1}`, ...agent };
      agents.push(added);
      return added;
    },
    addStep({ agent, model, messages: seen, tools, reply, written, countTokens, startedAt, endedAt, costUsd }) {
      const input = seen.map(remember);
      const share = newShare(known, seen, input, tools, messageHash(written), countTokens);
      const { promptTokens, completionTokens, cachedTokens } = reply.usage;
      usage.modelCalls++;
      usage.promptTokens += promptTokens;
      usage.completionTokens += completionTokens;
      usage.cachedTokens += cachedTokens ?? 0;
      usage.billedTokens += promptTokens + completionTokens;
      usage.computedTokens += Math.round(promptTokens * share) + completionTokens;
      usage.costUsd += costUsd;
      const step: TeamStep = {
        id: `step-${steps.length + 1}`,
        agentId: agent.id,
        model,
        input,
        text: reply.text,
        reasoning: reply.reasoning,
        toolCalls: reply.toolCalls.map((call) => ({ ...call })),
        promptTokens,
        completionTokens,
        cachedTokens,
        startedAt,
        endedAt,
        responseId: reply.responseId,
      };
      steps.push(step);
      return step;
    },
    addFailure({ agent, model, messages: seen, error, startedAt, endedAt }) {
      usage.modelCalls++;
      steps.push({
        id: `step-${steps.length + 1}`,
        agentId: agent.id,
        model,
        input: seen.map(remember),
        text: "",
        toolCalls: [],
        promptTokens: 0,
        completionTokens: 0,
        startedAt,
        endedAt,
        error,
      });
    },
    addToolTime(ms) {
      usage.toolCalls++;
      usage.toolMs += ms;
    },
    finish({ answer, error, wallMs, meta }) {
      usage.wallMs = wallMs;
      return {
        version: 1,
        ...run,
        agents,
        steps,
        messages,
        answer,
        usage,
        source: "team",
        completeness: fullyComplete(),
        error,
        meta,
      };
    },
  };
}

/** The share of a prompt that no earlier call of the run began with; the prompt and its reply are known from now on. */
function newShare(
  known: PrefixNode,
  messages: readonly Message[],
  hashes: readonly string[],
  tools: readonly ChatTool[],
  written: string,
  countTokens: CountTokens,
): number {
  // Tool definitions stand in front of the messages, so prompts with other tools share nothing.
  const keys = [toolsKey(tools), ...hashes];
  const weights = [toolTokens(tools, countTokens), ...messages.map((message) => messageTokens(message, countTokens))];
  let node = known;
  let total = 0;
  let fresh = 0;
  let onKnownPath = true;
  keys.forEach((key, index) => {
    total += weights[index]!;
    const next = node.next.get(key);
    onKnownPath &&= next !== undefined;
    if (!onKnownPath) fresh += weights[index]!;
    node = next ?? extend(node, key);
  });
  if (!node.next.has(written)) extend(node, written);
  return total === 0 ? 0 : fresh / total;
}

function extend(node: PrefixNode, key: string): PrefixNode {
  const next: PrefixNode = { next: new Map() };
  node.next.set(key, next);
  return next;
}

const hashes = new WeakMap<object, string>();

/** The name under which a message is stored: a hash of all it says. */
export function messageHash(message: Message): string {
  let key = hashes.get(message);
  if (key === undefined) {
    const { role, content, reasoning, toolCalls, toolCallId, name } = message;
    key = hash("sha256", JSON.stringify([role, content, reasoning, toolCalls, toolCallId, name])).slice(0, 24);
    hashes.set(message, key);
  }
  return key;
}

function toolsKey(tools: readonly ChatTool[]): string {
  let key = hashes.get(tools);
  if (key === undefined) hashes.set(tools, (key = hash("sha256", JSON.stringify(tools)).slice(0, 24)));
  return key;
}

/** What a call cost in dollars. */
export function callCost(usage: ChatReply["usage"], price: Price | undefined): number {
  if (!price) return 0;
  const cached = usage.cachedTokens ?? 0;
  const input = (usage.promptTokens - cached) * price.input + cached * (price.cachedInput ?? price.input);
  return (input + usage.completionTokens * price.output) / 1e6;
}
