/**
 * The training half of the engine: examples in, log-probabilities and gradients out, optimizer steps applied to the weights
 * in place. Examples become batches, which are divided among lanes (gradient-lane.ts): one on this thread, and for small
 * models others on threads of their own.
 */

import { checkStep, lossNumbers, tokenFactors } from "../../../base/count/policy-loss.ts";
import type { Example, ForwardResult, LossSpec, OptimizerStep } from "../../../core/engine.ts";
import { CoaError, UsageError } from "../../../core/errors.ts";
import type { Adapter } from "../lora/adapter.ts";
import type { ModelConfig } from "../model/config.ts";
import { embeddingName, headName, type ParameterSet } from "../model/parameters.ts";
import { type OptimizerName, openOptimizer } from "../optim/optimizer.ts";
import { openRuntime, type Runtime } from "../runtime/runtime.ts";
import { affordableTokens, defaultChunkRows, defaultHeadChunks } from "./batch-memory.ts";
import { checkExamples } from "./check-examples.ts";
import { addInto, createGradientLane, type Lanes, type LaneTask, type LaneThread, startLane } from "./gradient-lane.ts";
import { type LaidOutBatch, layOutBatches } from "./lay-out-batches.ts";

export interface TrainerOptions {
  config: ModelConfig;
  parameters: ParameterSet;
  runtime: Runtime;
  optimizer?: OptimizerName;
  /** Trains this adapter and leaves the parameters alone. */
  adapter?: Adapter;
  /** Leaves the embedding alone, and the head with it. */
  freezeEmbeddings?: boolean;
  /** Tokens computed at once; more are done one group after another. */
  maxBatchTokens?: number;
  /** In how many pieces the logits are computed; 8 for large vocabularies, else 1. */
  headChunks?: number;
  /** Batches computed side by side, and threads of each; the weights must be in memory that threads share. All on `runtime` by default. */
  lanes?: Lanes;
  /** How many rows of logits a piece should have; fewer pieces are used where it allows. Near 100 MB by default. */
  chunkRows?: number;
  /** Activations of a batch that would take more are computed again by layer. By default decided by the machine's free memory. */
  keptBytes?: number;
}

/** Gradients and optimizer steps for one model. */
export type Trainer = ReturnType<typeof createTrainer>;

/** A lane with fewer tokens than this is not worth its start. */
const tokensPerLane = 512;
/** Batches are made small enough for this many in each lane, so that lanes finish together. */
const piecesPerLane = 2;

