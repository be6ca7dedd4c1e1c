/**
 * Moves become segments, checked by the profile's state machine. A think is put where one is required; a move that the
 * profile has no place for is turned into a thought (a plan where no plan is allowed) rather than lost; verification
 * becomes a suggested answer with a scored check. What can't be said in the profile's grammar ends the conversion with
 * the step that failed, because half a chain teaches the wrong thing.
 */

import type { Segment } from "../core/trajectory.ts";
import { callArguments } from "../language/call-body.ts";
import { readReview, readVerdict } from "../language/judgement.ts";
import { observation } from "../language/observation.ts";
import { type Profile, type TagSpec, tagSpec } from "../language/profile.ts";
import { tagOfTool } from "../language/tool-tags.ts";
import {
  addThought,
  type ChainDraft,
  ConversionError,
  fits,
  type LayoutOptions,
  pushSegment,
  startDraft,
  takeThoughts,
  withoutRepeats,
  writeTag,
  writeThoughts,
} from "./chain-draft.ts";
import type { Move } from "./read-moves.ts";
import { reflectionTagOf, writeCalls } from "./write-calls.ts";

export interface LaidOut {
  /** Each with the step it comes from; who made the step is for the caller to say. */
  segments: Segment[];
  /** Why a step is not shown by a segment of its own, as far as layout decides that. */
  unshown: ReadonlyMap<string, string>;
  /** Thoughts and checks that the record did not have. */
  filledThoughts: number;
  filledChecks: number;
  /** Calls left out because the same call had brought the same result before. */
  repeatedCalls: number;
}

/** Lays the moves out as a chain that ends with `answer`. */
export function layOutChain(moves: readonly Move[], answer: string, profile: Profile, options: LayoutOptions): LaidOut {
  const draft = startDraft(profile, options);
  for (const [index, move] of moves.entries()) writeMove(draft, move, moves.slice(index + 1), answer);
  writeEnding(draft, answer, moves.findLast((move) => move.kind === "propose")?.step);
  const { segments, unshown, filledThoughts, filledChecks, repeatedCalls } = draft;
  return { segments, unshown, filledThoughts, filledChecks, repeatedCalls };
}

function writeMove(draft: ChainDraft, move: Move, later: readonly Move[], answer: string): void {
  draft.step = move.step;
  switch (move.kind) {
    case "thought":
      if (move.weak) draft.weakThoughts.push({ text: move.text, step: move.step, weak: move.weak });
      else draft.thoughts.push({ text: move.text, step: move.step });
      break;
    case "told":
      writeThoughts(draft);
      pushSegment(draft, observation(draft.profile, move.text, "runtime").segment);
      break;
    case "plan":
      writePlan(draft, move.text);
      break;
    case "unplanned":
      fillPlan(draft, later);
      break;
    case "agree":
      agreeWith(draft, move.text, answer);
      break;
    case "review":
      writeReview(draft, move.text);
      break;
    case "calls":
      writeCalls(draft, move.calls, move.stepOf);
      break;
    case "propose": {
      // A proposal without a check is the answer itself, or a thought on the way to it.
      const next = later.find((one) => one.kind !== "thought")?.kind;
      const { suggested } = checkTags(draft.profile);
      if (suggested && (next === "verify" || (next === "agree" && fits(draft, suggested))))
        writeTag(draft, suggested, move.text, "this answers the question");
      else if (later.some((one) => one.kind === "propose") || move.text.trim() !== answer.trim())
        addThought(draft, move.text.trim());
      break;
    }
    case "verify":
      writeVerification(draft, move.text);
      break;
    default:
      move satisfies never;
  }
}

function writePlan(draft: ChainDraft, text: string): void {
  const tag = tagSpec(draft.profile, "plan");
  if (!fits(draft, tag)) {
    draft.thoughts.push({ text, step: draft.step });
    return;
  }
  // Where thoughts are not separate, the text before the list is the thought.
  const list = draft.thoughts.length > 0 ? -1 : text.search(/^\s*1[.)]\s/m);
  if (list > 0) addThought(draft, text.slice(0, list).trim());
  writeTag(draft, tag, list > 0 ? text.slice(list) : text, "plan the work");
}

/** A plan that the record does not have, where nothing that follows can begin a chain. */
function fillPlan(draft: ChainDraft, later: readonly Move[]): void {
  const { profile, options } = draft;
  const tag = tagSpec(profile, "plan");
  const first = later.find(({ kind }) => kind === "calls" || kind === "propose");
  const [call] = first?.kind === "calls" ? first.calls : [];
  const begin = call && tagOfTool(profile, call.name, options.toolTags, callArguments(call.arguments));
  const starts = first?.kind === "propose" ? (checkTags(profile).suggested?.name ?? profile.answer) : begin?.name;
  if (!options.fill || !fits(draft, tag) || (starts !== undefined && profile.start.includes(starts))) return;
  writeTag(draft, tag, "Answer the question step by step.", "plan the work", { filled: true });
}

