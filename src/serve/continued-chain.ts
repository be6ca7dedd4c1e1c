/**
 * A request that brings the results of a client's tools continues the chain that asked for them, token by token: the stored
 * one, or the one in the state that the client sent back. Where the client told the model something else meanwhile (another
 * agent's instructions or tools) its segments stay and its prompt is made again; where the conversation is another, or the
 * chain is not known here, it is put together from the conversation.
 */
import { Refusal } from "../base/http/refusal.ts";
import type { ClientResult } from "../chain/chain-options.ts";
import { most } from "../core/budget.ts";
import { fingerprint } from "../core/fingerprint.ts";
import type { Message } from "../core/message.ts";
import type { Profile } from "../core/profile.ts";
import { type Segment, type Trajectory, trajectoryText } from "../core/trajectory.ts";
import { emptyUsage } from "../core/usage.ts";
import { callArguments, writeCallBody } from "../language/call-body.ts";
import { errorText, neutralFor, observation } from "../language/observation.ts";
import { toolTags } from "../language/profile.ts";
import { withTools } from "../language/with-tools.ts";
import { callOf, clientCall } from "./client-tools.ts";
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

/** A call that the server of a conversation ran itself. */
const isHosted = ({ role, toolCallId = "" }: Message) => role === "tool" && toolCallId.startsWith("mcp");

/** A conversation in which words that the user adds to results of tools are read with the last of them. */
export function withWords(messages: readonly Message[]): Message[] {
  const told: Message[] = [];
  for (const message of messages) {
    const last = told.at(-1);
    if (message.role === "user" && last?.role === "tool" && !isHosted(last))
      told[told.length - 1] = { ...last, content: [last.content, message.content].filter(Boolean).join("\n\n") };
    else told.push(message);
  }
  return told;
}

/** The profile with a tag for every tool that was called, also for those that are not offered any more. */
export function withCalled(profile: Profile, messages: readonly Message[]): Profile {
  const known = toolTags(profile).map(({ tool }) => tool!);
  const names = new Set(messages.flatMap(({ toolCalls = [] }) => toolCalls.map(({ name }) => name)));
  if (names.size > most.tools)
    throw new Refusal(400, `${names.size} tools are called in this conversation: at most ${most.tools} are taken`, {
      code: "too_many_tools",
    });
  if (names.size === 0 || [...names].every((name) => known.includes(name))) return profile;
  const tool = (name: string) => ({ name, description: "", inputSchema: { type: "object" } });
  return withTools(profile, [...new Set([...known, ...names])].map(tool));
}

/** How messages become segments of a chain. */
interface Telling {
  /** With a tag for every tool that was called. */
  profile: Profile;
  failed: ReadonlySet<string>;
  /** What the model reads as special tokens. */
  specialStrings: readonly string[];
}

/** What an assistant thought, called and got back, as segments; words beside a call are a thought. */
function toldSegments(turn: readonly Message[], { profile, failed, specialStrings }: Telling): Segment[] {
  const clean = neutralFor(profile, { specialStrings });
  const answers = new Map(turn.flatMap((message) => (message.role === "tool" ? [[message.toolCallId, message]] : [])));
  return turn.flatMap(({ content, reasoning, toolCalls = [] }) => {
    if (toolCalls.length === 0) return [];
    const thought = [reasoning, content].filter((text) => text?.trim()).join("\n\n");
    const calls = toolCalls.flatMap(({ name, arguments: text }): Segment[] => {
      const tag = profile.tags.find(({ tool }) => tool === name);
      return tag ? [{ tag: tag.name, text: clean(writeCallBody(tag, text)), by: "model" }] : [];
    });
    const results = toolCalls.flatMap(({ id, name, arguments: text }): Segment[] => {
      const answer = answers.get(id);
      if (!answer) return [];
      const ok = !failed.has(id);
      const call = { tool: name, input: callArguments(text), ok, ms: 0, answeredBy: "client" as const };
      const shown = ok ? answer.content : errorText(name, answer.content);
      return [{ ...observation(profile, shown, "tool", { specialStrings }).segment, call }];
    });
    const think: Segment[] = thought ? [{ tag: profile.think, text: clean(thought.trim()), by: "model" }] : [];
    return [...think, ...calls, ...results];
  });
}

/** Names turns by everything that user and assistant said up to their end; each call adds what was said next. */
export function turnNames(owner: string): (messages: readonly Message[]) => string {
  let name = owner;
  return (messages) => {
    for (const { role, content } of messages)
      if ((role === "user" || role === "assistant") && content.trim())
        name = fingerprint(JSON.stringify([name, role, content.trim()]));
    return `turn_${name}`;
  };
}

/** Turns that are looked up, from the end; of those before, what the client sends is told. */
const mostRecalled = 256;

/** Users' words and whole turns of the assistant; `recall` finds the chain of a turn that was made here, by its name. */
export async function toldHistory(
  messages: readonly Message[],
  telling: Telling,
  owner: string,
  recall: (name: string) => Promise<SuspendedChain | undefined>,
): Promise<Message[]> {
  const { answer, observation: seen, tags } = telling.profile;
  const clean = neutralFor(telling.profile, telling);
  const calls = new Set(tags.flatMap(({ name, tool }) => (tool === undefined ? [] : [name])));
  const history: Message[] = [];
  const nameOf = turnNames(owner);
  const show = async (turn: readonly Message[], name: string, recent: boolean): Promise<Message> => {
    const made = (recent ? await recall(name) : undefined)?.trajectory.segments.filter(
      ({ tag }) => calls.has(tag) || tag === seen,
    );
    const plain = turn.map(({ reasoning: _, ...message }) => message);
    const segments = made?.length ? made : toldSegments(plain, telling);
    const said = turn.flatMap(({ role, content, toolCalls }) => (role === "assistant" && !toolCalls && content) || []);
    const text = said.join("\n\n");
    if (segments.length === 0) return { role: "assistant", content: text };
    const end = text === "" ? "" : `<${answer}>${clean(text)}</${answer}>`;
    return { role: "assistant", content: trajectoryText(segments) + end };
  };
  for (let from = 0; from < messages.length; ) {
    let to = from + 1;
    const { role, content } = messages[from]!;
    if (role !== "user" && role !== "system")
      while (to < messages.length && /^(?:assistant|tool)$/.test(messages[to]!.role)) to++;
    const turn = messages.slice(from, to);
    const name = nameOf(turn);
    if (role === "user") history.push({ role, content });
    else if (role !== "system") history.push(await show(turn, name, messages.length - to < 2 * mostRecalled));
    from = to;
  }
  return history.filter(({ role, content }) => role === "user" || content !== "");
}
