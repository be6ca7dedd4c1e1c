/** What comes back from a training server: checked, or told in words that say what to do. */
import { prettifyError, type z } from "zod";
import type { Example } from "../../core/engine.ts";
import { CoaError, messageOf } from "../../core/errors.ts";
import type { TinkerResult } from "./tinker-client.ts";

/** A server that was started again does not know the model any more; the run's own checkpoint does. */
export function asRestart(error: unknown): never {
  if (!/\b(?:model|session)\b.*\b(?:not loaded|not found|does not exist|unknown)\b/i.test(messageOf(error)))
    throw error;
  const said = messageOf(error);
  throw new CoaError(
    "engine",
    `the server does not have this run's model any more (${said}): was it started again? Run the same command again: it continues from its last checkpoint`,
    { cause: error },
  );
}

export function answerOf<Shape extends z.ZodType>(schema: Shape, json: unknown): z.output<Shape> {
  const parsed = schema.safeParse(json);
  if (parsed.success) return parsed.data;
  throw new CoaError("format", `the server's answer is not as agreed: ${prettifyError(parsed.error)}`);
}

export function jsonOf(result: TinkerResult): Record<string, unknown> {
  if (!result.json) throw new CoaError("format", "the server answered with bytes where JSON was expected");
  return result.json;
}

/** A row for each example, a number for each target: anything else would be taken for other tokens' log-probabilities. */
export function checkAnswer(examples: readonly Example[], logprobs: readonly Float32Array[]): void {
  const wrong = examples.findIndex(({ targets }, at) => logprobs[at]?.length !== targets.length);
  if (logprobs.length === examples.length && wrong === -1) return;
  const at = Math.max(wrong, 0);
  const said = `${logprobs[at]?.length ?? 0} log-probabilities for the ${examples[at]?.targets.length ?? 0} targets`;
  throw new CoaError("format", `the server's answer has ${said} of example ${at + 1} of ${examples.length}`);
}
