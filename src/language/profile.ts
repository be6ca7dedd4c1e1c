/**
 * The language that a profile describes is regular: a small state machine (`startState`, `allowedNext`, `advance`) walks
 * it, and the system prompt, the runtime's check, the validator and the format reward all ask that machine.
 */
import { CoaError } from "../core/errors.ts";
import type { BodyFormat, Gate, ObservationStyle, Profile, TagSpec } from "../core/profile.ts";
import { readRatings, readScore } from "./judgement.ts";

export type { BodyFormat, Gate, Profile, TagSpec };

/** How observations are written unless a profile says otherwise. */
export const defaultStyle: ObservationStyle = { layout: "compact", maxCharacters: 8192 };

/** What a profile has where it says nothing else. */
export const usual = {
  think: "think",
  observation: "observation",
  answer: "answer",
  maxParallelCalls: 1,
  advice: [],
  gates: [],
  style: defaultStyle,
};

/** Where a chain is: all that the rules need to know of what was written. */
export interface ChainState {
  /** The last tag other than think and observation; null at the start. */
  last: string | null;
  thought: boolean;
  /** Calls of this step, and how many still wait for their observation. */
  calls: number;
  openCalls: number;
  /** The gate that applies now, with the only tags it leaves. */
  gate: { tag: string; leaves: readonly string[] } | null;
  counts: Readonly<Record<string, number>>;
  ended: boolean;
}

/** Checks a profile's own consistency and fills in the usual names, so that a mistake is found where it was made. */
export function defineProfile(
  definition: Omit<Profile, "think" | "observation" | "answer" | "maxParallelCalls" | "advice" | "gates" | "style"> &
    Partial<Profile>,
): Profile {
  const profile: Profile = { ...usual, ...definition };
  const names = new Set(profile.tags.map((tag) => tag.name));
  const fail = (message: string): never => {
    throw new CoaError("format", `profile ${profile.name}: ${message}`);
  };
  for (const name of [...names, profile.think, profile.observation]) {
    if (!/^[a-z][a-z0-9_]*$/.test(name) || name === "text") fail(`"${name}" can't be a tag name (a-z, 0-9 and _ only)`);
  }
  if (names.size !== profile.tags.length) fail("two tags have the same name");
  if (names.has(profile.think) || names.has(profile.observation))
    fail("think and observation are always there: do not list them");
  if (!names.has(profile.answer)) fail(`the answer tag "${profile.answer}" is not among the tags`);
  const mentioned = [
    ...profile.start,
    ...profile.tags.flatMap((tag) => tag.next),
    ...profile.gates.map((gate) => gate.tag),
  ];
  for (const name of mentioned) if (!names.has(name)) fail(`"${name}" is mentioned but is not among the tags`);
  if (profile.start.length === 0) fail("no tag to start with");
  const reached = new Set<string>(profile.start);
  for (const name of reached) for (const next of tagSpec(profile, name)?.next ?? []) reached.add(next);
  for (const name of names) if (!reached.has(name)) fail(`no way leads to "${name}"`);
  return profile;
}

/** A name as tags are written: `myTool-2` becomes `my_tool_2`. */
export function tagNameOf(name: string): string {
  return name
    .slice(0, 128) // a longer one would not fit into the pattern of all tags
    .replace(/([a-z0-9])([A-Z])/g, "$1_$2")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "_")
    .replace(/^[^a-z]+|_+$/g, "");
}

/** The tag's description, or undefined for think, observation and unknown names. */
export function tagSpec(profile: Profile, name: string): TagSpec | undefined {
  return profile.tags.find((tag) => tag.name === name);
}

/** Every tag name of the profile, think and observation included. */
export function tagNames(profile: Profile): string[] {
  return [profile.think, profile.observation, ...profile.tags.map((tag) => tag.name)];
}

