/** Reading a trajectory: its text, and what the model saw while it wrote each part. */
import type { Ending } from "./ending-schema.ts";
import type { Compaction, Distilled, PendingCall, Segment, Trajectory, Violation } from "./trajectory-schema.ts";

export type { Compaction, Distilled, Ending, PendingCall, Segment, Trajectory, Violation };

/** The tag of text that is outside any tag (a violation, but it was written, so it is kept). */
export const looseText = "text";

/** The segments as the model saw them while it wrote segments `from` (inclusive) to `to` (exclusive). */
export interface ContextVersion {
  from: number;
  to: number;
  segments: Segment[];
}

/**
 * A chain cut into the stretches that were written in one and the same context: one without compaction, and one more for
 * each compaction. Training on segments `from` to `to` after exactly these segments gives the probabilities of sampling.
 */
export function contextVersions(trajectory: Pick<Trajectory, "segments" | "compactions">): ContextVersion[] {
  const { segments, compactions = [] } = trajectory;
  const shown = [...segments];
  const versions: ContextVersion[] = [];
  let from = 0;
  for (const { fromSegment, replaced } of compactions) {
    if (fromSegment > from) versions.push({ from, to: fromSegment, segments: shown.slice(0, fromSegment) });
    from = fromSegment;
    for (const { segment, ...short } of replaced) {
      const { raw: _raw, tokens: _tokens, ...original } = shown[segment]!;
      shown[segment] = { ...original, ...short };
    }
  }
  if (from < segments.length || versions.length === 0) versions.push({ from, to: segments.length, segments: shown });
  return versions;
}

/** A segment exactly as it is in the decoded sequence. */
export function writtenForm(segment: Segment): string {
  if (segment.raw !== undefined) return segment.raw;
  return segment.tag === looseText ? segment.text : `<${segment.tag}>${segment.text}</${segment.tag}>`;
}

export function isClosed({ tag, raw }: Segment): boolean {
  return raw === undefined || raw.trimEnd().endsWith(`</${tag}>`);
}

/** What a segment says: its text, without half a closing tag at which the model was cut off. */
export function saidText(segment: Segment): string {
  return (isClosed(segment) ? segment.text : withoutHalfTag(segment)).trim();
}

/** The text of a segment that is not closed, without what may be the beginning of its closing tag. */
export function withoutHalfTag({ tag, text }: Pick<Segment, "tag" | "text">): string {
  const half = text.lastIndexOf("<");
  return half !== -1 && `</${tag}>`.startsWith(text.slice(half)) ? text.slice(0, half) : text;
}

/** The whole decoded sequence after the prompt. */
export function trajectoryText(segments: readonly Segment[]): string {
  return segments.map(writtenForm).join("");
}
