/**
 * Texts at which an answer ends (`stop`, `stop_sequences`). They apply to the answer alone: what roles and tools say is not the
 * reply. The chain itself is kept whole.
 */
import type { ServedEvent } from "./served-events.ts";

/** Passes a text on piece by piece, up to the first of the stops. */
export type StopCut = ReturnType<typeof stopCut>;

/** A cut at the first of these texts. */
export function stopCut(stops: readonly string[]) {
  let text = "";
  let passed = 0;
  const upTo = (end: number): string => {
    const piece = text.slice(passed, end);
    passed = Math.max(passed, end);
    return piece;
  };
  return {
    /** What can be passed on now: the beginning of what might be a stop is held back until that is known. */
    add(piece: string): string {
      text += piece;
      return upTo(firstStop(text, stops)?.at ?? text.length - openEnd(text, stops));
    },
    /** What was held back and is no stop. */
    rest: (): string => upTo(firstStop(text, stops)?.at ?? text.length),
  };
}

/** Cuts the answer before the first of the stops. */
export function cutAtStops(stops: readonly string[]): (event: ServedEvent) => ServedEvent[] {
  const cut = stopCut(stops);
  return (event) => {
    switch (event.type) {
      case "answer-delta": {
        const text = cut.add(event.text);
        return text === "" ? [] : [{ type: "answer-delta", text }];
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