export function createTrainer(options: TrainerOptions) {
  const { config, parameters, runtime, adapter, lanes, keptBytes } = options;
  const trainable = trainedParameters(options);
  const optimizer = openOptimizer(options.optimizer ?? "adamw", trainable, runtime);
  const headChunks = options.headChunks ?? defaultHeadChunks(config);
  const chunkRows = options.chunkRows ?? defaultChunkRows(config);
  const maxTokens = options.maxBatchTokens ?? affordableTokens(config, headChunks * chunkRows);
  const model = { config, parameters, adapter, trainable, headChunks, chunkRows, keptBytes };
  const own = createGradientLane(model, lanes ? openRuntime({ threads: lanes.threads }) : runtime);
  const others: LaneThread[] = [];
  let accumulated = false;
  /** A `forwardBackward` failed: what was summed is not the gradient that was asked for. */
  let incomplete = false;

  const run = async (
    kind: LaneTask["kind"],
    examples: readonly Example[],
    loss: LossSpec,
    everyLogprob: boolean,
  ): Promise<ForwardResult> => {
    checkExamples(config, examples);
    const { sharpness, ...numbers } = lossNumbers(loss);
    const factors = examples.map((example) => tokenFactors(example, loss));
    const logprobs: Float32Array[] = examples.map((example) => new Float32Array(example.targets.length));
    const total = examples.reduce((sum, { input }) => sum + input.length, 0);
    const spread = Math.max(1, Math.min(lanes?.count ?? 1, Math.floor(total / tokensPerLane)));
    const batches = layOutBatches(examples, factors, {
      maxTokens: spread > 1 ? Math.min(maxTokens, Math.ceil(total / (spread * piecesPerLane))) : maxTokens,
      everyLogprob,
    });
    const [mine = [], ...theirs] = divide(batches, spread);
    const taskOf = ({ feeds: batch }: LaidOutBatch): LaneTask => ({ kind, batch, sharpness, numbers });
    const elsewhere = theirs.map(async (share, index) => {
      others[index] ??= startLane({ model, threads: lanes!.threads });
      const { logprobs: found, gradients } = await others[index].run(share.map(taskOf));
      share.forEach((batch, at) => {
        batch.readLogprobs(found[at]!, logprobs);
      });
      return gradients;
    });
    // A lane may fail while this thread still computes.
    const finished = Promise.all(elsewhere);
    finished.catch(() => {});
    for (const batch of mine) batch.readLogprobs(await own.run(taskOf(batch)), logprobs);
    const sums = await finished;
    if (kind === "training") {
      for (const sum of sums) for (const [name, gradient] of sum) addInto(own.gradients.get(name)!, gradient);
      accumulated = true;
    }
    checkLogprobs(logprobs);
    return { logprobs };
  };

  /** What was summed, with zeros for what no batch reached. */
  const summed = (): ReadonlyMap<string, Float32Array> =>
    own.accumulated
      ? own.gradients
      : new Map(Array.from(trainable, ([name, { data }]) => [name, new Float32Array(data.length)]));

  const clearGradients = () => {
    own.clear();
    accumulated = false;
    incomplete = false;
  };

  return {
    optimizer,
    /** What `optimStep` changes: the model's parameters, or the adapter's. */
    trainable,
    /** Gradients summed since the last optimizer step, by parameter name. */
    gradients: (): ReadonlyMap<string, Float32Array> => (accumulated ? summed() : new Map()),
    clearGradients,
    forward: (examples: readonly Example[], loss: LossSpec): Promise<ForwardResult> =>
      run("scoring", examples, loss, true),
    async forwardBackward(
      examples: readonly Example[],
      loss: LossSpec,
      { everyLogprob = false } = {},
    ): Promise<ForwardResult> {
      try {
        return await run("training", examples, loss, everyLogprob);
      } catch (error) {
        incomplete = true;
        throw error;
      }
    },
    async optimStep(step: OptimizerStep): Promise<{ gradientNorm: number }> {
      if (incomplete) {
        clearGradients();
        throw new CoaError(
          "engine",
          "no step was taken: a forwardBackward before it failed; its gradients are forgotten",
        );
      }
      if (!accumulated) throw new UsageError("optimStep without gradients; call forwardBackward first");
      checkStep(step);
      try {
        return { gradientNorm: await optimizer.step(trainable, summed(), step) };
      } finally {
        clearGradients();
      }
    },
    async close(): Promise<void> {
      await Promise.all([own.close(), ...others.map((lane) => lane.close())]);
    },
  };
}

/** What training changes: the adapter, or the parameters, maybe without the two tables of the vocabulary. */
function trainedParameters({ parameters, adapter, freezeEmbeddings }: TrainerOptions): ParameterSet {
  if (adapter) return adapter.parameters;
  if (!freezeEmbeddings) return parameters;
  return new Map([...parameters].filter(([name]) => name !== embeddingName && name !== headName));
}

/** Shares of nearly equal size, the largest batches given out first; the same division every time. */
function divide(batches: readonly LaidOutBatch[], lanes: number): LaidOutBatch[][] {
  const shares = Array.from({ length: Math.min(lanes, batches.length) }, () => ({
    tokens: 0,
    batches: [] as LaidOutBatch[],
  }));
  const sizeOf = ({ feeds }: LaidOutBatch) => feeds.tokens.data.length;
  for (const batch of batches.toSorted((a, b) => sizeOf(b) - sizeOf(a))) {
    const share = shares.reduce((least, other) => (other.tokens < least.tokens ? other : least));
    share.tokens += sizeOf(batch);
    share.batches.push(batch);
  }
  return shares.map((share) => share.batches);
}

function checkLogprobs(logprobs: readonly Float32Array[]): void {
  logprobs.forEach((row, number) => {
    const token = row.findIndex(Number.isNaN);
    if (token >= 0) {
      throw new CoaError(
        "engine",
        `example ${number}, token ${token}: the log-probability is not a number; the weights have diverged, load an earlier state`,
      );
    }
  });
}
