/**
 * Moves become segments, under the eyes of the profile's state machine. A think is put where one is required; a move that
 * the profile has no place for is turned into a thought (a plan where no plan may stand) rather than lost; verification
 * becomes a suggested answer with a scored check. What can't be said in the profile's grammar ends the conversion with
 * the step that failed, because half a chain teaches the wrong thing.
 */
import {
  advance,
  allowedNext,
  type ChainState,
  type Profile,
  readRatings,
  startState,
  successors,
  type TagSpec,
  tagSpec,
} from "../core/profile.ts";
import type { TeamToolCall } from "../core/team-run.ts";
import type { Segment } from "../core/trajectory.ts";
import type { Move } from "./read-moves.ts";
import { callArguments, tagOfTool, toolBody } from "./tool-body.ts";

export interface LayoutOptions {
  /** Tag for each foreign tool's name. */
  toolTags?: Readonly<Record<string, string>>;
  /** What hostile text in observations becomes; must be what the chain runtime does. */
  neutralise?: (text: string) => string;
  /** Write a short thought where the record has none and the profile wants one (default true; counted). */
  fillThoughts?: boolean;
  /** Let a run without verification claim a checked answer where the profile wants one (default: only unmarked runs). */
  fillVerification?: boolean;
  /** White space around observations, as the chain runtime will write them: `compact` (default), or the paper's line breaks. */
  layout?: "compact" | "paper";
  /** One space after an opening tag (default true): words then tokenise as they do inside sentences. */
  leadingSpace?: boolean;
}

