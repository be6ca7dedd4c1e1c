/**
 * Other words in a chain, by hand: only what the model wrote can be edited, and an edit is accepted only where the
 * chain follows its profile afterwards, by the same validator that the runtime and the distiller use. An edited segment
 * loses the ids and probabilities it was sampled with, because they belong to the old text.
 */
import type { SegmentEdit } from "../core/annotation.ts";
import type { Profile } from "../core/profile.ts";
import type { Segment, Trajectory, Violation } from "../core/trajectory.ts";
import { builtInProfiles } from "./profiles.ts";
import { validateSegments } from "./validate.ts";

/** The edited chain, or everything that forbids the edit, each with its segment. */
export type EditedChain = { chain: Trajectory; problems?: undefined } | { chain?: undefined; problems: Violation[] };

/** Profiles by name, for chains that do not carry theirs by value. */
export type NamedProfiles = Readonly<Record<string, Profile>>;

export function editChain(
  chain: Trajectory,
  edits: readonly SegmentEdit[],
  profiles: NamedProfiles = builtInProfiles,
): EditedChain {
  const profile =
    chain.language?.profile ?? (Object.hasOwn(profiles, chain.profile) ? profiles[chain.profile] : undefined);
  const problem = (segment: number, rule: string, message: string) => ({ rule, segment, message });
  const refused = edits.flatMap(({ segment: place }) => {
    const segment = chain.segments[place];
    if (!segment) return [problem(place, "no-segment", `the chain has no segment ${place}`)];
    if (segment.by !== "model") return [problem(place, "author", `the ${segment.by} wrote this, not the model`)];
    if (!profile) return [problem(place, "profile", `nothing says what the profile ${chain.profile} allows`)];
    return [];
  });
  if (refused.length > 0 || !profile) return { problems: refused };
  const texts = new Map(edits.map(({ segment, text }) => [segment, text]));
  const segments = chain.segments.map((segment, place) =>
    texts.has(place) ? withText(segment, texts.get(place)!) : segment,
  );
  const partial = chain.ending.reason !== "answered";
  const nameOf = ({ rule, segment }: Violation) => `${rule} ${segment}`;
  const before = new Set(validateSegments(profile, chain.segments, { partial }).map(nameOf));
  const violations = validateSegments(profile, segments, { partial });
  // What was wrong elsewhere before stays as it is; nothing may be wrong in what was edited, or because of it.
  const problems = violations.filter((found) => texts.has(found.segment) || !before.has(nameOf(found)));
  if (problems.length > 0) return { problems };
  const answer = segments.findLast(({ tag, by }) => by === "model" && tag === profile.answer);
  const answered = chain.answer === null || !answer ? chain.answer : answer.text.trim();
  return { chain: { ...chain, segments, answer: answered, violations } };
}

/** A segment with another body; white space around its tags stays. */
function withText(segment: Segment, text: string): Segment {
  const { tag, raw, tokens: _ids, logprobs: _logprobs, entropies: _entropies, filled: _filled, ...rest } = segment;
  const [open, close] = [`<${tag}>`, `</${tag}>`];
  const [start, end] = [raw?.indexOf(open) ?? -1, raw?.lastIndexOf(close) ?? -1];
  const around = raw !== undefined && start >= 0 && end > start;
  return { ...rest, tag, text, ...(around && { raw: raw.slice(0, start + open.length) + text + raw.slice(end) }) };
}
