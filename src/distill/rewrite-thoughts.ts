/**
 * An optional pass by a model that makes thoughts fluent. It may touch thoughts and nothing else: tool inputs,
 * observations, plans, checks and the answer are put back from the original, so they stay byte for byte. A thought that
 * knows too much (a name or number that comes up only later), breaks a rule, or grows out of proportion is refused, and
 * the original stays.
 */
import { z } from "zod";
import { askForJson } from "../base/work/ask-json.ts";
import { atBoundary, CoaError } from "../core/errors.ts";
import type { ChatModel } from "../core/model.ts";
import { type Segment, type Trajectory, writtenForm } from "../core/trajectory.ts";
import type { Profile } from "../language/profile.ts";
import { tagPattern, validateSegments } from "../language/validate.ts";

export interface RewriteOptions {
  model: ChatModel;
  profile: Profile;
  /** Longest thought, in words (default 60). */
  maxWords?: number;
  signal?: AbortSignal;
}

export interface Rewritten {
  trajectory: Trajectory;
  rewritten: number;
  /** Thoughts that stayed as they were, with the reason. */
  refused: { segment: number; reason: string }[];
}

const instructions = `You edit the thoughts in the record of a problem solver. You are given the question and the record, in which each thought has a number. Rewrite every thought so that it reads as one fluent remark in the first person: what is known at that point, what is missing, and why the next move follows. Keep it to one to three sentences. Use only what stands before the thought and in the move right after it; never hint at what is found later. Do not use angle brackets. Reply with one JSON object: {"thoughts": ["...", ...]}, one text per thought, in order.`;

/** Rewrites the thoughts of a chain; one call to the model, more where its reply can't be read. */
export async function rewriteThoughts(trajectory: Trajectory, options: RewriteOptions): Promise<Rewritten> {
  const { profile, model, maxWords = 60 } = options;
  const places = trajectory.segments.flatMap((segment, index) =>
    segment.tag === profile.think && segment.by === "model" ? [index] : [],
  );
  if (places.length === 0) return { trajectory, rewritten: 0, refused: [] };
  const messages = [
    { role: "system" as const, content: instructions },
    { role: "user" as const, content: recordOf(trajectory, places) },
  ];
  const schema = z.object({ thoughts: z.array(z.string()).length(places.length) });
  const reply = await atBoundary("model", `${model.name} rewriting ${trajectory.id}`, () =>
    askForJson(
      async (asked) => (await model.chat(asked)).text,
      { messages, temperature: 0, signal: options.signal },
      schema,
    ),
  );
  if ("problem" in reply) throw new CoaError("model", `${trajectory.id} could not be rewritten: ${reply.problem}`);
  const texts = reply.value.thoughts;
  const segments = [...trajectory.segments];
  const refused: Rewritten["refused"] = [];
  for (const [order, index] of places.entries()) {
    const text = texts[order]!.trim();
    const reason = refusal(trajectory, index, text, profile, maxWords);
    if (reason) refused.push({ segment: index, reason });
    else segments[index] = withBody(segments[index]!, text);
  }
  const made = { ...trajectory, segments };
  const violation = validateSegments(profile, segments)[0];
  if (violation) throw new CoaError("model", `the rewriting of ${trajectory.id} breaks a rule: ${violation.message}`);
  return { trajectory: made, rewritten: places.length - refused.length, refused };
}

/** Whether everything but thoughts is the same in two chains: the promise of this pass, checked from outside. */
export function sameButThoughts(before: Trajectory, after: Trajectory, think: string): boolean {
  const rest = (trajectory: Trajectory) =>
    trajectory.segments.map((segment) => (segment.tag === think ? think : JSON.stringify(segment)));
  return (
    before.answer === after.answer &&
    JSON.stringify(before.prompt) === JSON.stringify(after.prompt) &&
    JSON.stringify(rest(before)) === JSON.stringify(rest(after))
  );
}

function recordOf(trajectory: Trajectory, places: readonly number[]): string {
  const question = trajectory.prompt.findLast((message) => message.role === "user")?.content ?? "";
  const lines = trajectory.segments.map((segment, index) => {
    const number = places.indexOf(index);
    return number === -1 ? writtenForm(segment).trim() : `[thought ${number + 1}] ${segment.text.trim()}`;
  });
  return `Question: ${question}\n\nRecord:\n${lines.join("\n")}`;
}

/** Why a new thought is not taken, or null. */
function refusal(
  trajectory: Trajectory,
  index: number,
  text: string,
  profile: Profile,
  maxWords: number,
): string | null {
  if (text === "") return "empty";
  if (tagPattern(profile).test(text) || /<\|/.test(text)) return "contains a tag";
  if (text.split(/\s+/).length > maxWords) return `longer than ${maxWords} words`;
  const { segments, prompt } = trajectory;
  const known = new Set(
    [
      ...prompt.map((message) => message.content),
      ...segments.slice(0, index + 2).map((segment) => segment.text),
    ].flatMap(names),
  );
  const later = new Set(segments.slice(index + 2).flatMap((segment) => names(segment.text)));
  const foreseen = names(text).find((name) => later.has(name) && !known.has(name));
  return foreseen === undefined ? null : `knows "${foreseen}" before it is found`;
}

/** Words that are capitalised only because a sentence begins with them. */
const beginnings = new Set("the a an i it is in on at of to for from by with and or but no not now so this that these those there then first next what when where which who how if as we he she they his her its one two".split(" ")); // biome-ignore format: one list

/** Numbers and capitalised words: what a thought could give away. */
export function names(text: string): string[] {
  const found = text.match(/\p{Lu}[\p{L}\p{M}'-]+|\d[\d.,]*\d|\d+/gu) ?? [];
  return found.filter((name) => !beginnings.has(name.toLowerCase()));
}

/** The same segment with another body, white space around it kept. */
function withBody(segment: Segment, text: string): Segment {
  const { tokens: _tokens, logprobs: _logprobs, ...rest } = segment;
  const [, before = "", after = ""] = /^(\s*)[\s\S]*?(\s*)$/.exec(segment.text) ?? [];
  const body = before + text + after;
  return {
    ...rest,
    text: body,
    ...(segment.raw !== undefined && { raw: segment.raw.replace(segment.text, () => body) }),
  };
}