export interface LaidOut {
  segments: Segment[];
  /** Thoughts and checks that the record did not have. */
  filledThoughts: number;
  filledChecks: number;
  /** Calls left out because the same call had brought the same result before. */
  repeatedCalls: number;
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

/** Lays the moves out as a chain that ends with `answer`. */
export function layOutChain(moves: readonly Move[], answer: string, profile: Profile, options: LayoutOptions): LaidOut {
  const writer = chainWriter(profile, options);
  moves.forEach((move, index) => {
    switch (move.kind) {
      case "thought":
        writer.think(move.text, move.weak === true, move.step);
        break;
      case "plan":
        writer.plan(move.text, move.step);
        break;
      case "review":
        writer.review(move.text, move.step);
        break;
      case "calls":
        writer.calls(move.calls, move.step);
        break;
      case "propose":
        writer.propose(move.text, move.step, moves[index + 1]?.kind === "verify" || laterVerify(moves, index));
        break;
      case "verify":
        writer.verify(move.text, move.step);
        break;
      default:
        move satisfies never;
    }
  });
  return writer.finish(answer, moves.at(-1)?.step ?? "");
}

/** Whether a verification follows before anything else is done: thoughts between do not count. */
function laterVerify(moves: readonly Move[], index: number): boolean {
  const next = moves.slice(index + 1).find((move) => move.kind !== "thought");
  return next?.kind === "verify";
}

function chainWriter(profile: Profile, options: LayoutOptions) {
  const { fillThoughts = true, leadingSpace = true, neutralise } = options;
  const segments: Segment[] = [];
  const counts = { filledThoughts: 0, filledChecks: 0, repeatedCalls: 0 };
  const results = new Map<string, string>(); // call -> observation
  let state: ChainState = startState();
  let strong: Thought[] = [];
  let weak: Thought[] = [];
  let step = "";
  const suggestedTag = profile.suggestedAnswer === undefined ? undefined : tagSpec(profile, profile.suggestedAnswer);
  const checkTag =
    suggestedTag && profile.tags.find((tag) => tag.body.kind === "score" && suggestedTag.next.includes(tag.name));
  const reflectionTag = profile.tags.find((tag) => tag.name === "reflection" || tag.body.kind === "ratings");
  const planTag = tagSpec(profile, "plan");

  function push(tag: string, body: string, more: Partial<Segment> = {}): void {
    const text = more.by === "tool" || more.by === "runtime" ? body : bodyText(body);
    const segment: Segment = { tag, text, by: "model", ...more };
    segments.push(segment);
    state = advance(profile, state, segment);
  }
  const bodyText = (body: string) => {
    const trimmed = body.trim();
    if (trimmed.startsWith("```")) return `\n${trimmed}\n`;
    return leadingSpace ? ` ${trimmed}` : trimmed;
  };

  /** Uses up what was thought since the last move. */
  function takeThought(): string {
    const chosen = strong.length > 0 ? strong : weak.slice(-1);
    strong = [];
    weak = [];
    return withoutRepeats(chosen.map((thought) => thought.text)).join(" ");
  }

  /** Writes a role's or tool's tag, with the think it needs. */
  function write(tag: TagSpec, body: string, fallback: string): void {
    if (tag.think === "required" && !state.thought) {
      let thought = takeThought();
      if (thought === "") {
        if (!fillThoughts) throw new ConversionError("think-missing", step, `nothing was thought before <${tag.name}>`);
        thought = fallback;
        counts.filledThoughts++;
      }
      if (!allowedNext(profile, state).includes(profile.think)) {
        throw new ConversionError("think-misplaced", step, `no think may stand before <${tag.name}> here`);
      }
      push(profile.think, thought);
    }
    if (!allowedNext(profile, state).includes(tag.name)) {
      const after = state.last === null ? "at the start" : `after <${state.last}>`;
      const rule = state.gate ? `gate-${state.gate.tag}` : state.last === null ? "start" : "successor";
      throw new ConversionError(rule, step, `<${tag.name}> may not come ${after}`);
    }
    push(tag.name, body);
  }
  /** Whether a tag may be written now, a think before it allowed for. */
  const fits = (tag: TagSpec | undefined): tag is TagSpec =>
    tag !== undefined &&
    state.openCalls === 0 &&
    successors(profile, state).includes(tag.name) &&
    (state.gate === null || state.gate.leaves.includes(tag.name));

  return {
    think(text: string, isWeak: boolean, at: string): void {
      (isWeak ? weak : strong).push({ text, step: at });
    },
    plan(text: string, at: string): void {
      step = at;
      if (!fits(planTag)) {
        strong.push({ text, step });
        return;
      }
      // Without thoughts apart, what stands in front of the list is the thought behind it.
      const list = strong.length > 0 ? -1 : text.search(/^\s*1[.)]\s/m);
      if (list > 0 && text.slice(0, list).trim() !== "") {
        strong.push({ text: text.slice(0, list).trim(), step });
        write(planTag, text.slice(list), "plan the work");
      } else write(planTag, text, "plan the work");
    },
    review(text: string, at: string): void {
      step = at;
      const { prose, ratings } = readReview(text, reflectionTag);
      if (prose !== "" && strong.length === 0) strong.push({ text: prose, step });
      if (!fits(reflectionTag)) return;
      if (reflectionTag.body.kind !== "ratings") {
        // Where no think may stand before it, what was thought is part of the reflection itself.
        const body = reflectionTag.think === "forbidden" ? withoutRepeats([takeThought(), text]).join(" ") : text;
        write(reflectionTag, body, "judge the work so far");
      } else if (ratings) write(reflectionTag, ratings, "judge the work so far");
      else throw new ConversionError("body-ratings", at, "the review gives no ratings");
    },
    calls(calls: readonly TeamToolCall[], at: string): void {
      step = at;
      const fresh = calls.filter(
        (call, place) => !isRepeated(call) && !calls.slice(0, place).some((other) => isTwin(call, other)),
      );
      counts.repeatedCalls += calls.length - fresh.length;
      // What was thought for a call that is left out goes with it.
      if (fresh.length === 0) strong = strong.filter((thought) => thought.step !== at);
      const together = Math.max(1, Math.min(profile.maxParallelCalls, fresh.length));
      for (let from = 0; from < fresh.length; from += together) writeCalls(fresh.slice(from, from + together));
    },
    propose(text: string, at: string, verified: boolean): void {
      step = at;
      if (suggestedTag && checkTag && verified) write(suggestedTag, text, "this answers the question");
    },
    verify(text: string, at: string): void {
      step = at;
      const { prose, score } = readVerdict(text);
      if (checkTag?.body.kind !== "score" || state.last !== suggestedTag?.name) {
        // The profile has no check: what the verifier found is a thought (or a reflection, where it was not content).
        if (prose !== "" && strong.length === 0) strong.push({ text: prose, step });
        return;
      }
      if (score === null) throw new ConversionError("body-score", at, "the verification gives no score");
      if (prose !== "" && strong.length === 0) strong.push({ text: prose, step });
      write(checkTag, `${checkTag.body.phrase}${score}`, "check the answer against the observations");
    },
    finish(answer: string, at: string): LaidOut {
      step = at;
      const answerTag = tagSpec(profile, profile.answer)!;
      if (suggestedTag && checkTag?.body.kind === "score" && state.last !== checkTag.name) {
        if (!options.fillVerification) {
          throw new ConversionError(
            "verification-missing",
            at,
            "nobody verified the answer, and the profile wants that",
          );
        }
        counts.filledChecks++;
        // A manager who had something checked again before answering thought of the check, not of the answer.
        const checking = strong.filter((thought) => /\b(?:verif|double.?check|re-?check|confirm)/i.test(thought.text));
        strong = strong.filter((thought) => !checking.includes(thought));
        write(suggestedTag, answer, "the observations give the answer");
        strong = checking;
        write(checkTag, `${checkTag.body.phrase}${checkTag.body.max}`, "the observations support this answer");
      }
      if (reflectionTag && !fits(answerTag) && fits(reflectionTag) && reflectionTag.body.kind === "text") {
        // A code chain looks back on its last program before it answers.
        write(reflectionTag, takeThought() || "the output gives the answer", "judge the output");
      }
      write(answerTag, answer, "the answer is known");
      return { segments, ...counts };
    },
  };

