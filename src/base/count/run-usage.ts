/**
 * What the calls of one run cost together, by the one definition of `computed`: what is left to process with a perfect
 * prefix cache. Each call is charged only for what comes after its longest known beginning; a prompt and the reply to
 * it are known to every later call. The team counts itself with this function and recordings are counted with it too.
 */
import type { Message } from "../../core/message.ts";
import type { TeamToolCall } from "../../core/team-run.ts";
import { addCall, emptyUsage, type Usage } from "../../core/usage.ts";
import { type CountTokens, messageTokens, toolTokens } from "./token-estimate.ts";

/** One model call of a run, as far as its cost needs it. */
export interface CountedCall {
  messages: readonly Message[];
  /** Tool definitions it was given; they come before the messages. */
  tools: readonly object[];
  text: string;
  toolCalls: readonly TeamToolCall[];
  promptTokens: number;
  completionTokens: number;
  cachedTokens?: number;
  reasoningTokens?: number;
  costUsd?: number;
  startedAt?: number;
  endedAt?: number;
}

/** The usage of a run: its calls in the order they started, and its tools. `countTokens` weighs the parts of a prompt. */
export function runUsage(calls: readonly CountedCall[], countTokens?: CountTokens): Usage {
  const usage = emptyUsage();
  const known: PrefixNode = new Map();
  let [first, last] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const call of calls.toSorted((a, b) => (a.startedAt ?? 0) - (b.startedAt ?? 0))) {
    addCall(usage, call, { seenTokens: seenTokens(known, call, countTokens), costUsd: call.costUsd ?? 0 });
    first = Math.min(first, call.startedAt ?? first);
    last = Math.max(last, call.endedAt ?? last);
    for (const tool of call.toolCalls) {
      // A delegation is a call inside the team, not of a tool; a call that was neither started nor answered was not
      // made.
      if (tool.delegatesTo !== undefined || (tool.startedAt ?? tool.result ?? tool.error) === undefined) continue;
      usage.toolCalls++;
      if (tool.startedAt !== undefined && tool.endedAt !== undefined) usage.toolMs += tool.endedAt - tool.startedAt;
    }
  }
  usage.wallMs = Math.max(0, last - first);
  if (!Number.isFinite(usage.wallMs)) usage.wallMs = 0;
  return usage;
}

/** How many prompt tokens of each call an earlier call of the run had already processed, by the definition above. */
export function rereadTokens(calls: readonly CountedCall[]): number[] {
  const known: PrefixNode = new Map();
  const started = [...calls.keys()].sort((a, b) => (calls[a]!.startedAt ?? 0) - (calls[b]!.startedAt ?? 0));
  const seen = calls.map(() => 0);
  for (const index of started) seen[index] = seenTokens(known, calls[index]!);
  return seen;
}

/** Everything that prompts of the run began with so far, as a tree of its pieces. */
interface PrefixNode extends Map<string, PrefixNode> {}

/** How many tokens of a prompt are in the longest beginning it shares with an earlier call; it is known from now on. */
function seenTokens(known: PrefixNode, call: CountedCall, countTokens?: CountTokens): number {
  const pieces: [key: string, weight: number][] = [[toolsKey(call.tools), toolTokens(call.tools, countTokens)]];
  for (const message of call.messages) pieces.push([pieceKey(message), messageTokens(message, countTokens)]);
  let node = known;
  let total = 0;
  let fresh = 0;
  for (const [key, weight] of pieces) {
    total += weight;
    let next = node.get(key);
    // A new node has no children, so after the first new piece every piece is new.
    if (!next) {
      fresh += weight;
      node.set(key, (next = new Map()));
    }
    node = next;
  }
  const reply = pieceKey({ role: "assistant", content: call.text, toolCalls: [...call.toolCalls] });
  if (!node.has(reply)) node.set(reply, new Map());
  // The server's own count is exact, the estimate only says which share of it is new.
  return total === 0 ? call.promptTokens : call.promptTokens - Math.round((call.promptTokens * fresh) / total);
}

const keys = new WeakMap<object, string>();

/** What a chat template writes of a message. Names, ids and hidden reasoning differ between recorders and are left out. */
function pieceKey(message: Message): string {
  let key = keys.get(message);
  if (key === undefined) {
    const calls = (message.toolCalls ?? []).map((call) => [call.name, call.arguments]);
    keys.set(message, (key = JSON.stringify([message.role, message.content, calls])));
  }
  return key;
}

function toolsKey(tools: readonly object[]): string {
  let key = keys.get(tools);
  if (key === undefined) keys.set(tools, (key = JSON.stringify(tools)));
  return key;
}
