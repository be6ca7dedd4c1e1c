/**
 * A running chain as the APIs see it: roles that write, tools that ran, the answer, the end. Every API converts this
 * one stream, live or of a finished trajectory, so all of them show the same run. The answer is sent piece by piece
 * where the rules allow it at that place, so that the runtime won't refuse it; otherwise it comes once the chain has
 * ended.
 */
import type { ChainEvent } from "../core/events.ts";
import type { Profile } from "../core/profile.ts";
import { type Trajectory, withoutHalfTag } from "../core/trajectory.ts";
import { type Usage, usageSince } from "../core/usage.ts";
import { advance, allowedNext, type ChainState } from "../language/profile.ts";
import { type ClientCall, clientCall } from "./client-tools.ts";

export type ServedEvent =
  /** `tool`: what it writes is the call of a tool. */
  | { type: "role-start"; role: string; tool?: boolean }
  | { type: "role-delta"; text: string }
  | { type: "role-end" }
  | { type: "tool"; callId: string; tool: string; input: unknown; output: string; ok: boolean; ms: number }
  /** A piece of the answer, before the whole of it. */
  | { type: "answer-delta"; text: string }
  | { type: "answer"; text: string }
  /** The chain waits for the client; `state` is what the client may keep and send back. */
  | { type: "client-calls"; calls: ClientCall[]; state?: string }
  /** `usage` is what this request used: of a continued chain only the rest. `stop` is the text at which the answer was cut. */
  | { type: "end"; trajectory: Trajectory; usage: Usage; stop?: string };

/** The last event of a chain. */
export type ServedEnd = Extract<ServedEvent, { type: "end" }>;

export interface ServedEventsOptions {
  /** Tools that the client runs; neither their calls nor their results are shown as ours. */
  clientTools?: ReadonlySet<string>;
  /** The state of the chain in its profile; with it the answer is sent while it is written. */
  from?: ChainState;
  /** What the chain had used before this request. */
  before?: Usage;
  /** The state of a suspended chain, for its client to keep. */
  state?: (trajectory: Trajectory) => string | undefined;
}

/** Turns the events of a running chain into served events. */
export function servedEvents(
  profile: Profile,
  options: ServedEventsOptions = {},
): (event: ChainEvent) => ServedEvent[] {
  const { clientTools = new Set() } = options;
  const hidden = new Set(profile.tags.filter(({ tool }) => tool && clientTools.has(tool)).map(({ name }) => name));
  const calls = new Set(profile.tags.filter(({ tool }) => tool !== undefined).map(({ name }) => name));
  const inputs = new Map<string, unknown>();
  let open: number | undefined;
  let state = options.from;
  let answer: { index: number; held: string; begun: boolean } | undefined;
  return (event) => {
    switch (event.type) {
      case "segment-start":
        if (state && event.by === "model" && event.tag === profile.answer && mayAnswer(profile, state))
          answer = { index: event.index, held: "", begun: false };
        if (event.by !== "model" || event.tag === profile.answer || hidden.has(event.tag)) return [];
        open = event.index;
        return [{ type: "role-start", role: event.tag, ...(calls.has(event.tag) && { tool: true }) }];
      case "segment-delta":
        if (event.index === answer?.index) {
          const text = answer.begun ? answer.held + event.text : event.text.trimStart();
          const shown = withoutHalfTag({ tag: profile.answer, text }).trimEnd();
          // White space and half a closing tag at the end are not part of an answer; whether this is the end is not known yet.
          answer = { index: event.index, held: text.slice(shown.length), begun: answer.begun || shown !== "" };
          return shown === "" ? [] : [{ type: "answer-delta", text: shown }];
        }
        return event.index === open && event.text !== "" ? [{ type: "role-delta", text: event.text }] : [];
      case "segment-end":
        if (state) state = advance(profile, state, event.segment);
        if (event.index !== open) return [];
        open = undefined;
        return [{ type: "role-end" }];
      case "tool-call":
        inputs.set(event.callId, event.input);
        return [];
      case "tool-result": {
        const { callId, tool, output, ok, ms } = event;
        if (clientTools.has(tool)) return [];
        return [{ type: "tool", callId, tool, input: inputs.get(callId), output, ok, ms }];
      }
      case "chain-end":
        return endingEvents(event.trajectory, options);
      default:
        return [];
    }
  };
}

/** Whether an answer that begins here is in order, as the runtime will judge when it is there. */
function mayAnswer(profile: Profile, state: ChainState): boolean {
  return [state, { ...state, thought: !state.thought }].some((one) =>
    allowedNext(profile, one).includes(profile.answer),
  );
}

/** The events with which a chain ends: its answer, or the calls that it waits for. */
export function endingEvents(trajectory: Trajectory, { before, state }: ServedEventsOptions = {}): ServedEvent[] {
  const { id, answer, pending = [] } = trajectory;
  const end = { type: "end" as const, trajectory, usage: usageSince(trajectory.usage, before) };
  if (pending.length > 0) {
    const carried = state?.(trajectory);
    const calls = pending.map((call) => clientCall(id, call));
    return [{ type: "client-calls", calls, ...(carried !== undefined && { state: carried }) }, end];
  }
  return [...(answer ? [{ type: "answer" as const, text: answer }] : []), end];
}

/** The part of an answer that was not sent yet; one that turned out different is sent whole, on a line of its own. */
export function untold(answer: string, told: string): string {
  if (answer.startsWith(told)) return answer.slice(told.length);
  return `\n${answer}`;
}