  function isRepeated(call: TeamToolCall): boolean {
    return call.error === undefined && call.result !== undefined && results.get(callKey(call)) === call.result;
  }

  function writeCalls(calls: readonly TeamToolCall[]): void {
    const observations: Segment[] = [];
    for (const call of calls) {
      const tag = tagOfTool(profile, call.name, options.toolTags);
      if (!tag) {
        throw new ConversionError(
          "unknown-tool",
          step,
          `no tag of the ${profile.name} profile calls "${call.name}"; map it with toolTags`,
        );
      }
      if (call.result === undefined && call.error === undefined) {
        throw new ConversionError("observation-missing", step, `the result of ${call.name} was not recorded`);
      }
      const body = toolBody(tag, call.arguments);
      if (state.openCalls === 0 && !fits(tag)) bridge(tag);
      if (state.openCalls > 0) push(tag.name, body);
      else write(tag, body, `next: ${excerpt(body)}`);
      observations.push(observationOf(call, tag));
    }
    for (const observation of observations) push(profile.observation, observation.text, observation);
  }

  /** A reflection between two programs, where the profile wants one and the record has only thoughts. */
  function bridge(tag: TagSpec): void {
    if (!fits(reflectionTag) || reflectionTag.body.kind !== "text" || !reflectionTag.next.includes(tag.name)) return;
    const thought = (strong.length > 1 ? strong.shift() : weak.at(-1))?.text;
    if (thought === undefined && !fillThoughts) return;
    if (thought === undefined) counts.filledThoughts++;
    write(reflectionTag, thought ?? "the output is noted", "judge the output");
  }

  function observationOf(call: TeamToolCall, tag: TagSpec): Segment {
    const tool = tag.tool ?? tag.name;
    const ok = call.error === undefined;
    const output = ok
      ? call.result!
      : `error: ${call.error!.startsWith(`${tool}:`) ? call.error : `${tool}: ${call.error}`}`;
    if (ok) results.set(callKey(call), output);
    const text = (neutralise ?? ((plain: string) => plain))(output === "" ? "(no output)" : output);
    const tagName = profile.observation;
    const raw = options.layout === "paper" ? { raw: `\n<${tagName}>\n${text}\n</${tagName}>\n\n` } : {};
    const ms = call.startedAt !== undefined && call.endedAt !== undefined ? call.endedAt - call.startedAt : 0;
    return { tag: tagName, text, by: "tool", ...raw, call: { tool, input: callArguments(call.arguments), ok, ms } };
  }
}

interface Thought {
  text: string;
  step: string;
}

/** Made twice in one go, with one result. */
function isTwin(call: TeamToolCall, other: TeamToolCall): boolean {
  return callKey(call) === callKey(other) && call.result === other.result && call.error === other.error;
}

function callKey(call: TeamToolCall): string {
  return `${call.name} ${call.arguments.trim()}`;
}

/** Prose of a review, and its ratings as the profile writes them. */
function readReview(text: string, tag: TagSpec | undefined): { prose: string; ratings: string | null } {
  if (tag?.body.kind !== "ratings") return { prose: "", ratings: null };
  const { criteria, values } = tag.body;
  const found = readRatings(text, criteria);
  const lines = criteria.map((criterion, index) => {
    const value = values.find((one) => one.toLowerCase() === found[index]?.toLowerCase());
    return value === undefined ? null : `${criterion} : ${value}`;
  });
  const ratings = lines.includes(null) ? null : lines.join("\n");
  const prose = text
    .split("\n")
    .filter((line) => !criteria.some((criterion) => line.toLowerCase().includes(criterion.toLowerCase())))
    .join("\n");
  return { prose: prose.trim(), ratings };
}

/** Prose of a verification, and its score. */
function readVerdict(text: string): { prose: string; score: number | null } {
  const named = [...text.matchAll(/score[^\d\n]{0,30}(\d+)/gi)].at(-1)?.[1] ?? /^\D*(\d+)\D*$/.exec(text)?.[1];
  const prose = text
    .split("\n")
    .filter((line) => !/score[^\d\n]{0,30}\d/i.test(line))
    .join("\n");
  return { prose: /^\W*\d+\W*$/.test(prose) ? "" : prose.trim(), score: named === undefined ? null : Number(named) };
}

/** Drops thoughts that another of them already contains. */
function withoutRepeats(thoughts: readonly string[]): string[] {
  return thoughts.filter(
    (thought, index) =>
      !thoughts.some(
        (other, place) => place !== index && other.includes(thought) && (other !== thought || place < index),
      ),
  );
}

function excerpt(body: string): string {
  const line = body
    .replace(/```\w*/g, " ")
    .replace(/\s+/g, " ")
    .trim();
  return line.length > 60 ? `${line.slice(0, 60)}…` : line;
}
