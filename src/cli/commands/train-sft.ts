import { readModelUse } from "../../base/files/model-use-file.ts";
import type { Engine, Example } from "../../core/engine.ts";
import type { ModelUse } from "../../core/model-use.ts";
import { type DatasetManifest, openDataset } from "../../dataset/dataset-folder.ts";
import { loadModelConfig } from "../../engines/embedded/files/model-folder.ts";
import { parameterCount } from "../../engines/embedded/model/parameters.ts";
import { labModelUse } from "../../lab/lab-model-use.ts";
import { fixedExamples } from "../../train/example-source.ts";
import { saveTrained } from "../../train/save-trained.ts";
import { trainSft } from "../../train/train-sft.ts";
import { namedProfiles } from "../choose-profile.ts";
import { defineCommand, onePositional } from "../command.ts";
import { findTrainFolder, openTrainEngine, whereWritten } from "../open-train-engine.ts";
import { toggle } from "../setting.ts";
import { assertFits, calledAs, optimizerOf, readExamples, sftRates, trainOptions } from "./train-options.ts";

const examples = [
  "coa train sft .coa/dataset --model weights/afm-lab-2m --epochs 2 --out .coa/sft",
  "coa train sft .coa/dataset --model qwen2.5-0.5b --lora 16 --rate 2e-4",
  "coa train sft .coa/dataset --engine tinker --engine-url http://gpu:8000 --base-model Qwen/Qwen3-8B --lora 32 --model ./qwen3-8b-tokenizer",
];

export default defineCommand({
  summary: "Teach a model the chains of a dataset: only what the model writes counts, tool outputs are masked.",
  arguments: "<dataset>",
  examples,
  options: {
    ...trainOptions,
    "dry-run": toggle("Compute two batches, print memory and time of the whole, and train nothing", {
      group: "output",
    }),
  },
  reads: ["train", "engine"],
  hides: ["preset", "groups", "samples", "guard"],
  async run({ values, settings, positionals, out, signal, session }) {
    const folder = onePositional(positionals, "a dataset folder");
    const dataset = await openDataset(folder);
    const { train } = settings;
    const start = await findTrainFolder(values.model, settings.engine);
    const all = await readExamples(dataset);
    const every = train.heldOut > 0 ? Math.round(1 / train.heldOut) : 0;
    const heldOut = all.filter((_, index) => every > 0 && index % every === 0);
    const training = all.filter((_, index) => !(every > 0 && index % every === 0));
    const size = settings.engine.kind === "tinker" ? 0 : parameterCount(await loadModelConfig(start));
    const given = { parameters: size, rate: train.rate, optimizer: train.optimizer, lora: settings.engine.lora };
    const chosen = sftRates(given, (await readModelUse(start))?.training.length ?? 0);
    if (train.rate === undefined) out.note(chosen.reason);
    const source = fixedExamples(training, train.batchTokens, values.seed);
    const steps = train.steps ?? Math.max(1, Math.round(train.epochs * source.stepsPerEpoch));
    const { seed } = values;
    const optimizer = chosen.optimizer ?? train.optimizer;
    const opened = session.closeAtEnd(await openTrainEngine(settings.engine, start, { optimizer, seed }, out.note));
    const { engine, tokenizer } = opened;
    const { maxContext } = engine.capabilities;
    assertFits(dataset, { tokenizer, maxContext, name: values.model });
    if (values["dry-run"]) {
      const batches = await Promise.all([0, 1].map((step) => source.batch(step)));
      const cost = await probeTraining(engine, batches, steps);
      const text = `${steps} steps of about ${train.batchTokens} tokens: ${cost.minutes.toFixed(1)} minutes (${cost.tokensPerSecond.toFixed(0)} tokens/s measured now), at most ${(cost.peakBytes / 1e9).toFixed(1)} GB. Nothing was trained.`;
      return { json: cost, text };
    }
    const result = await trainSft({
      ...optimizerOf(train, steps, { ...chosen, schedule: { decay: "cosine" } }),
      microBatchTokens: train.microBatchTokens,
      checkpointEvery: train.checkpointEvery,
      seed,
      engine,
      source,
      steps,
      folder: values.out,
      resume: values.resume,
      evaluation: { every: Math.max(1, Math.floor(steps / 10)), examples: heldOut },
      config: { ...opened.description, dataset: folder },
      signal,
      onProgress: out.progress,
    });
    const written = opened.folders(values.out);
    const step = { stage: "sft", data: dataset.manifest.fingerprint, seed };
    const results = { steps: result.steps, loss: result.loss, ...result.figures };
    const card = { command: calledAs(), results };
    await saveTrained(written, { engine, tokenizer, from: start, use: useOf(dataset.manifest), training: step, card });
    out.endProgress();
    for (const path of result.damaged)
      out.note(`damaged and set aside, so the run went on from the checkpoint before: ${path}`);
    const heldOutLoss = result.figures["heldOutLoss"] ? `, held out ${result.figures["heldOutLoss"].toFixed(4)}` : "";
    const { model } = written;
    const done = {
      json: { ...result, ...written },
      text: `${result.steps} steps, loss ${result.loss.toFixed(4)}${heldOutLoss}. ${whereWritten(written)}\nThe curve: coa show ${values.out}`,
      notes: model ? [`next: coa eval run <tasks> --model ${model}, or coa ask "…" --model ${model}`] : [],
    };
    // Over a few steps the loss goes up and down; over many it falls, or nothing was learned.
    if (result.steps >= 20 && result.firstLoss !== undefined && !(result.loss < 0.999 * result.firstLoss)) {
      const from = `${result.firstLoss.toFixed(4)} -> ${result.loss.toFixed(4)}`;
      out.note(`The loss did not fall (${from}), so nothing was learned: try another --rate, or look at the data.`);
      return { ...done, code: 1 };
    }
    return done;
  },
});

/** What training will take, by two batches: the first one also makes the graphs, the second tells the speed. */
async function probeTraining(engine: Engine, batches: readonly (readonly Example[])[], steps: number) {
  const seconds: number[] = [];
  for (const batch of batches) {
    const started = performance.now();
    await engine.forwardBackward(batch, { name: "cross_entropy" });
    await engine.optimStep({ learningRate: 0, matrixLearningRate: 0 });
    seconds.push((performance.now() - started) / 1000);
  }
  const tokens = batches.at(-1)!.reduce((sum, { input }) => sum + input.length, 0);
  return {
    steps,
    tokensPerSecond: tokens / seconds.at(-1)!,
    minutes: (seconds[0]! + steps * seconds.at(-1)!) / 60,
    peakBytes: process.resourceUsage().maxRSS * 1024,
  };
}

/** How a dataset's chains are written, where they are all of one kind. */
export function useOf({ profiles, chains }: DatasetManifest): ModelUse | undefined {
  const [name, ...others] = Object.keys(profiles);
  if (name === undefined || others.length > 0 || chains?.question === "mixed") return undefined;
  if (name === "lab") return labModelUse([]);
  const profile = chains?.language?.profile ?? namedProfiles[name];
  if (!profile) return undefined;
  return {
    version: 1,
    language: { profile, tools: chains?.language?.tools ?? [] },
    question: chains?.question ?? "system-prompt",
    training: [],
  };
}
