/** Keeps what was taught before while something else is trained. */
import type { ExampleSource } from "./example-source.ts";
import type { ExtraLoss } from "./extra-loss.ts";

/**
 * Imitates a batch of these examples (usually demonstrations) in every update. It changes little else: examples that the model
 * still knows have almost no loss.
 */
export function guard(source: ExampleSource, coefficient = 1): ExtraLoss {
  return { name: "guard", coefficient, data: source.fingerprint, batch: (update) => source.batch(update) };
}
