/**
 * A tokenizer, a dataset and a new model: the copy task first, then short chains mixed with reading examples, then
 * chains of all kinds, then a second round at a lower rate. The smallest size takes the shipped model instead.
 */
import { cp } from "node:fs/promises";
import { join } from "node:path";
import { readJsonl } from "../../base/files/read-jsonl.ts";
import type { Example } from "../../core/engine.ts";
import type { Tokenizer } from "../../core/tokenizer.ts";
import { type Trajectory, trajectoryText } from "../../core/trajectory.ts";
import { trajectorySchema } from "../../core/trajectory-schema.ts";
import { buildDataset, openDataset } from "../../dataset/dataset-folder.ts";
import { sequenceToExample } from "../../dataset/training-sequence.ts";
import { trajectoryToExample } from "../../dataset/trajectory-to-example.ts";
import { openEmbeddedEngine } from "../../engines/embedded/embedded-engine.ts";
import { modelConfig } from "../../engines/embedded/model/config.ts";
import { parameterCount } from "../../engines/embedded/model/parameters.ts";
import { tagTokens } from "../../language/profile.ts";
import { trainTokenizer } from "../../tokenizers/train-tokenizer.ts";
import { fixedExamples } from "../../train/example-source.ts";
import { saveTrained } from "../../train/save-trained.ts";
import { type SftResult, trainSft } from "../../train/train-sft.ts";
import { copyTask, inSequence } from "../copy-task.ts";
import { labModelUse } from "../lab-model-use.ts";
import { trainingWorld } from "../lab-runs.ts";
import { labProfile } from "../profile.ts";
import { isReadingQuestion, readingExamples } from "../reading-examples.ts";
import { exampleChain, modelFolder, shippedModel } from "./open-model.ts";
import type { QuickstartContext, Stage, StageFigures } from "./stage.ts";

/** Longest chain that is trained on and sampled. */
export const maxContext = 1024;

export const sftStage: Stage = {
  name: "sft",
  what: "a small transformer learns to write such texts (supervised fine-tuning; tool outputs are masked); with --fast the shipped one stands in",
  async run(context, folder): Promise<StageFigures> {
    const { settings, seed, signal, onProgress } = context;
    const { sft, model } = settings;
    if (sft === "shipped") {
      await cp(shippedModel, modelFolder(context.folder, "sft"), { recursive: true });
      const example = `it writes: ${await exampleChain(shippedModel)}`;
      return { model: "the shipped one (weights/afm-lab-2m)", line: "the shipped model stands in", example };
    }
    const chains = join(context.folder, "distill", "trajectories.jsonl");
    const tokenizer = await trainOwnTokenizer(chains, settings.vocabulary);
    await buildDataset(readJsonl(chains, trajectorySchema), {
      folder: join(folder, "dataset"),
      tokenizer,
      maxTokens: maxContext,
      signal,
    });
    const { easy, all, fingerprint } = await readExamples(join(folder, "dataset"));
    const reading = readReadingExamples(context, sft.readingWorlds, tokenizer);
    const readingLater = (sft.secondRound?.readingSteps ?? 0) > 0;
    const batches = (examples: readonly Example[], salt: number) =>
      fixedExamples(examples, sft.batchTokens, seed + salt);
    const rounds = [
      {
        folder: "run",
        peak: 1,
        phases: [
          { source: copying(tokenizer, seed), steps: sft.copySteps },
          { source: batches([...easy, ...(readingLater ? [] : reading)], 0), steps: sft.easySteps },
          { source: batches(all, 1), steps: sft.steps },
        ],
      },
      ...(sft.secondRound
        ? [
            {
              folder: "run-2",
              peak: sft.secondRound.peak,
              phases: [
                { source: batches([...all, ...reading], 2), steps: sft.secondRound.readingSteps },
                { source: batches(all, 3), steps: sft.secondRound.steps },
              ],
            },
          ]
        : []),
    ];
    const config = modelConfig({ vocabularySize: tokenizer.vocabularySize, ...model, maxContext });
    const engine = await openEmbeddedEngine({
      config,
      seed,
      copyInit: true,
      optimizer: "muon",
    });
    try {
      let result: SftResult | undefined;
      for (const { phases, peak, ...round } of rounds) {
        result = await trainSft({
          engine,
          source: { ...inSequence(phases), fingerprint },
          folder: join(folder, round.folder),
          resume: "auto",
          seed,
          steps: phases.reduce((sum, { steps }) => sum + steps, 0),
          optimizer: {
            learningRate: sft.rate * peak,
            matrixLearningRate: sft.matrixRate * peak,
            beta1: 0.9,
            beta2: 0.95,
            gradientClip: 1,
          },
          schedule: { warmupSteps: 30, decay: "linear", decayShare: 0.75, floor: 0.02 },
          checkpointEvery: 100,
          config: { model, sft },
          signal,
          onProgress,
        });
      }
      const training = { stage: "sft", data: fingerprint, seed };
      const into = { model: modelFolder(context.folder, "sft") };
      await saveTrained(into, { engine, tokenizer, use: labModelUse([]), training });
      const parameters = parameterCount(config);
      const steps = rounds.flatMap(({ phases }) => phases).reduce((sum, { steps }) => sum + steps, 0);
      const loss = result?.loss ?? 0;
      const line = `${(parameters / 1e6).toFixed(1)} million weights learned ${all.length} chains in ${steps} steps; loss per token ${loss.toPrecision(2)}`;
      const example = `it writes: ${await exampleChain(into.model)}`;
      return { parameters, steps, "loss per token": loss, line, example };
    } finally {
      await engine.close();
    }
  },
};

