/** What all training commands share: their own flags, and what is made of the section `train`. */
import type { Schedule } from "../../train/schedule.ts";
import type { Options } from "../command.ts";
import { choice, text, whole } from "../setting.ts";
import type { Section } from "../settings/index.ts";

/** Flags of every training command. */
export const trainOptions = {
  model: text("Model folder to start from; of a server's model, the tokenizer", { valueName: "folder", group: "model" }),
  out: text("The run's folder: configuration, metrics, checkpoints, model", { default: ".coa/train", valueName: "folder", group: "output" }),
  resume: choice(["auto", "never", "fresh"], "Continue a run of the same settings, refuse one, or delete it first", { default: "auto", valueName: "how", group: "output" }),
  seed: whole("Seed of order and sampling", { default: 1, min: 0, valueName: "n" }),
} as const satisfies Options; // biome-ignore format: one flag a line

/**
 * Rates that suit a model of this size, where none is set: a small one from scratch learns with Muon at a high rate, one
 * that was trained before at a fifth of it, a large one at the usual rates of fine-tuning.
 */
export function usualRates(
  parameters: number,
  { rate, optimizer, lora }: { rate?: number; optimizer: string; lora?: number },
  trainedBefore: number,
): { rate: number; matrixRate?: number; optimizer?: "muon"; reason: string } {
  const size = parameters === 0 ? "on the server" : `${(parameters / 1e6).toPrecision(3)} M parameters`;
  if (rate !== undefined || optimizer === "muon") return { rate: 1e-4, reason: `Rate 1e-4 (${size}).` };
  if (lora) return { rate: 2e-4, reason: `Rate 2e-4 for an adapter (${size}).` };
  if (parameters === 0 || parameters > 50e6) return { rate: 1e-5, reason: `Rate 1e-5 for all weights (${size}).` };
  const share = trainedBefore > 0 ? 0.2 : 1;
  const [small, matrixRate] = [1.5e-3 * share, 5e-3 * share];
  const why = trainedBefore > 0 ? "trained before" : "from scratch";
  return {
    rate: small,
    matrixRate,
    optimizer: "muon",
    reason: `Muon at rates ${small} and ${matrixRate} for a small model ${why} (${size}); --rate and --optimizer override.`,
  };
}

/** The optimizer and the schedule that the settings describe. */
export function optimizerOf(
  settings: Section<"train">,
  defaults: { rate: number; matrixRate?: number; decay: Schedule["decay"] },
) {
  return {
    optimizer: {
      learningRate: settings.rate ?? defaults.rate,
      matrixLearningRate: settings.matrixRate ?? defaults.matrixRate,
      weightDecay: settings.weightDecay,
      gradientClip: settings.gradientClip,
      beta1: 0.9,
      beta2: 0.95,
    },
    schedule: { warmupSteps: settings.warmup, decay: defaults.decay },
  };
}
