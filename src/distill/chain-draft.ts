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
  /** One space after an opening tag (default true): words then tokenise as they do inside sentences. */
  leadingSpace?: boolean;
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
  /** What was thought since the last move. Weak thoughts (reports, sub-tasks) count only where there is no other. */
  thoughts: Thought[];
  weakThoughts: Thought[];
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

/** Takes a thought up where nothing else was thought: prose beside a judgement, the words in front of a list. */
export function addThoughtIfNone(draft: ChainDraft, text: string): void {
  if (text !== "" && draft.thoughts.length === 0) draft.thoughts.push({ text, step: draft.step });
}

/** Uses up what was thought since the last move; of several thoughts the first names the step. */
export function takeThought(draft: ChainDraft): Thought | undefined {
  const chosen = draft.thoughts.length > 0 ? draft.thoughts : draft.weakThoughts.slice(-1);
  for (const { step } of draft.weakThoughts) draft.unshown.set(step, "later steps say what it reports");
  const [first] = chosen;
  for (const { step } of chosen) draft.unshown.set(step, `its thought stands with that of ${first!.step}`);
  draft.thoughts = [];
  draft.weakThoughts = [];
  return first && { text: withoutRepeats(chosen.map((thought) => thought.text)).join(" "), step: first.step };
}

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
  const canThink = tag.think === "required" || hasThoughts(draft);
  if (tag.think !== "forbidden" && canThink && !draft.state.thought) {
    const thought = takeThought(draft);
    if (!thought) countFilledThought(draft, tag);
    if (!allowedNext(profile, draft.state).includes(profile.think)) {
      throw new ConversionError("think-misplaced", step, `no think is allowed before <${tag.name}> here`);
    }
    if (thought) pushBody(draft, profile.think, thought.text, { step: thought.step });
    else pushBody(draft, profile.think, fallback, { filled: true });
  }
  const { state } = draft;
  if (!allowedNext(profile, state).includes(tag.name)) {
    const after = state.last === null ? "at the start" : `after <${state.last}>`;
    const rule = state.gate ? `gate-${state.gate.tag}` : state.last === null ? "start" : "successor";
    throw new ConversionError(rule, step, `<${tag.name}> may not come ${after}`);
  }
  pushBody(draft, tag.name, body, origin);
}

/** Where a segment comes from: the step being written unless another is named; or from nowhere in the recording. */
export interface SegmentOrigin {
  step?: string | undefined;
  filled?: true;
}

function hasThoughts({ thoughts, weakThoughts }: ChainDraft): boolean {
  return thoughts.length > 0 || weakThoughts.length > 0;
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
  const space = draft.options.leadingSpace === false ? "" : " ";
  const text = trimmed.startsWith("```") ? `\n${trimmed}\n` : space + trimmed;
  pushSegment(draft, { tag, text, by: "model", ...(origin.filled && { filled: true }) }, origin.step);
}

/** Adds a segment as it is; it comes from the step being written unless another is named. */
export function pushSegment(draft: ChainDraft, segment: Segment, step = draft.step): void {
  draft.segments.push({ ...segment, from: { agent: "", step } });
  draft.state = advance(draft.profile, draft.state, segment);
}

/** Drops texts that another of them already contains. */
export function withoutRepeats(texts: readonly string[]): string[] {
  return texts.filter((text, index) => {
    const saysMore = (other: string, place: number) =>
      place !== index && other.includes(text) && (other !== text || place < index);
    return !texts.some(saysMore);
  });
}
