import { join } from "node:path";
import { readModelUse } from "../../base/files/model-use-file.ts";
import { packageVersion } from "../../base/files/package-version.ts";
import { UsageError } from "../../core/errors.ts";
import type { Example } from "../../core/example.ts";
import { openDataset } from "../../dataset/dataset-folder.ts";
import { sequenceToExample } from "../../dataset/training-sequence.ts";
import { openEmbeddedEngine } from "../../engines/embedded/embedded-engine.ts";
import { loadModelConfig } from "../../engines/embedded/files/model-folder.ts";
import { parameterCount } from "../../engines/embedded/model/parameters.ts";
import { loadTokenizer } from "../../tokenizers/load-tokenizer.ts";
import { fixedExamples } from "../../train/example-source.ts";
import { trainSft } from "../../train/train-sft.ts";
import { defineCommand, numberOf, onePositional } from "../command.ts";
import { findModel } from "../find-model.ts";
import { saveTrainedUse } from "../trained-use.ts";
import { readTrainFlags, trainFlags, usualRates } from "./train-flags.ts";

const examples = [
  "coa train sft .coa/dataset --model weights/afm-lab-2m --epochs 2 --out .coa/sft",
  "coa train sft .coa/dataset --model qwen2.5-0.5b --lora 16 --rate 2e-4",
];

export default defineCommand({
  name: "train sft",
  summary: "Teach a model the chains of a dataset: only what the model writes counts, tool outputs are masked.",
  arguments: "<dataset>",
  examples,
  options: {
    model: {
      type: "string",
      valueName: "folder",
      describe: "Model to start from (make a new one with: coa model new)",
    },
    epochs: { type: "string", default: "2", valueName: "n", describe: "Passes over the dataset" },
    steps: { type: "string", valueName: "n", describe: "Updates, instead of --epochs" },
    "batch-tokens": {
      type: "string",
      default: "4096",
      valueName: "n",
      describe: "Tokens per update, padding included",
    },
    "held-out": {
      type: "string",
      default: "0.02",
      valueName: "share",
      describe: "Share of the examples kept back to measure the loss on",
    },
    patience: {
      type: "string",
      valueName: "n",
      describe: "Stop when the held-out loss has not improved for n evaluations",
    },
    ...trainFlags,
  },
  async run({ values, positionals, out, signal }) {
    const folder = onePositional({ name: "train sft", examples }, positionals, "a dataset folder");
    if (!values.model)
      throw new UsageError(`coa train sft needs a model to start from: --model <folder>. Example: ${examples[0]}`);
    const dataset = await openDataset(folder);
    const start = findModel({ model: values.model }, { lab: false });
    if (start.kind !== "folder")
      throw new UsageError(`${values.model} is not a model folder: coa train sft trains weights here`);
    const tokenizer = await loadTokenizer(start.folder);
    const config = await loadModelConfig(start.folder);
    if (dataset.manifest.tokens.longest > config.maxContext)
      throw new UsageError(
        `the longest example has ${dataset.manifest.tokens.longest} tokens, the model's context is ${config.maxContext}: build the dataset with --max-tokens ${config.maxContext}`,
      );
    if (tokenizer.vocabularySize !== dataset.manifest.vocabularySize) {
      throw new UsageError(
        `the dataset was made with a vocabulary of ${dataset.manifest.vocabularySize}, the model has ${tokenizer.vocabularySize}: build the dataset with --tokenizer ${values.model}`,
      );
    }
    const all: Example[] = [];
    for await (const sequence of dataset.sequences()) all.push(sequenceToExample(sequence));
    const share = numberOf(values["held-out"], "held-out", { min: 0, max: 0.5 })!;
    const heldOut = all.filter((_, index) => share > 0 && index % Math.round(1 / share) === 0);
    const training = all.filter((_, index) => !(share > 0 && index % Math.round(1 / share) === 0));
    const chosen = usualRates(parameterCount(config), values, (await readModelUse(start.folder))?.training.length ?? 0);
    if (values.rate === undefined) out.note(chosen.reason);
    const flags = readTrainFlags({ ...values, ...chosen.flags } as never, {
      rate: chosen.rate,
      checkpointEvery: 200,
      decay: "cosine",
    });
    const source = fixedExamples(
      training,
      numberOf(values["batch-tokens"], "batch-tokens", { min: 64, integer: true })!,
      flags.seed,
    );
    const epochs = numberOf(values.epochs, "epochs", { min: 0 })!;
    const steps =
      numberOf(values.steps, "steps", { min: 1, integer: true }) ??
      Math.max(1, Math.round(epochs * source.stepsPerEpoch));
    const patience = numberOf(values.patience, "patience", { min: 1, integer: true });
    const engine = await openEmbeddedEngine({ folder: start.folder, ...flags.engine });
    try {
      const result = await trainSft({
        ...flags,
        engine,
        source,
        steps,
        folder: values.out,
        resume: values.resume,
        evaluation: {
          every: Math.max(1, Math.floor(steps / 10)),
          examples: heldOut,
          earlyStop: patience === undefined ? undefined : { figure: "heldOutLoss", patience },
        },
        config: {
          model: start.folder,
          dataset: folder,
          optimizerName: flags.engine.optimizer,
          lora: values.lora ?? null,
        },
        codeVersion: packageVersion(),
        signal,
        onProgress: out.progress,
      });
      const model = join(values.out, "model");
      await engine.saveModel(model);
      await tokenizer.save(model);
      const data = dataset.manifest.fingerprint;
      await saveTrainedUse(
        model,
        { model: start.folder, dataset: dataset.manifest },
        { stage: "sft", data, seed: flags.seed },
      );
      out.endProgress();
      if (values.json) out.json({ ...result, model });
      else
        out.print(
          `${result.steps} steps, loss ${result.loss.toFixed(4)}${result.figures["heldOutLoss"] ? `, held out ${result.figures["heldOutLoss"].toFixed(4)}` : ""}. The model: ${model}\nThe curve: coa train plot ${values.out}`,
        );
      return 0;
    } finally {
      await engine.close();
    }
  },
});
