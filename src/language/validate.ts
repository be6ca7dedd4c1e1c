/**
 * The validator walks a chain through its profile's state machine and lists every violation with its position and the
 * name of the rule. It never stops at the first: a filter wants to know all, and a repair wants to know which. Segments
 * by the runtime (a format error shown to the model, a request to answer) are not written by the model and pass.
 */

import { asObject, parseJson } from "../core/json-value.ts";
import { looseText, type Segment, type Violation } from "../core/trajectory.ts";
import { readJsonAnswer } from "./json-schema.ts";
import { readRatings, readScore } from "./judgement.ts";
import {
  advance,
  allowedNext,
  type BodyFormat,
  type ChainState,
  type Profile,
  startState,
  successors,
  tagNames,
  tagSpec,
} from "./profile.ts";

/** Lists every rule that the segments break; `partial` accepts a chain that has not ended yet. */
export function validateSegments(
  profile: Profile,
  segments: readonly Segment[],
  options: { partial?: boolean } = {},
): Violation[] {
  const violations: Violation[] = [];
  const tagInText = tagPattern(profile);
  let state = startState();
  segments.forEach((segment, index) => {
    const report = (rule: string, message: string) => violations.push({ rule, segment: index, message });
    if (segment.by === "runtime") {
      if (segment.tag === profile.observation) state = advance(profile, state, segment);
      return;
    }
    if (segment.tag === looseText) {
      if (segment.text.trim() !== "") report("loose-text", `text outside any tag: ${excerpt(segment.text)}`);
      return;
    }
    const order = orderViolation(profile, state, segment);
    if (order) report(order.rule, order.message);
    const body = segment.by === "model" ? bodyViolation(profile, segment, tagInText) : null;
    if (body) report(body.rule, body.message);
    state = advance(profile, state, segment);
  });
  const last = Math.max(0, segments.length - 1);
  if (!options.partial) {
    if (state.openCalls > 0) {
      violations.push({
        rule: "observation-missing",
        segment: last,
        message: "the chain ends before the tool's observation",
      });
    }
    if (!state.ended) violations.push({ rule: "answer-missing", segment: last, message: `no <${profile.answer}>` });
  }
  return violations;
}

interface Finding {
  rule: string;
  message: string;
}

/** Why this tag is not allowed here, or null where it is. */
function orderViolation(profile: Profile, state: ChainState, segment: Segment): Finding | null {
  const { tag } = segment;
  const spec = tagSpec(profile, tag);
  if (!spec && tag !== profile.think && tag !== profile.observation) {
    return { rule: "unknown-tag", message: `<${tag}> is not a tag of the ${profile.name} profile` };
  }
  if (tag === profile.observation && segment.by === "model") {
    return { rule: "author", message: "the model wrote an observation of its own" };
  }
  if (allowedNext(profile, state).includes(tag)) return null;
  if (state.ended) return { rule: "after-answer", message: `<${tag}> after the answer` };
  if (state.openCalls > 0) {
    return { rule: "observation-missing", message: `<${tag}> before the observation of <${state.last}>` };
  }
  if (tag === profile.observation) {
    return { rule: "observation-misplaced", message: "an observation where no tool was called" };
  }
  if (tag === profile.think) {
    return { rule: "think-misplaced", message: `no think may follow <${state.last}>` };
  }
  const after = state.last === null ? "at the start" : `after <${state.last}>`;
  if (!successors(profile, state).includes(tag)) {
    const spent = (state.counts[tag] ?? 0) >= (spec?.maxTimes ?? Number.POSITIVE_INFINITY);
    if (spent) return { rule: "too-many", message: `<${tag}> may be used ${spec?.maxTimes} time(s)` };
    return { rule: state.last === null ? "start" : "successor", message: `<${tag}> is not allowed ${after}` };
  }
  if (state.gate && !state.gate.leaves.includes(tag)) {
    return {
      rule: `gate-${state.gate.tag}`,
      message: `${after} only ${state.gate.leaves.join(", ")} is allowed, not <${tag}>`,
    };
  }
  if (!state.thought) return { rule: "think-missing", message: `<${tag}> needs a <${profile.think}> before it` };
  return { rule: "think-misplaced", message: `no think may stand before <${tag}>` };
}

