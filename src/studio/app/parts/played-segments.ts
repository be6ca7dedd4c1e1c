/** A chain that is being played, from the events of its server. */
import type { Segment, Trajectory } from "../../../core/trajectory.ts";

/** A segment as far as it was written. */
export type PlayedSegment = Pick<Segment, "tag" | "text" | "by" | "call">;

/** What the server tells of a running chain. */
export type PlayEvent =
  | { type: "role-start"; role: string }
  | { type: "role-delta" | "answer-delta" | "answer"; text: string }
  | { type: "role-end" }
  | { type: "tool"; tool: string; input: unknown; output: string; ok: boolean; ms: number }
  | { type: "end"; trajectory: Trajectory }
  | { type?: undefined; error: { message: string } };

/** Adds what an event says to the segments. */
export function takeEvent(
  segments: PlayedSegment[],
  event: Exclude<PlayEvent, { type: "end" } | { type?: undefined }>,
): void {
  const last = segments.at(-1);
  const addTo = (tag: string, text: string) => {
    if (last?.tag === tag && last.by === "model") segments[segments.length - 1] = { ...last, text: last.text + text };
    else segments.push({ tag, text, by: "model" });
  };
  if (event.type === "role-start") segments.push({ tag: event.role, text: "", by: "model" });
  else if (event.type === "role-delta" && last) addTo(last.tag, event.text);
  else if (event.type === "answer-delta") addTo("answer", event.text);
  else if (event.type === "answer" && last?.tag !== "answer") addTo("answer", event.text);
  else if (event.type === "tool") {
    const { tool, input, output, ok, ms } = event;
    segments.push({ tag: "observation", text: output, by: "tool", call: { tool, input, ok, ms } });
  }
}
