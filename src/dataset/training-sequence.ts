/**
 * One line of a dataset: the token ids of a trajectory and how much each counts. Weights are stored as stretches of equal
 * weight, because nearly all of a sequence is either learned or not; engines get them spread out.
 */
import { z } from "zod";
import type { Example } from "../core/engine.ts";

export const trainingSequenceSchema = z.object({
  id: z.string(),
  taskId: z.string(),
  profile: z.string(),
  /** Id of the team run that the trajectory was distilled from. */
  run: z.string().optional(),
  tokens: z.array(z.number().int().nonnegative()),
  /** Stretches of equal weight that are not 0: first token, one past the last, weight. The rest is only read. */
  spans: z.array(z.tuple([z.number(), z.number(), z.number()])),
  promptLength: z.number(),
  /** Segments left out at the end because of the length. */
  cutSegments: z.number(),
});

/** What an engine learns from one trajectory. */
export type TrainingSequence = z.infer<typeof trainingSequenceSchema>;

/** Stretches of equal weight that are not 0. */
export function spansOf(weights: readonly number[]): TrainingSequence["spans"] {
  const spans: TrainingSequence["spans"] = [];
  weights.forEach((weight, index) => {
    if (weight === 0) return;
    const last = spans.at(-1);
    if (last && last[1] === index && last[2] === weight) last[1] = index + 1;
    else spans.push([index, index + 1, weight]);
  });
  return spans;
}

/** How much predicting each token counts; 0 on prompt and observations. */
export function weightsOf({ tokens, spans }: Pick<TrainingSequence, "tokens" | "spans">): Float32Array {
  const weights = new Float32Array(tokens.length); // [token]
  for (const [start, end, weight] of spans) weights.fill(weight, start, end);
  return weights;
}

export function trainedTokens({ spans }: Pick<TrainingSequence, "spans">): number {
  return spans.reduce((sum, [start, end]) => sum + end - start, 0);
}

/** A sequence in the shifted form that engines consume. */
export function sequenceToExample(sequence: Pick<TrainingSequence, "tokens" | "spans">): Example {
  return {
    input: Int32Array.from(sequence.tokens.slice(0, -1)),
    targets: Int32Array.from(sequence.tokens.slice(1)),
    weights: weightsOf(sequence).slice(1),
  };
}
