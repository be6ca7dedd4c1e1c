/** What all training commands share: their own flags, and what is made of the section `train`. */
import { redactText } from "../../base/redact/redact-text.ts";
import { redactedText } from "../../base/redact/secret-names.ts";
import type { Example } from "../../core/engine.ts";
import { UsageError } from "../../core/errors.ts";
import type { Tokenizer } from "../../core/tokenizer.ts";
import type { openDataset } from "../../dataset/dataset-folder.ts";
import { sequenceToExample } from "../../dataset/training-sequence.ts";
import type { Schedule } from "../../train/schedule.ts";
import type { Options } from "../command.ts";
import { choice, text, whole } from "../setting.ts";
import type { Section } from "../settings/index.ts";

export const trainOptions = {
  model: text("Model folder to start from; of a server's model, the tokenizer", { valueName: "folder", group: "model" }),
  out: text("The run's folder: configuration, metrics, checkpoints, model", { default: ".coa/train", valueName: "folder", group: "output" }),
  resume: choice(["auto", "never", "fresh"], "Continue a run of the same settings, refuse one, or delete it first", { default: "auto", valueName: "how", group: "output" }),
  seed: whole("Seed of order and sampling", { default: 1, min: 0, valueName: "n" }),
} as const satisfies Options; // biome-ignore format: one flag a line

/** The command as it was called, for the model card; secrets that were typed are left out. */
export function calledAs(): string | undefined {
  const at = process.argv.indexOf("train");
  const words = process.argv.slice(at).map((word) => word.replace(/^([\w.]+\.key)=.*/s, `$1=${redactedText}`));
  return at === -1 ? undefined : redactText(`coa ${words.join(" ")}`);
}

/** What a rate is chosen by: the size (0 on a server), and what was set. */
interface Trained {
  parameters: number;
  rate?: number;
  optimizer: string;
  lora?: number;
}

/** A model of this size learned at the rates below; a larger one takes as much less as it is larger, down to the usual ones. */
const measuredSize = 135e6;
const fullRates = { sft: [3e-4, 1e-5], rl: [1e-4, 1e-6] } as const;
const adapterRates = { sft: [2e-4, 2e-4], rl: [1e-4, 4e-5] } as const;

/** The rate of fine-tuning or reinforcement that suits a model of this size, all of it or an adapter, where none is set. */
export function usualRate(stage: "sft" | "rl", { parameters, lora }: Trained): { rate: number; reason: string } {
  const [high, low] = (lora ? adapterRates : fullRates)[stage];
  const share = parameters === 0 ? 0 : Math.min(1, measuredSize / parameters);
  const small = stage === "rl" && parameters > 0 && parameters <= 50e6;
  const rate = small ? 3e-4 : Number(Math.max(low, high * share).toPrecision(2));
  const size = parameters === 0 ? "on the server" : `${(parameters / 1e6).toPrecision(3)} M parameters`;
  return { rate, reason: `Rate ${rate} for ${lora ? "an adapter" : "all weights"} (${size}); --rate overrides.` };
}

/**
 * Rates of sft, where none is set: a small model from scratch learns with Muon at a high rate, one that was trained before at a
 * fifth of it, a large one at the usual rate of fine-tuning.
 */
export function sftRates(
  trained: Trained,
  trainedBefore: number,
): { rate: number; matrixRate?: number; optimizer?: "muon"; reason: string } {
  const { parameters, rate, optimizer, lora } = trained;
  const usual = usualRate("sft", trained);
  if (rate !== undefined || optimizer === "muon" || lora || parameters === 0 || parameters > 50e6) return usual;
  const share = trainedBefore > 0 ? 0.2 : 1;
  const [small, matrixRate] = [1.5e-3 * share, 5e-3 * share];
  const why = trainedBefore > 0 ? "trained before" : "from scratch";
  return {
    rate: small,
    matrixRate,
    optimizer: "muon",
    reason: `Muon at rates ${small} and ${matrixRate} for a small model ${why} (${(parameters / 1e6).toPrecision(3)} M parameters); --rate and --optimizer override.`,
  };
}

/** The optimizer and the schedule that the settings describe. */
export function optimizerOf(
  settings: Section<"train">,
  steps: number,
  defaults: { rate: number; matrixRate?: number; schedule: Partial<Schedule> },
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
    schedule: { warmupSteps: settings.warmup ?? Math.min(10, Math.round(steps / 10)), ...defaults.schedule },
  };
}

type OpenedDataset = Awaited<ReturnType<typeof openDataset>>;

/** The examples of a dataset folder, for a model that must know its vocabulary. */
export async function readExamples(dataset: OpenedDataset): Promise<Example[]> {
  const examples: Example[] = [];
  for await (const sequence of dataset.sequences()) examples.push(sequenceToExample(sequence));
  return examples;
}

/** Refuses a dataset whose ids or lengths are not the model's. */
export function assertFits(
  { manifest }: OpenedDataset,
  model: { tokenizer: Tokenizer; maxContext: number; name: string | undefined },
): void {
  const { tokenizer, maxContext, name } = model;
  if (manifest.tokens.longest > maxContext)
    throw new UsageError(
      `the longest example has ${manifest.tokens.longest} tokens, the model's context is ${maxContext}: build the dataset with --max-tokens ${maxContext}`,
    );
  if (tokenizer.vocabularySize !== manifest.vocabularySize)
    throw new UsageError(
      `the dataset was made with a vocabulary of ${manifest.vocabularySize}, the model has ${tokenizer.vocabularySize}: build the dataset with --tokenizer ${name}`,
    );
}