/** What another agent said of the answer that was given: it is the check, where the answer stands to be checked. */
function agreeWith(draft: ChainDraft, text: string, answer: string): void {
  addThought(draft, text);
  const { suggested, check } = checkTags(draft.profile);
  if (check?.body.kind !== "score" || draft.state.last !== suggested?.name || !draft.options.fill) return;
  if (draft.segments.findLast(({ tag }) => tag === suggested.name)?.text.trim() !== answer.trim()) return;
  draft.filledChecks++;
  writeTag(draft, check, `${check.body.phrase}${check.body.max}`, "the answer holds", { filled: true });
}

function writeReview(draft: ChainDraft, text: string): void {
  const tag = reflectionTagOf(draft.profile);
  const { prose, ratings } = readReview(text, tag);
  // Without a tag for it, what the reviewer found stays a thought.
  if (!fits(draft, tag)) return void addThought(draft, text.trim());
  if (tag.body.kind === "ratings") {
    if (!ratings) throw new ConversionError("body-ratings", draft.step, "the review gives no ratings");
    addThought(draft, prose);
    writeTag(draft, tag, ratings, "judge the work so far");
    return;
  }
  // Where no think is allowed before it, what was thought is part of the reflection itself.
  const body =
    tag.think === "forbidden"
      ? withoutRepeats([...takeThoughts(draft), { text, step: draft.step }])
          .map((thought) => thought.text)
          .join("\n")
      : text;
  writeTag(draft, tag, body, "judge the work so far");
}

/** The tags of a verified answer, where the profile has both. */
function checkTags(profile: Profile): { suggested?: TagSpec; check?: TagSpec } {
  const suggested = profile.suggestedAnswer === undefined ? undefined : tagSpec(profile, profile.suggestedAnswer);
  const check = profile.tags.find((tag) => tag.body.kind === "score" && suggested?.next.includes(tag.name));
  return suggested && check ? { suggested, check } : {};
}

function writeVerification(draft: ChainDraft, text: string): void {
  const { suggested, check } = checkTags(draft.profile);
  const { prose, score } = readVerdict(text);
  if (check?.body.kind !== "score" || draft.state.last !== suggested?.name) return void addThought(draft, text.trim());
  addThought(draft, prose);
  if (score === null) throw new ConversionError("body-score", draft.step, "the verification gives no score");
  writeTag(draft, check, `${check.body.phrase}${score}`, "check the answer against the observations");
}

function writeEnding(draft: ChainDraft, answer: string, step: string | undefined): void {
  const { profile } = draft;
  const { suggested, check } = checkTags(profile);
  const answerTag = tagSpec(profile, profile.answer)!;
  const unchecked = suggested && check && draft.state.last !== check.name && !fits(draft, answerTag);
  if (unchecked) claimVerification(draft, suggested, check, answer);
  const reflection = reflectionTagOf(profile);
  if (!fits(draft, answerTag) && fits(draft, reflection) && reflection.body.kind === "text") {
    // A code chain looks back on its last program before it answers.
    // Of several thoughts the first is about the output, and the rest lead to the answer.
    const thought = draft.thoughts.length > 1 ? draft.thoughts.shift() : takeThoughts(draft)[0];
    const origin = thought ? { step: thought.step } : { filled: true as const };
    writeTag(draft, reflection, thought?.text ?? "the output gives the answer", "judge the output", origin);
  }
  writeTag(draft, answerTag, answer, "the answer is known", { step });
}

/** The check of a system that has no verifier. The answer was given, so its maker held it right. */
function claimVerification(draft: ChainDraft, suggested: TagSpec, check: TagSpec, answer: string): void {
  if (!draft.options.fill) {
    const problem = "the answer was not verified, and the profile wants that";
    throw new ConversionError("verification-missing", draft.step, problem);
  }
  if (check.body.kind !== "score") return;
  draft.filledChecks++;
  // A manager who had something checked again before answering thought of the check, not of the answer.
  const checking = draft.thoughts.filter(({ text }) => /\b(?:verif|double.?check|re-?check|confirm)/i.test(text));
  draft.thoughts = draft.thoughts.filter((thought) => !checking.includes(thought));
  writeTag(draft, suggested, answer, "the observations give the answer", { filled: true });
  draft.thoughts = checking;
  writeTag(draft, check, `${check.body.phrase}${check.body.max}`, "the observations support this answer", {
    filled: true,
  });
}
