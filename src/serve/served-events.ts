/**
 * What a running chain looks like to whoever serves it: roles that write, tools that ran, the answer, the end. Every API
 * is a pure projection of this one stream, live or of a finished trajectory, so all of them tell the same run. The answer
 * comes once the chain has ended: until then the runtime may still refuse it.
 */
import type { ChainEvent } from "../core/events.ts";
import type { Profile } from "../core/profile.ts";
import type { Trajectory } from "../core/trajectory.ts";
import { type Usage, usageSince } from "../core/usage.ts";
import { type ClientCall, clientCall } from "./client-tools.ts";

export type ServedEvent =
  | { type: "role-start"; role: string }
  | { type: "role-delta"; text: string }
  | { type: "role-end" }
  | { type: "tool"; callId: string; tool: string; input: unknown; output: string; ok: boolean; ms: number }
  | { type: "answer"; text: string }
  /** The chain waits for the client; `state` is what the client may carry for us. */
  | { type: "client-calls"; calls: ClientCall[]; state?: string }
  /** `usage` is what this request used: of a continued chain only the rest. */
  | { type: "end"; trajectory: Trajectory; usage: Usage };

export interface ServedEventsOptions {
  /** Tools that the client runs; neither their calls nor their results are shown as ours. */
  clientTools?: ReadonlySet<string>;
  /** What the chain had used before this request. */
  before?: Usage;
  /** The state of a suspended chain for its client to carry. */
  state?: (trajectory: Trajectory) => string | undefined;
}

/** Turns the events of a running chain into served events. */
export function servedEvents(
  profile: Pick<Profile, "answer" | "tags">,
  options: ServedEventsOptions = {},
): (event: ChainEvent) => ServedEvent[] {
  const { clientTools = new Set() } = options;
  const hidden = new Set(profile.tags.filter(({ tool }) => tool && clientTools.has(tool)).map(({ name }) => name));
  const inputs = new Map<string, unknown>();
  let open: number | undefined;
  return (event) => {
    switch (event.type) {
      case "segment-start":
        if (event.by !== "model" || event.tag === profile.answer || hidden.has(event.tag)) return [];
        open = event.index;
        return [{ type: "role-start", role: event.tag }];
      case "segment-delta":
        return event.index === open && event.text !== "" ? [{ type: "role-delta", text: event.text }] : [];
      case "segment-end":
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
        return ending(event.trajectory, options);
      default:
        return [];
    }
  };
}

/** The served events of a finished chain. */
export function eventsOfTrajectory(trajectory: Trajectory, profile: Pick<Profile, "answer">): ServedEvent[] {
  const events: ServedEvent[] = [];
  let calls = 0;
  for (const segment of trajectory.segments) {
    if (segment.by === "model" && segment.tag !== profile.answer) {
      events.push({ type: "role-start", role: segment.tag });
      if (segment.text !== "") events.push({ type: "role-delta", text: segment.text });
      events.push({ type: "role-end" });
    } else if (segment.call) {
      const { id = String(calls), tool, input, ok, ms } = segment.call;
      events.push({ type: "tool", callId: id, tool, input, output: segment.text, ok, ms });
      calls++;
    }
  }
  return [...events, ...ending(trajectory)];
}

function ending(trajectory: Trajectory, { before, state }: ServedEventsOptions = {}): ServedEvent[] {
  const { id, answer, pending = [] } = trajectory;
  const end = { type: "end" as const, trajectory, usage: usageSince(trajectory.usage, before) };
  if (pending.length > 0) {
    const carried = state?.(trajectory);
    const calls = pending.map((call) => clientCall(id, call));
    return [{ type: "client-calls", calls, ...(carried !== undefined && { state: carried }) }, end];
  }
  return [...(answer ? [{ type: "answer" as const, text: answer }] : []), end];
}
