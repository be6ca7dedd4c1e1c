import { readModelUse } from "../../base/files/model-use-file.ts";
import { openDataset } from "../../dataset/dataset-folder.ts";
import { loadModelConfig } from "../../engines/embedded/files/model-folder.ts";
import { parameterCount } from "../../engines/embedded/model/parameters.ts";
import { fixedExamples } from "../../train/example-source.ts";
import { saveTrained } from "../../train/save-trained.ts";
import { trainSft } from "../../train/train-sft.ts";
import { defineCommand, numberOf, onePositional } from "../command.ts";
import { choiceOf } from "../flag-values.ts";
import { findTrainFolder, openTrainEngine, whereWritten } from "../open-train-engine.ts";
import { assertFits, readExamples } from "../read-examples.ts";
import { useOf } from "../trained-use.ts";
import { readTrainFlags, trainFlags, usualRates } from "./train-flags.ts";

const examples = [
  "coa train sft .coa/dataset --model weights/afm-lab-2m --epochs 2 --out .coa/sft",
  "coa train sft .coa/dataset --model qwen2.5-0.5b --lora 16 --rate 2e-4",
  "coa train sft .coa/dataset --engine tinker --engine-url http://gpu:8000 --base-model Qwen/Qwen3-8B --lora 32 --model ./qwen3-8b-tokenizer",
];

export default defineCommand({
  name: "train sft",
  summary: "Teach a model the chains of a dataset: only what the model writes counts, tool outputs are masked.",
  arguments: "<dataset>",
  examples,
  options: {
    model: {
      type: "string",
      short: "m",
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
    const folder = onePositional(this, positionals, "a dataset folder");
    const dataset = await openDataset(folder);
    const start = findTrainFolder(values, { name: "train sft", example: examples[0]! });
    const all = await readExamples(dataset);
    const share = numberOf(values["held-out"], "held-out", { min: 0, max: 0.5 })!;
    const heldOut = all.filter((_, index) => share > 0 && index % Math.round(1 / share) === 0);
    const training = all.filter((_, index) => !(share > 0 && index % Math.round(1 / share) === 0));
    const far = values.engine === "tinker";
    const size = far ? 0 : parameterCount(await loadModelConfig(start));
    const chosen = usualRates(size, values, (await readModelUse(start))?.training.length ?? 0);
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
    const opened = await openTrainEngine({ ...values, ...chosen.flags }, start, out.note);
    const { engine, tokenizer } = opened;
    try {
      const { maxContext } = engine.capabilities;
      assertFits(dataset, { tokenizer, maxContext, name: values.model });
      const result = await trainSft({
        ...flags,
        engine,
        source,
        steps,
        folder: values.out,
        resume: choiceOf(values.resume, "resume", ["auto", "never", "fresh"]),
        evaluation: {
          every: Math.max(1, Math.floor(steps / 10)),
          examples: heldOut,
          earlyStop: patience === undefined ? undefined : { figure: "heldOutLoss", patience },
        },
        config: { ...opened.description, dataset: folder },
        signal,
        onProgress: out.progress,
      });
      const written = opened.folders(values.out);
      const training = { stage: "sft", data: dataset.manifest.fingerprint, seed: flags.seed };
      await saveTrained(written, { engine, tokenizer, from: start, use: useOf(dataset.manifest), training });
      out.endProgress();
      if (values.json) out.json({ ...result, ...written });
      else {
        out.print(
          `${result.steps} steps, loss ${result.loss.toFixed(4)}${result.figures["heldOutLoss"] ? `, held out ${result.figures["heldOutLoss"].toFixed(4)}` : ""}. ${whereWritten(written)}\nThe curve: coa show ${values.out}`,
        );
        if (written.model)
          out.note(`next: coa eval run <tasks> --model ${written.model}, or coa ask "…" --model ${written.model}`);
      }
      // Over a few steps the loss goes up and down; over many it falls, or nothing was learned.
      if (result.steps >= 20 && result.firstLoss !== undefined && !(result.loss < 0.999 * result.firstLoss)) {
        const from = `${result.firstLoss.toFixed(4)} -> ${result.loss.toFixed(4)}`;
        out.note(`The loss did not fall (${from}), so nothing was learned: try another --rate, or look at the data.`);
        return 1;
      }
      return 0;
    } finally {
      await opened.close();
    }
  },
});
