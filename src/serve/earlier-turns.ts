/**
 * What a chain is told of the turns before its own. Calls and their results are shown in the tags of the chain, also those
 * that this server made itself and no API sends back: they are found again by what was said up to their answer.
 */
import { Refusal } from "../base/http/refusal.ts";
import { most } from "../core/budget.ts";
import { fingerprint } from "../core/fingerprint.ts";
import type { Message } from "../core/message.ts";
import type { Profile } from "../core/profile.ts";
import { type Segment, trajectoryText } from "../core/trajectory.ts";
import { callArguments, writeCallBody } from "../language/call-body.ts";
import { errorText, neutralFor, observation } from "../language/observation.ts";
import { toolTags } from "../language/profile.ts";
import { withTools } from "../language/with-tools.ts";
import type { SuspendedChain } from "./store/suspended-chains.ts";

/** A call that the server of a conversation ran itself. */
export const isHosted = ({ role, toolCallId = "" }: Message) => role === "tool" && toolCallId.startsWith("mcp");

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
export interface Telling {
  /** With a tag for every tool that was called. */
  profile: Profile;
  failed: ReadonlySet<string>;
  /** What the model reads as special tokens. */
  specialStrings: readonly string[];
}

/** What an assistant thought, called and got back, as segments; words beside a call are a thought. */
export function toldSegments(turn: readonly Message[], { profile, failed, specialStrings }: Telling): Segment[] {
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