/** Opening and closing strings of every tag of the profiles, for the special tokens of a tokenizer. */
export function tagTokens(profiles: readonly Profile[]): string[] {
  const names = new Set(profiles.flatMap(tagNames));
  return [...names].flatMap((name) => [`<${name}>`, `</${name}>`]);
}

export function toolTags(profile: Profile): TagSpec[] {
  return profile.tags.filter((tag) => tag.tool !== undefined);
}

/** Strings at which the model must pause: a tool is to be run, or the chain is done. */
export function stopStrings(profile: Profile): string[] {
  return [...toolTags(profile).map((tag) => `</${tag.name}>`), `</${profile.answer}>`];
}

/** The state of a chain of which nothing is written. */
export function startState(): ChainState {
  return { last: null, thought: false, calls: 0, openCalls: 0, gate: null, counts: {}, ended: false };
}

/** Tags that the successor table and `maxTimes` allow, before gates and thinks are asked. */
export function successors(profile: Profile, state: ChainState): string[] {
  const next = state.last === null ? profile.start : (tagSpec(profile, state.last)?.next ?? []);
  return next.filter(
    (name) => (state.counts[name] ?? 0) < (tagSpec(profile, name)?.maxTimes ?? Number.POSITIVE_INFINITY),
  );
}

export function allowedNext(profile: Profile, state: ChainState): string[] {
  if (state.ended) return [];
  if (state.openCalls > 0) {
    const room = state.openCalls === state.calls && state.calls < profile.maxParallelCalls;
    const more = room ? toolTags(profile) : [];
    return [profile.observation, ...more.map((tag) => tag.name)];
  }
  const gate = state.gate;
  const open = successors(profile, state).filter((name) => gate === null || gate.leaves.includes(name));
  const thinkOf = (name: string) => tagSpec(profile, name)?.think;
  // Thoughts of several agents are several thinks.
  const direct = open.filter((name) => thinkOf(name) !== (state.thought ? "forbidden" : "required"));
  return open.some((name) => thinkOf(name) !== "forbidden") ? [profile.think, ...direct] : direct;
}

/** The state after one more segment. Never refuses: what was written was written; the validator says what was wrong. */
export function advance(profile: Profile, state: ChainState, segment: { tag: string; text: string }): ChainState {
  const { tag, text } = segment;
  // Continuing without the observation ends the waiting for it, so that one omission is one violation.
  if (tag === profile.think) return { ...state, thought: true, openCalls: 0 };
  if (tag === profile.observation) {
    return state.openCalls > 0 ? { ...state, openCalls: state.openCalls - 1, thought: false } : state;
  }
  const spec = tagSpec(profile, tag);
  if (!spec) return state;
  const counts = { ...state.counts, [tag]: (state.counts[tag] ?? 0) + 1 };
  const calls = spec.tool === undefined ? 0 : state.openCalls > 0 ? state.calls + 1 : 1;
  const openCalls = spec.tool === undefined ? 0 : state.openCalls + 1;
  return {
    last: tag,
    thought: false,
    calls,
    openCalls,
    gate: gateAfter(profile, spec, text),
    counts,
    ended: tag === profile.answer,
  };
}

/** Which tags the gates of a written tag leave open, or null where no gate closes anything. */
function gateAfter(profile: Profile, spec: TagSpec, text: string): ChainState["gate"] {
  for (const gate of profile.gates) {
    if (gate.tag !== spec.name) continue;
    if (gate.when === "any-rating" && spec.body.kind === "ratings") {
      const ratings = readRatings(text, spec.body.criteria);
      if (ratings.some((rating) => rating?.toLowerCase() === gate.worst.toLowerCase())) {
        return { tag: spec.name, leaves: gate.leaves };
      }
    }
    if (gate.when === "score-below" && spec.body.kind === "score") {
      // An unreadable score counts as a low one: there is no answer on a verification that says nothing.
      const score = readScore(text);
      if (score === null || score < gate.min) {
        return { tag: spec.name, leaves: spec.next.filter((name) => !gate.forbids.includes(name)) };
      }
    }
  }
  return null;
}
