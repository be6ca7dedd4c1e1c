import { number, text, whole } from "../setting.ts";

/** The training server of this machine. */
export const trainer = {
  checkpoints: text("Where saved weights are kept", { default: ".coa/trainer" }),
  maxModels: whole("Max adapters under training at the same time", { default: 4 }),
  maxMemoryGb: number("Max memory for the base, adapters and published policies (default: 60 % of this machine's)", { min: 0.001 }),
  workdir: text("Link the model here under its name, so that Python clients started there find its tokenizer"),
  threads: whole("Threads (default: all cores)"),
} as const; // biome-ignore format: one setting a line
