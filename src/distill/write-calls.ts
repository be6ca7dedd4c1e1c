/**
 * Tool calls as the chain makes them: the tag with its body, then the observation as the runtime would show it. Calls
 * made together are in one turn where the profile allows that. A call that has brought its result before is left out: a
 * sub-agent that could not see it had to ask again, the chain already contains it. A retry that went better stays.
 */

import type { TeamToolCall } from "../core/team-run.ts";
import type { Segment } from "../core/trajectory.ts";
import { callArguments, callKey, writeCallBody } from "../language/call-body.ts";
import { errorText, observation, outputText } from "../language/observation.ts";
import type { Profile, TagSpec } from "../language/profile.ts";
import { tagOfTool } from "../language/tool-tags.ts";
import { type ChainDraft, ConversionError, fits, leaveOut, pushBody, pushSegment, writeTag } from "./chain-draft.ts";

/** The tag by which a profile looks back on its work. */
export function reflectionTagOf(profile: Profile): TagSpec | undefined {
  return profile.tags.find((tag) => tag.name === "reflection" || tag.body.kind === "ratings");
}

/** Writes the calls of one step of the run. */
export function writeCalls(
  draft: ChainDraft,
  calls: readonly TeamToolCall[],
  stepOf: Readonly<Record<string, string>> = {},
): void {
  const fresh = calls.filter(
    (call, place) => !isRepeated(draft, call) && !calls.slice(0, place).some((other) => isTwin(call, other)),
  );
  draft.repeatedCalls += calls.length - fresh.length;
  const repeated = new Set(calls.filter((call) => !fresh.includes(call)).map((call) => stepOf[call.id] ?? draft.step));
  for (const step of repeated) leaveOut(draft, step, "the same call had brought the same result before");
  // What was thought for calls that are left out goes with them.
  for (const call of fresh) repeated.delete(stepOf[call.id] ?? draft.step);
  draft.thoughts = draft.thoughts.filter((thought) => !repeated.has(thought.step));
  const together = Math.max(1, Math.min(draft.profile.maxParallelCalls, fresh.length));
  for (let from = 0; from < fresh.length; from += together)
    writeTogether(draft, fresh.slice(from, from + together), stepOf);
}

function isRepeated({ results }: ChainDraft, call: TeamToolCall): boolean {
  const shown = call.error ?? call.result;
  return shown !== undefined && results.get(keyOf(call)) === shown;
}

/** Made twice in one go, with one result. */
function isTwin(call: TeamToolCall, other: TeamToolCall): boolean {
  return keyOf(call) === keyOf(other) && call.result === other.result && call.error === other.error;
}

function keyOf(call: TeamToolCall): string {
  return callKey(call.name, callArguments(call.arguments));
}

function writeTogether(
  draft: ChainDraft,
  calls: readonly TeamToolCall[],
  stepOf: Readonly<Record<string, string>>,
): void {
  const { profile, options } = draft;
  const observations: { segment: Segment; step: string }[] = [];
  for (const call of calls) {
    const step = stepOf[call.id] ?? draft.step;
    const tag = tagOfTool(profile, call.name, options.toolTags, callArguments(call.arguments));
    if (!tag) {
      const problem = `no tag of the ${profile.name} profile calls "${call.name}"; map it with toolTags`;
      throw new ConversionError("unknown-tool", step, problem);
    }
    if (call.result === undefined && call.error === undefined) {
      throw new ConversionError("observation-missing", step, `the result of ${call.name} was not recorded`);
    }
    const body = writeCallBody(tag, call.arguments);
    if (draft.state.openCalls > 0) pushBody(draft, tag.name, body, { step });
    else {
      if (!fits(draft, tag)) reflectBetween(draft, tag);
      writeTag(draft, tag, body, `next: ${excerpt(body)}`, { step });
    }
    observations.push({ segment: observationOf(draft, call, tag), step });
  }
  for (const { segment, step } of observations) pushSegment(draft, segment, step);
}

/** A reflection between two programs, where the profile wants one and the record has only thoughts. */
function reflectBetween(draft: ChainDraft, next: TagSpec): void {
  const tag = reflectionTagOf(draft.profile);
  if (!fits(draft, tag) || tag.body.kind !== "text" || !tag.next.includes(next.name)) return;
  const { thoughts, weakThoughts } = draft;
  const thought = thoughts.length > 1 ? thoughts.shift() : weakThoughts.at(-1);
  if (thought === undefined) {
    if (!draft.options.fill) return;
    draft.filledThoughts++;
  }
  const origin = thought ? { step: thought.step } : { filled: true as const };
  writeTag(draft, tag, thought?.text ?? "the output is noted", "judge the output", origin);
}

function observationOf(draft: ChainDraft, call: TeamToolCall, { tool, name }: TagSpec): Segment {
  const { profile, results } = draft;
  const called = tool ?? name;
  const ok = call.error === undefined;
  results.set(keyOf(call), call.error ?? call.result!);
  const output = ok ? outputText(call.result) : errorText(called, call.error!);
  const { segment, cutCharacters } = observation(profile, output, "tool");
  const timed = call.startedAt !== undefined && call.endedAt !== undefined;
  if (timed) Object.assign(segment, { startedAt: call.startedAt, endedAt: call.endedAt });
  const ms = timed ? call.endedAt! - call.startedAt! : 0;
  segment.call = { tool: called, input: callArguments(call.arguments), ok, ms };
  if (cutCharacters > 0) segment.call.cutCharacters = cutCharacters;
  return segment;
}

function excerpt(body: string): string {
  const line = body
    .replace(/```\w*/g, " ")
    .replace(/\s+/g, " ")
    .trim();
  return line.length > 60 ? `${line.slice(0, 60)}…` : line;
}
