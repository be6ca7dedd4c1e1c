/**
 * AdamW: a running mean of the gradient divided by the square root of a running mean of its square, with weight decay
 * applied to the weights directly. Decay touches matrices only; shrinking norms and biases does not help.
 */
import type { OptimizerStep } from "../../../core/engine.ts";
import type { Parameter } from "../model/parameters.ts";

/** The two running means of one tensor. */
export interface AdamMoments {
  first: Float32Array;
  second: Float32Array;
}

/** Fresh moments for a tensor. */
export function adamMoments(size: number): AdamMoments {
  return { first: new Float32Array(size), second: new Float32Array(size) };
}

/** Updates one tensor in place. `count` is the number of this step, from 1; `gradientScale` multiplies the gradient first. */
export function adamW(
  parameter: Parameter,
  gradient: Float32Array,
  moments: AdamMoments,
  step: OptimizerStep,
  count: number,
  gradientScale: number,
): void {
  const { data } = parameter;
  const { first, second } = moments;
  const beta1 = step.beta1 ?? 0.9;
  const beta2 = step.beta2 ?? 0.95;
  const epsilon = step.epsilon ?? 1e-8;
  const keep = 1 - step.learningRate * (parameter.shape.length > 1 ? (step.weightDecay ?? 0) : 0);
  const rate = step.learningRate / (1 - beta1 ** count);
  const secondScale = 1 / (1 - beta2 ** count);
  for (let index = 0; index < data.length; index++) {
    const slope = gradient[index]! * gradientScale;
    const mean = beta1 * first[index]! + (1 - beta1) * slope;
    const square = beta2 * second[index]! + (1 - beta2) * slope * slope;
    first[index] = mean;
    second[index] = square;
    data[index] = data[index]! * keep - (rate * mean) / (Math.sqrt(square * secondScale) + epsilon);
  }
}
