/** How many tokens of a sample are asked for, and which of those that come are kept. */
import type { WireSamples } from "../../base/wire/tinker.ts";
import { endsAtStop, type Sample, type SampleRequest } from "../../core/engine.ts";

/** The next of the steps, or what is wanted where that has no room: the room itself differs with every prompt. */
export function roundedUp(wanted: number, steps: readonly number[] | undefined, room: number): number {
  return steps?.find((step) => step >= wanted && step <= room) ?? wanted;
}

/** What was asked for of a sample: at most `maxTokens`, and nothing after the first stop. */
export function cutSample(
  { tokens, logprobs, stop_reason }: WireSamples["sequences"][number],
  maxTokens: number,
  request: SampleRequest,
): Pick<Sample, "tokens" | "logprobs" | "finish"> {
  const stop = tokens.findIndex((_, at) => endsAtStop(tokens, at + 1, request, at + 1));
  const length = Math.min(tokens.length, maxTokens, stop === -1 ? tokens.length : stop + 1);
  const stopped = stop !== -1 && stop < length;
  const finish = stopped ? "stop" : length < tokens.length ? "length" : stop_reason;
  return { tokens: tokens.slice(0, length), logprobs: logprobs.slice(0, length), finish };
}
