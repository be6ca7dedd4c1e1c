/** Flags that both kinds of training share, and what is made of them. */
import type { Schedule } from "../../train/schedule.ts";
import { numberOf, type Options } from "../command.ts";
import { engineFlags } from "../open-train-engine.ts";

/** Flags of the optimizer, the schedule and the run's folder. */
export const trainFlags = {
  out: { type: "string", default: ".coa/train", valueName: "folder", describe: "The run's folder: configuration, metrics, checkpoints, model" },
  resume: { type: "string", default: "auto", valueName: "how", describe: "auto continues a run of the same settings, never refuses one, fresh deletes it" },
  seed: { type: "string", default: "1", valueName: "n", describe: "Seed of order and sampling" },
  rate: { type: "string", valueName: "lr", describe: "Peak learning rate" },
  "matrix-rate": { type: "string", valueName: "lr", describe: "Peak learning rate of matrices with --optimizer muon" },
  "weight-decay": { type: "string", default: "0", valueName: "x", describe: "Decoupled weight decay" },
  clip: { type: "string", default: "1", valueName: "norm", describe: "Largest gradient norm" },
  warmup: { type: "string", default: "10", valueName: "steps", describe: "Steps of linear warm-up" },
  "micro-tokens": { type: "string", valueName: "n", describe: "Most padded tokens computed at once; more are accumulated" },
  "checkpoint-every": { type: "string", valueName: "steps", describe: "Steps between checkpoints" },
  ...engineFlags,
} as const satisfies Options; // biome-ignore format: one flag a line

/**
 * Rates that suit a model of this size, where none is given: a small one from scratch learns with Muon at a high rate, one
 * that was trained before at a fifth of it, a large one at the usual rates of fine-tuning.
 */
export function usualRates(
  parameters: number,
  given: { rate?: string; optimizer: string; lora?: string },
  trainedBefore: number,
): { rate: number; flags: Record<string, string>; reason: string } {
  const size = parameters === 0 ? "on the server" : `${(parameters / 1e6).toPrecision(3)} M parameters`;
  if (given.rate !== undefined || given.optimizer === "muon")
    return { rate: 1e-4, flags: {}, reason: `Rate 1e-4 (${size}).` };
  if (given.lora !== undefined && given.lora !== "0")
    return { rate: 2e-4, flags: {}, reason: `Rate 2e-4 for an adapter (${size}).` };
  if (parameters === 0 || parameters > 50e6)
    return { rate: 1e-5, flags: {}, reason: `Rate 1e-5 for all weights (${size}).` };
  const share = trainedBefore > 0 ? 0.2 : 1;
  const [rate, matrix] = [1.5e-3 * share, 5e-3 * share];
  const why = trainedBefore > 0 ? "trained before" : "from scratch";
  return {
    rate,
    flags: { optimizer: "muon", "matrix-rate": String(matrix) },
    reason: `Muon at rates ${rate} and ${matrix} for a small model ${why} (${size}); --rate and --optimizer override.`,
  };
}

type TrainValues = {
  [K in keyof typeof trainFlags]: (typeof trainFlags)[K]["type"] extends "boolean" ? boolean : string | undefined;
};

/** Numbers of the shared flags, checked. */
export function readTrainFlags(
  values: TrainValues,
  defaults: { rate: number; checkpointEvery: number; decay: Schedule["decay"] },
) {
  return {
    seed: numberOf(values.seed, "seed", { min: 0, integer: true })!,
    optimizer: {
      learningRate: numberOf(values.rate, "rate", { min: 0 }) ?? defaults.rate,
      matrixLearningRate: numberOf(values["matrix-rate"], "matrix-rate", { min: 0 }),
      weightDecay: numberOf(values["weight-decay"], "weight-decay", { min: 0 }),
      gradientClip: numberOf(values.clip, "clip", { min: 0 }),
      beta1: 0.9,
      beta2: 0.95,
    },
    schedule: { warmupSteps: numberOf(values.warmup, "warmup", { min: 0, integer: true })!, decay: defaults.decay },
    microBatchTokens: numberOf(values["micro-tokens"], "micro-tokens", { min: 64, integer: true }),
    checkpointEvery:
      numberOf(values["checkpoint-every"], "checkpoint-every", { min: 1, integer: true }) ?? defaults.checkpointEvery,
  };
}
