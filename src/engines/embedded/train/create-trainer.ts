/**
 * The training half of the engine without any thread around it: examples in, log-probabilities and gradients out,
 * optimizer steps applied to the weights in place. A graph for each kind of batch is compiled when first needed and kept.
 */
import type { ForwardResult, LossSpec, OptimizerStep, PassOptions } from "../../../core/engine.ts";
import { CoaError, UsageError } from "../../../core/errors.ts";
import type { Example } from "../../../core/example.ts";
import { checkStep, lossNumbers, tokenFactors } from "../../../core/policy-loss.ts";
import type { Adapter } from "../lora/adapter.ts";
import { chunkFeeds } from "../loss/chunked-head.ts";
import { type CompiledGraph, compile } from "../model/compile.ts";
import type { ModelConfig } from "../model/config.ts";
import { embeddingName, headName, type ParameterSet } from "../model/parameters.ts";
import { type BatchShape, layoutBlocks, layoutFeeds } from "../model/row-layout.ts";
import { type Optimizer, type OptimizerName, openOptimizer } from "../optim/optimizer.ts";
import type { HostTensor, Runtime, Session } from "../runtime/runtime.ts";
import { affordableTokens, defaultChunkRows, defaultHeadChunks } from "./batch-memory.ts";
import { checkExamples } from "./check-examples.ts";
import { type LaidOutBatch, layOutBatches } from "./lay-out-batches.ts";

/** What a trainer works on. */
export interface TrainerOptions {
  config: ModelConfig;
  parameters: ParameterSet;
  runtime: Runtime;
  optimizer?: OptimizerName;
  /** Trains this adapter and leaves the parameters alone. */
  adapter?: Adapter;
  /** Tokens computed at once; more are done one group after another. */
  maxBatchTokens?: number;
  /** In how many pieces the logits are computed; 8 for large vocabularies, else 1. */
  headChunks?: number;
  /** How many rows of logits a piece should have; fewer pieces are used where it allows. Near 100 MB by default. */
  chunkRows?: number;
}

/** Gradients and optimizer steps for one model. */
export interface Trainer {
  forward(examples: readonly Example[], loss: LossSpec): Promise<ForwardResult>;
  forwardBackward(examples: readonly Example[], loss: LossSpec, options?: PassOptions): Promise<ForwardResult>;
  optimStep(step: OptimizerStep): Promise<{ gradientNorm: number }>;
  /** Gradients summed since the last optimizer step, by parameter name. */
  gradients(): ReadonlyMap<string, Float32Array>;
  /** Forgets the gradients summed so far. */
  clearGradients(): void;
  readonly optimizer: Optimizer;
  /** What `optimStep` changes: the model's parameters, or the adapter's. */
  readonly trainable: ParameterSet;
  close(): Promise<void>;
}

interface LoadedGraph extends CompiledGraph {
  session: Session;
}

