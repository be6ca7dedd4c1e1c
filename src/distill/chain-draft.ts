/**
 * A chain while it is being laid out: the segments so far, where the profile's state machine stands, and what was thought
 * since the last move and has not been written yet. A tag is written here or nowhere, with the think that it needs.
 */

import type { Segment } from "../core/trajectory.ts";
import {
  advance,
  allowedNext,
  type ChainState,
  type Profile,
  startState,
  successors,
  type TagSpec,
} from "../language/profile.ts";

export interface LayoutOptions {
  /** Tag for each foreign tool's name. */
  toolTags?: Readonly<Record<string, string>>;
  /**
   * Fill up what the profile wants and the recording lacks: short thoughts, a check of the answer. Otherwise such runs
   * are refused. What is filled in is counted, marked and never trained on. `distillRun` fills by default, because it is
   * asked for this very profile; `distill` only where it is told to.
   */
  fill?: boolean;
}

/** A conversion that failed, and where. */
export class ConversionError extends Error {
  override readonly name = "ConversionError";
  readonly step: string;
  readonly rule: string;

  constructor(rule: string, step: string, message: string) {
    super(message);
    this.rule = rule;
    this.step = step;
  }
}

/** A thought, and the step of the run it is in. */
export interface Thought {
  text: string;
  step: string;
}

export interface ChainDraft {
  readonly profile: Profile;
  readonly options: LayoutOptions;
  readonly segments: Segment[];
  /** Why a step of the run is not shown by a segment of its own, as far as layout decides that. */
  readonly unshown: Map<string, string>;
  state: ChainState;
  /** What was thought since the last move. Weak thoughts (repeated reports, sub-tasks) count only where there is no other. */
  thoughts: Thought[];
  weakThoughts: (Thought & { weak: "report" | "task" })[];
  /** The step of the run that is being written. */
  step: string;
  filledThoughts: number;
  filledChecks: number;
  repeatedCalls: number;
  /** What each call has brought, so that the same call is not written twice. */
  readonly results: Map<string, string>;
}

/** A draft of which nothing is written. */
export function startDraft(profile: Profile, options: LayoutOptions): ChainDraft {
  return {
    profile,
    options,
    segments: [],
    unshown: new Map(),
    state: startState(),
    thoughts: [],
    weakThoughts: [],
    step: "",
    filledThoughts: 0,
    filledChecks: 0,
    repeatedCalls: 0,
    results: new Map(),
  };
}

/** Takes a thought up, or keeps the longer of two that say the same. */
export function addThought(draft: ChainDraft, text: string): void {
  if (text === "" || draft.thoughts.some((thought) => thought.text.includes(text))) return;
  draft.thoughts.push({ text, step: draft.step });
}

/** Uses up what was thought since the last move, each thought for itself. */
export function takeThoughts(draft: ChainDraft): Thought[] {
  const chosen = draft.thoughts.length > 0 ? draft.thoughts : draft.weakThoughts.slice(-1);
  for (const { step, weak } of draft.weakThoughts) leaveOut(draft, step, weakReasons[weak]);
  const kept = withoutRepeats(chosen);
  for (const thought of chosen)
    if (!kept.includes(thought)) leaveOut(draft, thought.step, "a thought beside it says all of it");
  draft.thoughts = [];
  draft.weakThoughts = [];
  return kept;
}

/** Notes why something of a step is not shown; a step can have several reasons. */
export function leaveOut({ unshown }: ChainDraft, step: string, reason: string): void {
  const told = unshown.get(step);
  if (!told?.includes(reason)) unshown.set(step, told === undefined ? reason : `${told}; ${reason}`);
}

const weakReasons = {
  report: "what it reports stands in its observations or is said later",
  task: "a delegation: what the agent did is shown",
};

/** Whether a tag may be written now, a think before it allowed for. */
export function fits(draft: ChainDraft, tag: TagSpec | undefined): tag is TagSpec {
  const { profile, state } = draft;
  if (tag === undefined || state.openCalls > 0 || !successors(profile, state).includes(tag.name)) return false;
  return state.gate === null || state.gate.leaves.includes(tag.name);
}

/** Writes a role's or tool's tag, with the think it needs; `fallback` is the thought where the record has none. */
export function writeTag(
  draft: ChainDraft,
  tag: TagSpec,
  body: string,
  fallback: string,
  origin: SegmentOrigin = {},
): void {
  const { profile, step } = draft;
  const canThink = tag.think === "required" || draft.thoughts.length > 0 || draft.weakThoughts.length > 0;
  if (tag.think !== "forbidden" && canThink) {
    const thoughts = takeThoughts(draft);
    if (thoughts.length === 0 && !draft.state.thought) countFilledThought(draft, tag);
    if (!allowedNext(profile, draft.state).includes(profile.think)) {
      throw new ConversionError("think-misplaced", step, `no think is allowed before <${tag.name}> here`);
    }
    for (const thought of thoughts) pushBody(draft, profile.think, thought.text, { step: thought.step });
    if (!draft.state.thought) pushBody(draft, profile.think, fallback, { filled: true });
  }
  const { state } = draft;
  if (!allowedNext(profile, state).includes(tag.name)) {
    const after = state.last === null ? "at the start" : `after <${state.last}>`;
    const rule = state.gate ? `gate-${state.gate.tag}` : state.last === null ? "start" : "successor";
    throw new ConversionError(rule, step, `<${tag.name}> may not come ${after}`);
  }
  pushBody(draft, tag.name, body, origin);
}

/** Writes what was thought so far, where the profile allows a think now. */
export function writeThoughts(draft: ChainDraft): void {
  const { profile, state } = draft;
  if (draft.thoughts.length === 0 || !allowedNext(profile, state).includes(profile.think)) return;
  for (const { text, step } of takeThoughts(draft)) pushBody(draft, profile.think, text, { step });
}

/** Where a segment comes from: the step being written unless another is named; or from nowhere in the recording. */
export interface SegmentOrigin {
  step?: string | undefined;
  filled?: true;
}

function countFilledThought(draft: ChainDraft, tag: TagSpec): void {
  if (!draft.options.fill) {
    throw new ConversionError("think-missing", draft.step, `nothing was thought before <${tag.name}>`);
  }
  draft.filledThoughts++;
}

/** Adds something the model writes, with our usual white space around it. */
export function pushBody(draft: ChainDraft, tag: string, body: string, origin: SegmentOrigin = {}): void {
  const trimmed = body.trim();
  // One space after an opening tag: words then tokenise as they do inside sentences.
  const text = trimmed.startsWith("```") ? `\n${trimmed}\n` : ` ${trimmed}`;
  pushSegment(draft, { tag, text, by: "model", ...(origin.filled && { filled: true }) }, origin.step);
}

/** Adds a segment as it is; it comes from the step being written unless another is named. */
export function pushSegment(draft: ChainDraft, segment: Segment, step = draft.step): void {
  draft.segments.push({ ...segment, from: { agent: "", step } });
  draft.state = advance(draft.profile, draft.state, segment);
}

/** Drops thoughts that another of them already contains. */
export function withoutRepeats(thoughts: readonly Thought[]): Thought[] {
  return thoughts.filter(({ text }, index) => {
    const saysMore = (other: Thought, place: number) =>
      place !== index && other.text.includes(text) && (other.text !== text || place < index);
    return !thoughts.some(saysMore);
  });
}
