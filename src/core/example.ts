/**
 * An example is what an engine consumes: token ids, the targets they should predict, and per-token weights. Everything is
 * pre-shifted: `targets[i]` is what comes after `input[i]`. Weight (or advantage) 0 is the mask: prompts and
 * observations carry 0 and therefore teach nothing.
 */
export interface Example {
  input: Int32Array; // [token]
  targets: Int32Array; // [token], full sequence shifted left by one
  /** Cross-entropy weight of each target. */
  weights?: Float32Array; // [token]
  /** Log-probability of each target under the policy that sampled it. */
  oldLogprobs?: Float32Array; // [token]
  /** Advantage of each target; 0 on tokens the model did not write. */
  advantages?: Float32Array; // [token]
}