/** Creates a trainer. */
export function createTrainer(options: TrainerOptions): Trainer {
  const { config, parameters, runtime, adapter } = options;
  const trainable = adapter?.parameters ?? parameters;
  const trainableNames = new Set(trainable.keys());
  const optimizer = openOptimizer(options.optimizer ?? "adamw", trainable, runtime);
  const headChunks = options.headChunks ?? defaultHeadChunks(config);
  const chunkRows = options.chunkRows ?? defaultChunkRows(config);
  const maxTokens = options.maxBatchTokens ?? affordableTokens(config, headChunks * chunkRows);
  const graphs = new Map<string, Promise<LoadedGraph>>();
  const gradients = new Map<string, Float32Array>();
  const scratch = new Map<string, Float32Array>();
  let accumulated = false;
  /** A `forwardBackward` failed: what was summed is not the gradient that was asked for. */
  let incomplete = false;
  const feedsOfWeights: Record<string, HostTensor> = Object.fromEntries([
    ...parameters,
    ...(adapter?.parameters ?? []),
  ]);

  const graphFor = (kind: "training" | "scoring", shape: BatchShape): Promise<LoadedGraph> => {
    const blocks = layoutBlocks(config, shape);
    const key = `${kind} ${JSON.stringify(blocks)}`;
    let loaded = graphs.get(key);
    if (!loaded) {
      const compiled = compile(config, { kind, blocks, headChunks, trainable: trainableNames, adapter });
      loaded = runtime.load(compiled.graph.encode()).then((session) => ({ ...compiled, session }));
      graphs.set(key, loaded);
    }
    return loaded;
  };

  const run = async (
    kind: "training" | "scoring",
    examples: readonly Example[],
    loss: LossSpec,
    everyLogprob: boolean,
  ): Promise<ForwardResult> => {
    checkExamples(config, examples);
    const { sharpness, ...numbers } = lossNumbers(loss);
    const factors = examples.map((example) => tokenFactors(example, loss));
    const logprobs: Float32Array[] = examples.map((example) => new Float32Array(example.targets.length));
    for (const batch of layOutBatches(examples, factors, { maxTokens, everyLogprob })) {
      const loaded = await graphFor(kind, batch.shape);
      const feeds: Record<string, HostTensor> = {
        ...feedsOfWeights,
        ...layoutFeeds(config, batch.shape),
        ...chunkFeeds(batch.targets.data.length, headChunks, chunkRows),
        tokens: batch.tokens,
        targets: batch.targets,
        sharpness: { data: Float32Array.of(sharpness), shape: [] },
      };
      if (kind === "training") {
        Object.assign(feeds, { factor: batch.factor, old: batch.old });
        for (const [name, value] of Object.entries(numbers)) feeds[name] = { data: Float32Array.of(value), shape: [] };
      }
      const results = await loaded.session.run(feeds, kind === "training" ? places(loaded) : {});
      batch.readLogprobs(results["logprobs"]!, logprobs);
      if (kind === "training") collect(loaded, results, batch);
    }
    if (kind === "training" && !accumulated) beginWithZeros();
    checkLogprobs(logprobs);
    return { logprobs };
  };

  /** A pass that teaches nothing has a gradient too: nothing. */
  const beginWithZeros = () => {
    for (const [name, { data }] of trainable) {
      if (!gradients.has(name)) gradients.set(name, new Float32Array(data.length));
    }
    accumulated = true;
  };

  /** Where the graph writes gradients: straight into the sums when those are empty, beside them otherwise. */
  const places = (loaded: LoadedGraph): Record<string, HostTensor> => {
    const store = accumulated ? scratch : gradients;
    return Object.fromEntries(
      loaded.gradientNames.map((name) => {
        const { shape, data } = trainable.get(name)!;
        let place = store.get(name);
        if (!place) store.set(name, (place = new Float32Array(data.length)));
        return [`gradient:${name}`, { data: place, shape }];
      }),
    );
  };

  const collect = (loaded: LoadedGraph, results: Record<string, Float32Array>, batch: LaidOutBatch): void => {
    if (accumulated) {
      for (const name of loaded.gradientNames) addInto(gradients.get(name)!, scratch.get(name)!);
    }
    accumulated = true;
    const { embedding, head } = loaded.tableRows;
    const width = config.hiddenSize;
    if (head) {
      const table = gradients.get(config.tieEmbeddings ? embeddingName : headName)!;
      addRows(table, results["headRows"]!, batch.targets.data, width);
    }
    if (embedding) {
      let table = gradients.get(embeddingName);
      if (!table) gradients.set(embeddingName, (table = new Float32Array(config.vocabularySize * width)));
      addRows(table, results["embeddingRows"]!, batch.tokens.data, width);
    }
  };

  const clearGradients = () => {
    for (const gradient of gradients.values()) gradient.fill(0);
    accumulated = false;
    incomplete = false;
  };

  return {
    optimizer,
    trainable,
    gradients: () => (accumulated ? gradients : new Map()),
    clearGradients,
    forward: (examples, loss) => run("scoring", examples, loss, true),
    async forwardBackward(examples, loss, { everyLogprob = false } = {}) {
      try {
        return await run("training", examples, loss, everyLogprob);
      } catch (error) {
        incomplete = true;
        throw error;
      }
    },
    async optimStep(step) {
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
        return { gradientNorm: await optimizer.step(trainable, gradients, step) };
      } finally {
        clearGradients();
      }
    },
    async close() {
      for (const loaded of graphs.values()) await (await loaded).session.release();
      graphs.clear();
    },
  };
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

function addInto(target: Float32Array, values: Float32Array): void {
  for (let index = 0; index < target.length; index++) target[index]! += values[index]!;
}

/** Adds row i of `rows` to row `indices[i]` of the table, in order: the same sum every time, whatever the threads do. */
function addRows(table: Float32Array, rows: Float32Array, indices: BigInt64Array, width: number): void {
  for (let row = 0; row < indices.length; row++) {
    const target = Number(indices[row]!) * width;
    const source = row * width;
    for (let index = 0; index < width; index++) table[target + index]! += rows[source + index]!;
  }
}
