/**
 * A chain that continues from a trajectory: one that was suspended because a call is the caller's to make, or one that was
 * cut and edited. Prompt, segments and compactions are put back as they were, token by token, so that nothing is
 * tokenised again; usage and time count on.
 */
import type { Tokenizer } from "../core/tokenizer.ts";
import type { Segment, Trajectory } from "../core/trajectory.ts";
import { advance, startState, tagSpec } from "../language/profile.ts";
import type { ChainContext } from "./chain-context.ts";
import type { ChainRun } from "./chain-run.ts";
import { type Moves, readMoves } from "./moves.ts";

/** Rules whose violations are noted while a turn is read; the validator finds all others again. */
const notedWhileReading = new Set(["author", "stray-close", "unclosed"]);

/** Puts what a trajectory holds into a chain of which nothing is decoded. */
export function restoreChain(run: ChainRun, from: Trajectory): void {
  restoreContext(run.context, from, run.model.tokenizer);
  Object.assign(run.usage, from.usage);
  run.violations.push(...from.violations.filter(({ rule }) => notedWhileReading.has(rule)));
  run.compactions.push(...(from.compactions ?? []));
  run.state = from.segments.reduce((state, segment) => advance(run.profile, state, segment), startState());
}

function restoreContext(context: ChainContext, from: Trajectory, tokenizer: Tokenizer | undefined): void {
  let next = 0;
  const appendUpTo = (end: number) => {
    for (; next < end; next++) context.append(withTokens(from.segments[next]!, tokenizer));
  };
  for (const { fromSegment, replaced } of from.compactions ?? []) {
    appendUpTo(Math.min(fromSegment, from.segments.length));
    const shown = replaced.map(({ segment, ...short }): [number, Segment] => {
      const { tag, by } = from.segments[segment]!;
      return [segment, withTokens({ tag, by, ...short }, tokenizer)];
    });
    context.replace(new Map(shown));
  }
  appendUpTo(from.segments.length);
  // All of it was processed when it was first decoded.
  context.counted(context.size(), 0);
}

/** An edited segment has no tokens yet; its tags are special ids, its text is plain. */
function withTokens(segment: Segment, tokenizer: Tokenizer | undefined): Segment {
  if (!tokenizer || segment.tokens) return segment;
  const { tag, text, raw = `<${tag}>${text}</${tag}>` } = segment;
  const opened = raw.indexOf(`<${tag}>`) + tag.length + 2;
  const inside = raw.startsWith(text, opened) ? opened : raw.indexOf(text);
  const tokens = [
    ...tokenizer.encodeWithSpecials(raw.slice(0, inside)),
    ...tokenizer.encode(raw.slice(inside, inside + text.length)),
    ...tokenizer.encodeWithSpecials(raw.slice(inside + text.length)),
  ];
  return { ...segment, tokens };
}

/** The calls at the end of the chain that have no observation yet; undefined where there are none. */
export function openCalls(run: ChainRun): Moves | undefined {
  const { segments } = run.context;
  let first = segments.length;
  const isCall = ({ by, tag }: Segment) => by === "model" && tagSpec(run.reading, tag)?.tool !== undefined;
  while (first > 0 && isCall(segments[first - 1]!)) first--;
  if (first === segments.length) return undefined;
  const before = segments
    .slice(0, first)
    .reduce((state, segment) => advance(run.profile, state, segment), startState());
  const turn = { segments: segments.slice(first), unclosed: new Set<Segment>(), ended: true };
  // A call whose result is there was accepted when it was made.
  const strict = run.enforcement !== "report" && Object.keys(run.results).length === 0;
  return readMoves(run, before, turn, { strict, last: false, firstIndex: first });
}
