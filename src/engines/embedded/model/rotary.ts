/** How fast each pair of a head turns with the position: powers of theta, stretched for long waves where Llama 3.1 does so. */
import type { ModelConfig } from "./config.ts";

/** Llama 3.1's stretching: waves longer than the context it was first trained with turn `factor` times slower. */
export interface RopeScaling {
  factor: number;
  lowFrequencyFactor: number;
  highFrequencyFactor: number;
  originalContext: number;
}

/** The frequency of every pair of a head, fastest first. */
export function rotaryFrequencies({
  headSize,
  ropeTheta,
  ropeScaling,
}: Pick<ModelConfig, "headSize" | "ropeTheta" | "ropeScaling">): Float64Array {
  const pairs = headSize / 2;
  const plain = Float64Array.from({ length: pairs }, (_, pair) => ropeTheta ** (-pair / pairs));
  if (!ropeScaling) return plain;
  const { factor, lowFrequencyFactor: low, highFrequencyFactor: high, originalContext } = ropeScaling;
  return plain.map((frequency) => {
    // How many waves fit the original context: few: stretched; many: unchanged; between the two: interpolated.
    const waves = (originalContext * frequency) / (2 * Math.PI);
    const kept = Math.min(1, Math.max(0, (waves - low) / (high - low)));
    return frequency * (kept + (1 - kept) / factor);
  });
}