/** A vocabulary learned from the first chains; enough to have seen every word shape. */
async function trainOwnTokenizer(chains: string, vocabularySize: number): Promise<Tokenizer> {
  const texts: string[] = [];
  for await (const { prompt, segments } of readJsonl<Trajectory>(chains)) {
    // A space first, as after an opening tag: a name in the question is then the same tokens as in the chain.
    texts.push(prompt.map((message) => ` ${message.content}`).join(""), trajectoryText(segments));
    if (texts.length >= 2000) break;
  }
  return trainTokenizer(texts, { vocabularySize, specialTokens: tagTokens([labProfile]), prompt: "question" });
}

async function readExamples(folder: string): Promise<{ easy: Example[]; all: Example[]; fingerprint: string }> {
  const dataset = await openDataset(folder);
  const all: Example[] = [];
  const easy: Example[] = [];
  for await (const sequence of dataset.sequences()) {
    const example = sequenceToExample(sequence);
    all.push(example);
    if (/-(hop1|arith)$/.test(sequence.taskId)) easy.push(example);
  }
  return { easy: easy.length > 0 ? easy : all, all, fingerprint: dataset.manifest.fingerprint };
}

/** Reading examples from the team's first training worlds; their questions have no weight. */
function readReadingExamples({ seed, settings }: QuickstartContext, count: number, tokenizer: Tokenizer): Example[] {
  const worlds = Array.from({ length: count }, (_, number) => trainingWorld({ seed, pages: settings.pages }, number));
  return worlds
    .flatMap(readingExamples)
    .map((one) => trajectoryToExample(one, tokenizer, { weightOf: (segment) => (isReadingQuestion(segment) ? 0 : 1) }))
    .flatMap(({ example }) => example ?? []);
}

/** The copy task over printable text tokens. */
function copying(tokenizer: Tokenizer, seed: number) {
  const special = new Set(tokenizer.specialTokens.values());
  const printable = (token: number) => tokenizer.tokenBytes(token).every((byte) => byte >= 32 && byte < 127);
  const tokens = Array.from({ length: tokenizer.vocabularySize }, (_, token) => token).filter(
    (token) => !special.has(token) && printable(token),
  );
  const digits = [..."0123456789"].flatMap((digit) => tokenizer.encode(digit));
  return copyTask({ tokens, digits, tokensPerBatch: 2048, length: 256, seed });
}
