/**
 * Texts at which an answer ends (`stop`, `stop_sequences`). They apply to the answer alone: what roles and tools say is not the
 * reply. The chain itself is kept whole.
 */
import type { ServedEvent } from "./served-events.ts";

/** Cuts the answer before the first of the stops. What might be the beginning of one is held back until that is known. */
export function cutAtStops(stops: readonly string[]): (event: ServedEvent) => ServedEvent[] {
  let told = 0;
  let text = "";
  return (event) => {
    switch (event.type) {
      case "answer-delta": {
        text += event.text;
        const safe = firstStop(text, stops)?.at ?? text.length - openEnd(text, stops);
        const piece = text.slice(told, safe);
        told = Math.max(told, safe);
        return piece === "" ? [] : [{ type: "answer-delta", text: piece }];
      }
      case "answer":
        return [{ type: "answer", text: event.text.slice(0, firstStop(event.text, stops)?.at) }];
      case "end": {
        const { answer } = event.trajectory;
        const found = firstStop(answer ?? "", stops);
        if (answer === null || !found) return [event];
        return [{ ...event, stop: found.stop, trajectory: { ...event.trajectory, answer: answer.slice(0, found.at) } }];
      }
      default:
        return [event];
    }
  };
}

function firstStop(text: string, stops: readonly string[]): { at: number; stop: string } | undefined {
  const found = stops.map((stop) => ({ stop, at: text.indexOf(stop) })).filter(({ at }) => at !== -1);
  return found.sort((a, b) => a.at - b.at)[0];
}

/** How many characters at the end of a text may be the beginning of a stop. */
function openEnd(text: string, stops: readonly string[]): number {
  let longest = 0;
  for (const stop of stops)
    for (let size = Math.min(stop.length - 1, text.length); size > longest; size--)
      if (text.endsWith(stop.slice(0, size))) longest = size;
  return longest;
}
