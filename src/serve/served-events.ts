/**
 * What a running chain looks like to whoever serves it: roles that write, tools that ran, the answer, the end. Every API
 * is a pure projection of this one stream, live or of a finished trajectory, so all of them tell the same run. The answer
 * comes once the chain has ended: until then the runtime may still refuse it.
 */
import type { ChainEvent } from "../core/events.ts";
import type { Profile } from "../core/profile.ts";
import type { Trajectory } from "../core/trajectory.ts";

export type ServedEvent =
  | { type: "role-start"; role: string }
  | { type: "role-delta"; text: string }
  | { type: "role-end" }
  | { type: "tool"; callId: string; tool: string; input: unknown; output: string; ok: boolean; ms: number }
  | { type: "answer"; text: string }
  | { type: "end"; trajectory: Trajectory };

/** Turns the events of a running chain into served events. */
export function servedEvents(profile: Pick<Profile, "answer">): (event: ChainEvent) => ServedEvent[] {
  const inputs = new Map<string, unknown>();
  let open: number | undefined;
  return (event) => {
    switch (event.type) {
      case "segment-start":
        if (event.by !== "model" || event.tag === profile.answer) return [];
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
        return [{ type: "tool", callId, tool, input: inputs.get(callId), output, ok, ms }];
      }
      case "chain-end":
        return ending(event.trajectory);
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

function ending(trajectory: Trajectory): ServedEvent[] {
  const answer = trajectory.answer ? [{ type: "answer" as const, text: trajectory.answer }] : [];
  return [...answer, { type: "end", trajectory }];
}
