/** For servers that compile for every length: few lengths are trained and asked for, and what was wanted is cut from the answers. */
import { onesFor, type WireSamples } from "../../base/wire/tinker.ts";
import { type Example, endsAtStop, type LossSpec, type Sample, type SampleRequest } from "../../core/engine.ts";

/**
 * An example filled up to the next of the steps with tokens that teach nothing. Where the server takes the mean over an example's
 * targets (`byLength`), advantages rise with their number, so that the loss stays what it was.
 */
export function filledUp(example: Example, loss: LossSpec, steps: readonly number[], byLength: boolean): Example {
  const { length } = example.input;
  const whole = steps.find((step) => step >= length) ?? length;
  if (whole === length) return example;
  const fill = <T extends Int32Array | Float32Array>(values: T, into: T): T => {
    into.set(values);
    return into;
  };
  const floats = (values: Float32Array | undefined) => values && fill(values, new Float32Array(whole));
  const factor = byLength ? whole / length : 1;
  const { weights = loss.name === "cross_entropy" ? onesFor(example) : undefined } = example;
  return {
    input: fill(example.input, new Int32Array(whole)),
    targets: fill(example.targets, new Int32Array(whole)),
    weights: floats(weights),
    oldLogprobs: floats(example.oldLogprobs),
    advantages: floats(example.advantages?.map((advantage) => advantage * factor)),
  };
}

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
