/** What a training request and its answer must be like, whatever server they go to. */

import type { Example } from "../../core/engine.ts";
import { CoaError } from "../../core/errors.ts";

/** A row for each example, a number for each target: anything else would be taken for other tokens' log-probabilities. */
export function checkAnswer(examples: readonly Example[], logprobs: readonly Float32Array[]): void {
  const wrong = examples.findIndex(({ targets }, at) => logprobs[at]?.length !== targets.length);
  if (logprobs.length === examples.length && wrong === -1) return;
  const at = Math.max(wrong, 0);
  const said = `${logprobs[at]?.length ?? 0} log-probabilities for the ${examples[at]?.targets.length ?? 0} targets`;
  throw new CoaError("format", `the server's answer has ${said} of example ${at + 1} of ${examples.length}`);
}

/** What the server would refuse, reported before it is sent. */
export function checkExamples(examples: readonly Example[], vocabularySize: number, maxContext: number): void {
  for (const [number, { input, targets }] of examples.entries()) {
    if (input.length > maxContext)
      throw new CoaError("usage", `example ${number}: ${input.length} tokens are more than the model's ${maxContext}`);
    for (const ids of [input, targets]) {
      const bad = ids.find((id) => id < 0 || id >= vocabularySize);
      if (bad !== undefined)
        throw new CoaError("usage", `example ${number}: token ${bad} is not in the vocabulary of ${vocabularySize}`);
    }
  }
}