/** What is wrong with what the model wrote between the tags, or null. */
function bodyViolation(profile: Profile, segment: Segment, tagInText: RegExp): Finding | null {
  if (segment.text.trim() === "") return { rule: "empty-body", message: `<${segment.tag}> is empty` };
  const nested = tagInText.exec(segment.text);
  if (nested) return { rule: "tag-in-text", message: `the body of <${segment.tag}> contains ${nested[0]}` };
  const spec = tagSpec(profile, segment.tag);
  const problem = spec ? bodyProblem(spec.body, segment.text) : null;
  return problem && spec ? { rule: `body-${spec.body.kind}`, message: `<${segment.tag}>: ${problem}` } : null;
}

/** Why a body is not in its format, or null. Strict: leniency belongs to the runtime, not to training data. */
export function bodyProblem(format: BodyFormat, text: string): string | null {
  switch (format.kind) {
    case "text":
      return null;
    case "urls":
      return text.split("|").every((part) => /^\s*(?:https?:\/\/)?[^\s|]+\s*$/.test(part))
        ? null
        : "expected URLs joined with |";
    case "code":
      return codeProblem(format, text.trim());
    case "json": {
      const fenced = /^```json[^\S\n]*\n([\s\S]*?)\n?```$/.exec(text.trim());
      if (!fenced) return "expected a ```json fence";
      const value = parseJson(fenced[1] ?? "");
      if (value === undefined) return "the JSON cannot be parsed";
      return asObject(value) ? null : "expected a JSON object";
    }
    case "schema": {
      const read = readJsonAnswer(format.schema, text);
      return "problem" in read ? read.problem : null;
    }
    case "ratings": {
      const ratings = readRatings(text, format.criteria);
      const missing = format.criteria.filter((_, index) => ratings[index] === null);
      if (missing.length > 0) return `no rating for ${missing.join(", ")}`;
      const known = new Set(format.values.map((value) => value.toLowerCase()));
      const odd = ratings.find((rating) => !known.has(rating?.toLowerCase() ?? ""));
      return odd ? `"${odd}" is none of ${format.values.join(", ")}` : null;
    }
    case "score": {
      const score = readScore(text);
      const fits = score !== null && Number.isInteger(score) && score >= format.min && score <= format.max;
      return fits ? null : `expected a whole number from ${format.min} to ${format.max}`;
    }
    default:
      return format satisfies never;
  }
}

function codeProblem(format: Extract<BodyFormat, { kind: "code" }>, text: string): string | null {
  if (format.fence === null) return text.startsWith("```") ? "expected bare code, without a fence" : null;
  const program = new RegExp(`^\`\`\`${format.fence}\\n[\\s\\S]*?\\n\`\`\``).exec(text);
  if (!program) return `expected one \`\`\`${format.fence} fence`;
  const rest = text.slice(program[0].length).trim();
  if (rest === "") return null;
  if (!format.stdin) return "only one fence is allowed";
  return /^```sh\n[\s\S]*?\n?```$/.test(rest) && rest.indexOf("```", 3) === rest.length - 3
    ? null
    : "after the program only one ```sh fence with its stdin may follow";
}

/** Opening or closing form of any of the profile's tags. */
export function tagPattern(profile: Profile): RegExp {
  let pattern = tagPatterns.get(profile);
  if (!pattern) tagPatterns.set(profile, (pattern = new RegExp(`</?(?:${tagNames(profile).join("|")})\\s*>`)));
  return pattern;
}

const tagPatterns = new WeakMap<Profile, RegExp>();

function excerpt(text: string): string {
  const line = text.trim().replace(/\s+/g, " ");
  return line.length > 60 ? `${line.slice(0, 60)}…` : line;
}
