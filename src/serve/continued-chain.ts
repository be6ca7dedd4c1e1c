/**
 * A request that brings the results of a client's tools continues the chain that asked for them: the stored one, the
 * one in the state that the client sent back, or, where neither is there, one put together again from the conversation
 * (also one that another server began). The first two hold every token as it was sampled, so that nothing is tokenised
 * again.
 */
import { Refusal } from "../base/http/refusal.ts";
import type { ClientResult } from "../chain/chain-options.ts";
import type { Message } from "../core/message.ts";
import type { Profile, ToolDescription } from "../core/profile.ts";
import type { Segment, Trajectory } from "../core/trajectory.ts";
import { emptyUsage } from "../core/usage.ts";
import { callArguments, writeCallBody } from "../language/call-body.ts";
import { neutralFor, observation } from "../language/observation.ts";
import { callOf, clientCall } from "./client-tools.ts";
import { isSealed } from "./sealed-state.ts";
import { readSuspended, type SuspendedChain, type SuspendedChains } from "./store/suspended-chains.ts";

/** The end of a conversation in which a client answers calls. */
export interface ToolResults {
  /** Everything before the results. */
  before: readonly Message[];
  /** By the ids that the client was given. */
  results: ReadonlyMap<string, ClientResult>;
}

/** The results with which a conversation ends; undefined where it ends with a question. `failed` are ids of failed calls. */
export function toolResults(messages: readonly Message[], failed: ReadonlySet<string>): ToolResults | undefined {
  const after = messages.findLastIndex((message) => message.role === "assistant") + 1;
  const rest = messages.slice(after);
  const answers = rest.filter(({ role, toolCallId = "" }) => role === "tool" && !toolCallId.startsWith("mcp"));
  if (answers.length === 0) return undefined;
  // What the user adds to the results is read with the last of them.
  const added = rest.filter((message) => message.role === "user").map((message) => message.content);
  const results = answers.map(({ toolCallId = "", content }, index): [string, ClientResult] => {
    const output = index === answers.length - 1 ? [content, ...added].join("\n\n") : content;
    return [toolCallId, { output, ...(failed.has(toolCallId) && { failed: true }) }];
  });
  return { before: messages.slice(0, after), results: new Map(results) };
}

/** What a chain is continued with. */
export interface Continuation {
  chain: SuspendedChain;
  /** By the ids of the chain's own calls. */
  results: Record<string, ClientResult>;
}

export interface ContinuedChainOptions {
  chains: SuspendedChains;
  owner: string;
  /** State that came with the request; what is not ours is left alone. */
  sealed: readonly string[];
  /** Makes the chain from the conversation. */
  rebuild(): SuspendedChain;
}

/** Finds the chain that the results belong to. */
export async function continuedChain(given: ToolResults, options: ContinuedChainOptions): Promise<Continuation> {
  const ids = [...given.results.keys()];
  const known = ids.map(callOf);
  const ofOurs = known.every((call) => call !== undefined && call.chain === known[0]!.chain);
  const found = ofOurs ? await findChain(known[0]!.chain, options) : undefined;
  const chain = found ?? options.rebuild();
  const { id, pending = [] } = chain.trajectory;
  const results: Record<string, ClientResult> = {};
  for (const [index, call] of pending.entries()) {
    const wanted = clientCall(id, call).id;
    const key = found ? ids.find((one) => one.endsWith(wanted)) : ids[index];
    const result = key === undefined ? undefined : given.results.get(key);
    if (!result) {
      throw new Refusal(400, `no tool output was given for the call call_${wanted} of ${call.tool}`, {
        code: "missing_tool_output",
      });
    }
    results[call.id] = result;
  }
  return { chain, results };
}

async function findChain(
  id: string,
  { chains, owner, sealed }: ContinuedChainOptions,
): Promise<SuspendedChain | undefined> {
  const stored = await chains.find(id, owner);
  if (stored) return stored;
  for (const text of sealed.filter(isSealed)) {
    const value = chains.seal.open(text, owner) as Partial<SuspendedChain>;
    if (value.trajectory?.id === id) return readSuspended({ ...value, owner });
  }
  return undefined;
}

export interface RebuildOptions {
  id: string;
  owner: string;
  /** With the client's tools. */
  profile: Profile;
  clientTools: readonly ToolDescription[];
  model: string;
}

/** A suspended chain with what a conversation tells of it: thoughts, calls and results since the last question. */
export function rebuiltChain({ before, results }: ToolResults, options: RebuildOptions): SuspendedChain {
  const { id, owner, profile, clientTools, model } = options;
  const asked = before.findLastIndex((message) => message.role === "user");
  const turns = before.slice(asked + 1);
  const clean = neutralFor(profile);
  const segments: Segment[] = [];
  const pending: NonNullable<Trajectory["pending"]> = [];
  for (const { reasoning, toolCalls = [] } of turns) {
    const calls = toolCalls.flatMap((call) => {
      const tag = profile.tags.find(({ tool }) => tool === call.name);
      const tool = clientTools.find(({ name }) => name === call.name);
      return tag && tool ? [{ ...call, tag, tool }] : [];
    });
    if (calls.length === 0) continue;
    if (reasoning?.trim()) segments.push({ tag: profile.think, text: clean(reasoning.trim()), by: "model" });
    for (const { tag, tool, name, id: callId, arguments: text } of calls) {
      const input = callArguments(text);
      if (results.has(callId)) {
        pending.push({ id: `call_${segments.length}_0`, tool: name, input, segment: segments.length });
      }
      segments.push({ tag: tag.name, text: clean(writeCallBody(tag, text, tool.inputSchema)), by: "model" });
    }
    for (const { name, id: callId, arguments: text } of calls) {
      const answer = turns.find((message) => message.role === "tool" && message.toolCallId === callId);
      if (!answer) continue;
      const call = { tool: name, input: callArguments(text), ok: true, ms: 0, answeredBy: "client" as const };
      segments.push({ ...observation(profile, answer.content, "tool").segment, call });
    }
  }
  if (pending.length !== results.size) throw unknownCall();
  const common = { version: 1 as const, id, taskId: id, profile: profile.name, model, prompt: [], violations: [] };
  const ending = { reason: "suspended" as const };
  const trajectory = { ...common, segments, answer: null, ending, pending, usage: emptyUsage() };
  return { owner, clientTools, session: id, trajectory };
}

/** The refusal of a result that belongs to nothing. */
export function unknownCall(): Refusal {
  return new Refusal(400, "tool result without a matching tool call: send the question and the call before it", {
    code: "unknown_tool_call",
  });
}
