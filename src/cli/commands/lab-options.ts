/** The flags that say which lab world is meant, shared by the lab's commands. */

import { UsageError } from "../../core/errors.ts";
import type { WorldOptions } from "../../lab/create-world.ts";
import { numberOf, type Options } from "../command.ts";

/** Flags of a world. */
export const worldFlags = {
  seed: { type: "string", default: "0", valueName: "n", describe: "Which world; two seeds share no names" },
  pages: { type: "string", default: "600", valueName: "n", describe: "How many pages" },
  split: { type: "string", default: "train", describe: "train or test: they share neither names nor numbers" },
} as const satisfies Options;

/** The world that the flags name. */
export function worldOptionsOf(values: { seed: string; pages: string; split: string }): WorldOptions {
  if (values.split !== "train" && values.split !== "test") {
    throw new UsageError(`--split takes train or test, not "${values.split}"`);
  }
  return {
    seed: numberOf(values.seed, "seed", { min: 0, integer: true })!,
    pages: numberOf(values.pages, "pages", { min: 20, integer: true })!,
    split: values.split,
  };
}
