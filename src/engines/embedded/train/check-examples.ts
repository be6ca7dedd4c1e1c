/** Refuses examples a model can't read, before anything is computed. */

import type { Example } from "../../../core/engine.ts";
import { UsageError } from "../../../core/errors.ts";
import type { ModelConfig } from "../model/config.ts";

/** Throws, naming the example and the token, unless every example fits the model. */
export function checkExamples(
  config: Pick<ModelConfig, "maxContext" | "vocabularySize">,
  examples: readonly Example[],
): void {
  examples.forEach((example, number) => {
    const { length } = example.input;
    const fail = (what: string): never => {
      throw new UsageError(`example ${number}: ${what}`);
    };
    if (length === 0) fail("it has no tokens");
    if (length > config.maxContext) fail(`${length} tokens are more than the model's ${config.maxContext}`);
    for (const key of ["targets", "weights", "oldLogprobs", "advantages"] as const) {
      const list = example[key];
      if (list && list.length !== length) fail(`${key} has ${list.length} entries for ${length} tokens`);
    }
    for (const key of ["input", "targets"] as const) {
      const bad = example[key].findIndex((token) => token < 0 || token >= config.vocabularySize);
      if (bad >= 0) fail(`${key}[${bad}] is ${example[key][bad]}, the vocabulary has ${config.vocabularySize} entries`);
    }
    for (const key of ["weights", "oldLogprobs", "advantages"] as const) {
      const bad = example[key]?.findIndex((value) => !Number.isFinite(value)) ?? -1;
      if (bad >= 0) fail(`${key}[${bad}] is ${example[key]![bad]}`);
    }
  });
}
