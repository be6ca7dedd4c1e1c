/**
 * What is learned beside the reward: demonstrations that must not be lost (`guard`), a model that scores the student's tokens
 * (`teacher`), a corrector of failed rollouts (`corrections`). The loop knows only this interface.
 */
import type { Example } from "../core/engine.ts";
import type { Tokenizer } from "../core/tokenizer.ts";
import type { TrainedExample } from "./credit-group.ts";
import type { ExampleSource } from "./example-source.ts";
import type { Group } from "./sort-groups.ts";

/** The rollouts of a step before its updates. */
export interface ExtraLossStep {
  groups: readonly Group[];
  /** Their credited examples; a loss may add to the advantages. */
  trained: readonly TrainedExample[];
  tokenizer: Tokenizer;
  maxContext: number;
  /** Temperature that the rollouts were sampled with. */
  temperature: number;
  signal?: AbortSignal;
}

export interface ExtraLoss {
  readonly name: string;
  readonly coefficient: number;
  /** Names the data that it learns from in the run's configuration. */
  readonly data?: string;
  /** Keeps groups whose rewards are all equal: there is something to learn from them too. */
  readonly keepsAll?: boolean;
  /** Refuses a student that it does not fit, before anything is sampled. */
  check?(student: Tokenizer): void;
  /** Called before the updates of a step. The examples returned are imitated, an equal part in every update of a pass. @internal */
  beforeUpdates?(step: ExtraLossStep): Promise<{ examples: Example[]; figures: Record<string, number> } | undefined>;
  batch?(update: number): Promise<Example[]> | Example[];
}

/**
 * Imitates a batch of these examples (usually demonstrations) in every update. It changes little else: examples that the model
 * still knows have almost no loss.
 */
export function guard(source: ExampleSource, coefficient = 1): ExtraLoss {
  return { name: "guard", coefficient, data: source.fingerprint, batch: (update) => source.batch(update) };
}
