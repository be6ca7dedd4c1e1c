/**
 * What a chain leaves behind that tells how far to trust its answer. All of it is there for free: log-probabilities and
 * entropies as sampled, the check's score, repairs, tools that failed, repeated calls, length. Where a server gives no
 * log-probabilities, those features are absent and the others remain.
 */

import { checkScore } from "../chain/check-score.ts";
import type { Profile } from "../core/profile.ts";
import type { Segment, Trajectory } from "../core/trajectory.ts";
import type { Features } from "./logistic.ts";

/** What the model's server must tell of every chain, once a score was made of it. */
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

/** Surprises and entropies span many powers of ten: their logarithm is what differs evenly. */
const magnitude = (value: number) => Math.log(Math.max(value, 1e-6));

/** The features of a chain that has ended. */
export function chainFeatures(profile: Profile, trajectory: Trajectory): Features {
  const { segments, ending } = trajectory;
  const own = segments.filter(({ by }) => by === "model");
  const callTags = new Set(profile.tags.flatMap(({ name, tool }) => (tool === undefined ? [] : [name])));
  const checks = new Set(profile.tags.flatMap(({ name, body }) => (body.kind === "score" ? [name] : [])));
  const surprisesOf = (of: readonly Segment[]) =>
    of.flatMap(({ logprobs = [] }) => logprobs.map((logprob) => -logprob));
  const surprises = surprisesOf(own);
  const told = surprises.length > 0;
  const entropies = own.flatMap(({ entropies: each = [] }) => each);
  const calls = segments.flatMap(({ call }) => call ?? []);
  const last = (tags: ReadonlySet<string>) => surprisesOf(own.filter(({ tag }) => tags.has(tag)).slice(-1));
  const check = last(checks);
  return given({
    "least sure token": highest(surprises),
    // A chain without calls has none to doubt.
    "least sure call": told ? (highest(surprisesOf(own.filter(({ tag }) => callTags.has(tag)))) ?? magnitude(0)) : undefined, // biome-ignore format: one feature
    "highest entropy": highest(entropies),
    "highest entropy at a decision": highest(own.flatMap(({ entropies: each = [] }) => each.slice(0, 1))),
    "unsure tokens": told ? Math.log1p(surprises.filter((one) => one > 0.1).length) : undefined,
    "format repairs": Math.log1p(segments.filter(({ by }) => by === "runtime").length),
    "failed tools": Math.log1p(calls.filter(({ ok }) => !ok).length),
    "repeated calls": Math.log1p(calls.filter(({ repeated }) => repeated).length),
    "least sure answer token": highest(last(new Set([profile.answer]))),
    "mean surprise": told ? magnitude(sum(surprises) / surprises.length) : undefined,
    check: checkScore(profile, trajectory),
    "doubt of the check": check.length > 0 ? magnitude(sum(check)) : undefined,
    length: Math.log1p(own.reduce((size, { text }) => size + text.length, 0)),
    "tool calls": Math.log1p(calls.length),
    "forced answer": Number(ending.reason !== "answered"),
  } satisfies Record<(typeof featureNames)[number], number | undefined>);
}

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
const highest = (values: readonly number[]) =>
  values.length === 0 ? undefined : magnitude(values.reduce((a, b) => Math.max(a, b)));

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
