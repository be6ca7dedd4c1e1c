/**
 * A request that brings the results of a client's tools continues the chain that asked for them, token by token: the stored
 * one, or the one in the state that the client sent back. Where the client told the model something else meanwhile (another
 * agent's instructions or tools) its segments stay and its prompt is made again; where the conversation is another, or the
 * chain is not known here, it is put together from the conversation.
 */
import { Refusal } from "../base/http/refusal.ts";
import type { ClientResult } from "../chain/chain-options.ts";
import { fingerprint } from "../core/fingerprint.ts";
import type { Message } from "../core/message.ts";
import type { Trajectory } from "../core/trajectory.ts";
import { emptyUsage } from "../core/usage.ts";
import { errorText, observation } from "../language/observation.ts";
import { callOf, clientCall } from "./client-tools.ts";
import { isHosted, type Telling, toldSegments } from "./earlier-turns.ts";
import { isSealed } from "./sealed-state.ts";
import { readSuspended, type SuspendedChain, type SuspendedChains } from "./store/suspended-chains.ts";

/** The end of a conversation in which a client answers calls. */
export interface ToolResults {
  /** The whole conversation, and where in it the calls begin. */
  whole: readonly Message[];
  from: number;
  /** By the ids that the client was given. */
  results: ReadonlyMap<string, ClientResult & { output: string }>;
}

/** The results with which a conversation ends; undefined where it ends with a question. `failed` are ids of failed calls. */
export function toolResults(whole: readonly Message[], failed: ReadonlySet<string>): ToolResults | undefined {
  const after = whole.findLastIndex((message) => message.role === "assistant") + 1;
  const answers = whole.slice(after).filter((message) => message.role === "tool" && !isHosted(message));
  if (answers.length === 0) return undefined;
  let from = after;
  while (from > 0 && (whole[from - 1]!.role === "assistant" || isHosted(whole[from - 1]!))) from--;
  const results = answers.map(({ toolCallId = "", content }) => [
    toolCallId,
    { output: content, ...(failed.has(toolCallId) && { failed: true }) },
  ]);
  return { whole, from, results: new Map(results as []) };
}

/** A conversation by value: what the model was told before the question, and what was said from it on. */
export interface Conversation {
  told: string;
  said: string;
}

/** What was said, by value. Thoughts don't count: many clients leave them out. */
export function saidValue(messages: readonly Message[]): string {
  const said = messages.filter((message) => message.role !== "system" && !isHosted(message));
  const values = said.map(({ role, content, toolCalls = [], toolCallId }) => {
    const calls = toolCalls.filter(({ id }) => !id.startsWith("mcp"));
    return content.trim() || calls.length > 0 ? [role, content.trim(), toolCallId, calls] : [];
  });
  return fingerprint(JSON.stringify(values.filter((one) => one.length > 0)));
}

export interface Continuation {
  chain: SuspendedChain;
  /** By the ids of the chain's own calls. */
  results: Record<string, ClientResult>;
}

export interface ContinuedChainOptions extends Telling {
  chains: SuspendedChains;
  /** What this request would be as a new chain. */
  asked: Omit<SuspendedChain, "trajectory">;
  /** State that came with the request; what is not ours is left alone. */
  sealed: readonly string[];
  model: string;
}

/** Finds the chain that the results belong to. */
export async function continuedChain(given: ToolResults, options: ContinuedChainOptions): Promise<Continuation> {
  const { asked, profile } = options;
  const ids = [...given.results.keys()];
  const known = ids.map(callOf);
  const ofOurs = known.every((call) => call !== undefined && call.chain === known[0]!.chain);
  const found = ofOurs ? await findChain(known[0]!.chain, options) : undefined;
  if (!found || found.conversation?.said !== asked.conversation?.said)
    return { chain: { ...asked, trajectory: rebuilt(given, options) }, results: {} };
  const { id, pending = [] } = found.trajectory;
  const answered = pending.map((call) => {
    const wanted = clientCall(id, call).id;
    const key = ids.find((one) => one.endsWith(wanted));
    const result = key === undefined ? undefined : given.results.get(key);
    if (result) return { call, result };
    throw new Refusal(400, `no tool output was given for the call call_${wanted} of ${call.tool}`, {
      code: "missing_tool_output",
    });
  });
  if (found.conversation?.told === asked.conversation?.told)
    return { chain: found, results: Object.fromEntries(answered.map(({ call, result }) => [call.id, result])) };
  const seen = answered.map(({ call: { tool, input }, result: { output, failed = false } }) => ({
    ...observation(profile, failed ? errorText(tool, output) : output, "tool").segment,
    call: { tool, input, ok: !failed, ms: 0, answeredBy: "client" as const },
  }));
  const { promptTokens: _promptTokens, pending: _pending, ...trajectory } = found.trajectory;
  const segments = [...trajectory.segments, ...seen];
  return { chain: { ...asked, trajectory: { ...trajectory, prompt: [], segments } }, results: {} };
}

async function findChain(
  id: string,
  { chains, asked: { owner }, sealed }: ContinuedChainOptions,
): Promise<SuspendedChain | undefined> {
  const stored = await chains.find(id, owner);
  if (stored) return stored;
  for (const text of sealed.filter(isSealed)) {
    const value = chains.seal.open(text, owner) as Partial<SuspendedChain>;
    if (value.trajectory?.id === id) return readSuspended({ ...value, owner });
  }
  return undefined;
}

/** A chain with what a conversation tells of it: thoughts, calls and results since the last question. */
function rebuilt({ whole, results }: ToolResults, { asked, model, ...telling }: ContinuedChainOptions): Trajectory {
  const question = whole.findLastIndex((message) => message.role === "user");
  const turn = whole.slice(question + 1);
  const called = new Set(turn.flatMap(({ toolCalls = [] }) => toolCalls.map(({ id }) => id)));
  if ([...results.keys()].some((id) => !called.has(id))) throw unknownCall();
  const { name: profile } = telling.profile;
  const common = { version: 1 as const, id: asked.session, taskId: asked.session, profile, model, violations: [] };
  const ending = { reason: "suspended" as const };
  return { ...common, prompt: [], segments: toldSegments(turn, telling), answer: null, ending, usage: emptyUsage() };
}

/** The refusal of a result that belongs to nothing. */
export function unknownCall(): Refusal {
  return new Refusal(400, "tool result without a matching tool call: send the question and the call before it", {
    code: "unknown_tool_call",
  });
}
