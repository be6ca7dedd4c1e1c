/**
 * What a chain leaves behind that tells how far to trust its answer. All of it is there for free: log-probabilities and
 * entropies as sampled, the check's score, repairs, tools that failed, repeated calls, length. Where a server gives no
 * log-probabilities, those features are absent and the others remain.
 */
import { checkScore } from "../chain/check-score.ts";
import type { Profile } from "../core/profile.ts";
import type { Segment, Trajectory } from "../core/trajectory.ts";
import type { Features } from "./logistic.ts";

/** Doubts add up while a chain is written and never shrink: from them a chain can be given up before it has ended. */
export const doubtNames = [
  "least sure token",
  "least sure call",
  "highest entropy",
  "highest entropy at a decision",
  "unsure tokens",
  "format repairs",
  "failed tools",
  "repeated calls",
] as const;

/** All features, in the order of reports. */
export const featureNames = [
  ...doubtNames,
  "least sure answer token",
  "mean surprise",
  "check",
  "doubt of the check",
  "length",
  "tool calls",
  "forced answer",
] as const;

type Doubts = Record<(typeof doubtNames)[number], number | undefined>;

/** Surprises and entropies span many powers of ten: their logarithm is what differs evenly. */
const magnitude = (value: number) => Math.log(Math.max(value, 1e-6));

/** Adds up doubts, segment by segment. */
export function doubtCounter(profile: Profile): { add(segment: Segment): void; doubts(): Features } {
  const callTags = new Set(profile.tags.flatMap(({ name, tool }) => (tool === undefined ? [] : [name])));
  const seen = { surprise: -1, call: -1, entropy: -1, decision: -1, unsure: 0, repairs: 0, failed: 0, repeated: 0 };
  return {
    add({ by, tag, logprobs = [], entropies = [], call }) {
      if (by === "runtime") seen.repairs++;
      if (call && !call.ok) seen.failed++;
      if (call?.repeated) seen.repeated++;
      if (by !== "model") return;
      for (const logprob of logprobs) {
        seen.surprise = Math.max(seen.surprise, -logprob);
        if (logprob < -0.1) seen.unsure++;
        if (callTags.has(tag)) seen.call = Math.max(seen.call, -logprob);
      }
      for (const entropy of entropies) seen.entropy = Math.max(seen.entropy, entropy);
      if (entropies.length > 0) seen.decision = Math.max(seen.decision, entropies[0]!);
    },
    doubts(): Features {
      const told = (value: number) => (value < 0 ? undefined : magnitude(value));
      return given({
        "least sure token": told(seen.surprise),
        // A chain without calls has none to doubt.
        "least sure call": seen.surprise < 0 ? undefined : magnitude(seen.call),
        "highest entropy": told(seen.entropy),
        "highest entropy at a decision": told(seen.decision),
        "unsure tokens": seen.surprise < 0 ? undefined : Math.log1p(seen.unsure),
        "format repairs": Math.log1p(seen.repairs),
        "failed tools": Math.log1p(seen.failed),
        "repeated calls": Math.log1p(seen.repeated),
      } satisfies Doubts);
    },
  };
}

/** The features of a chain that has ended. */
export function chainFeatures(profile: Profile, trajectory: Trajectory): Features {
  const counter = doubtCounter(profile);
  for (const segment of trajectory.segments) counter.add(segment);
  const own = trajectory.segments.filter(({ by }) => by === "model");
  const surprises = own.flatMap(({ logprobs = [] }) => logprobs.map((logprob) => -logprob));
  const answer = own.findLast(({ tag }) => tag === profile.answer)?.logprobs ?? [];
  const checks = new Set(profile.tags.flatMap(({ name, body }) => (body.kind === "score" ? [name] : [])));
  const check = own.findLast(({ tag }) => checks.has(tag))?.logprobs ?? [];
  return given({
    ...counter.doubts(),
    "least sure answer token": answer.length > 0 ? magnitude(Math.max(...answer.map((one) => -one))) : undefined,
    "mean surprise":
      surprises.length > 0 ? magnitude(surprises.reduce((sum, one) => sum + one, 0) / surprises.length) : undefined,
    check: checkScore(profile, trajectory),
    "doubt of the check": check.length > 0 ? magnitude(-check.reduce((sum, one) => sum + one, 0)) : undefined,
    length: Math.log1p(own.reduce((sum, { text }) => sum + text.length, 0)),
    "tool calls": Math.log1p(trajectory.segments.filter(({ call }) => call).length),
    "forced answer": Number(trajectory.ending.reason !== "answered"),
  });
}

function given(features: Record<string, number | undefined>): Features {
  return Object.fromEntries(
    Object.entries(features).filter(([, value]) => value !== undefined && Number.isFinite(value)),
  );
}

/** The kind of question that a chain answered, as a server can tell it: which tools it called. */
export function kindOf({ segments }: Pick<Trajectory, "segments">): string {
  const tools = new Set(segments.flatMap(({ call }) => call?.tool ?? []));
  return tools.size === 0 ? "no tools" : [...tools].sort().join(" + ");
}
