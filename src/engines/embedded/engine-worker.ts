/**
 * The thread that computes. It owns weights, gradients, optimizer and sampler. Calls are answered in order; between them,
 * and between the groups of one call, the sampler advances by a step whenever it has something to do, so rollouts advance
 * while gradients are computed. The sampler holds its own copy of the weights, as they were when they were published.
 */

import { availableParallelism } from "node:os";
import { workerData } from "node:worker_threads";
import { answerCalls, plainError, postFromThread } from "../../base/work/thread.ts";
import { CoaError, UsageError } from "../../core/errors.ts";
import type {
  EmbeddedEngineOptions,
  EngineCalls,
  FromWorker,
  SharedEngineOptions,
  ToWorker,
} from "./engine-messages.ts";
import { loadAdapterFolder, saveAdapterFolder } from "./files/adapter-folder.ts";
import { loadModelFolder, saveModelFolder } from "./files/model-folder.ts";
import { type Adapter, createAdapter, mergedParameters } from "./lora/adapter.ts";
import type { ModelConfig } from "./model/config.ts";
import { initialParameters, parameterCount } from "./model/parameters.ts";
import { openRuntime } from "./runtime/runtime.ts";
import { createSampler, type Sampler } from "./sample/create-sampler.ts";
import type { SamplerRequest } from "./sample/sampler.ts";
import { isWide } from "./sample/wide-thread.ts";
import { type SharedBase, shareParameters } from "./shared-base.ts";
import { loadStateFolder, saveStateFolder } from "./state-folder.ts";
import { createTrainer } from "./train/create-trainer.ts";
import { chooseLanes } from "./train/gradient-lane.ts";

/** Models of so many parameters or fewer are trained whole by default. */
const smallModel = 50e6;

const post = (message: FromWorker) => postFromThread(message);

async function main(options: EmbeddedEngineOptions | SharedEngineOptions): Promise<void> {
  const threads = options.threads ?? availableParallelism();
  const runtime = openRuntime({ threads: options.threads });
  const { config, folder: companions, ...weights } = await weightsOf(options);
  const exact = options.precision !== "8bit";
  const lanes = exact ? chooseLanes(config, threads) : undefined;
  const parameters = lanes && !("base" in options) ? shareParameters(weights.parameters) : weights.parameters;
  const adapter = await openAdapter(config, options.lora, lanes !== undefined);
  const trainer = createTrainer({
    config,
    parameters,
    runtime,
    adapter,
    optimizer: options.optimizer,
    freezeEmbeddings: !(options.trainEmbeddings ?? (!("folder" in options) || parameterCount(config) <= smallModel)),
    maxBatchTokens: options.maxBatchTokens,
    lanes,
  });
  const state = { config, parameters, adapter, optimizer: trainer.optimizer, sampleSeed: 1, shared: "base" in options };

  // With an adapter, what is sampled from and saved as a model is the sum of base and adapter.
  const effective = adapter ? mergedParameters(parameters, adapter) : parameters;
  /** Policies by number: 0 is renewed by each publication, the others are pinned to the weights they were made with. */
  const policies = new Map<number, { sampler: Sampler; version: number }>();
  const wide = isWide(config, options.precision);
  const openSampler = () =>
    createSampler(config, effective, {
      threads,
      maxBatch: options.maxBatch,
      cacheBytes: options.cacheBytes,
      precision: options.precision,
      wide,
    });
  let nextPolicy = 1;
  /** The renewed policy does not have the latest weights yet. */
  let outdated = true;
  /** Gives the weights as they are to the renewed policy; its sequences under way continue with them. */
  const publish = (): Sampler => {
    const version = trainer.optimizer.steps;
    let live = policies.get(0);
    if (!live) policies.set(0, (live = { sampler: openSampler(), version }));
    else if (outdated) {
      live.sampler.weightsChanged();
      live.version = version;
    }
    outdated = false;
    return live.sampler;
  };
  const publishPinned = (): number => {
    policies.set(nextPolicy, { sampler: openSampler(), version: trainer.optimizer.steps });
    return nextPolicy++;
  };
  const weightsChanged = () => {
    outdated = true;
  };

  let pumping = false;
  const pump = () => {
    pumping = false;
    for (const { sampler, version } of policies.values()) {
      if (sampler.idle) continue;
      pumping = true;
      const events = sampler.step();
      if (events.length > 0) post({ type: "events", events, policyVersion: version });
    }
    if (pumping) setImmediate(pump);
  };
  const wake = () => {
    if (!pumping) pump();
  };

  const calls: EngineCalls = {
    describe: () => config,
    forward: ({ examples, loss }) => trainer.forward(examples, loss),
    forwardBackward: ({ examples, loss, options }) => trainer.forwardBackward(examples, loss, options),
    async optimStep(step) {
      if (!exact)
        throw new UsageError('an engine opened with precision "8bit" samples and scores; it can\'t be trained');
      const result = await trainer.optimStep(step);
      weightsChanged();
      return result;
    },
    publish({ pinned }) {
      if (!pinned) publish();
      const policy = pinned ? publishPinned() : 0;
      const { version, sampler } = policies.get(policy)!;
      return { version, policy, maxContext: sampler.maxContext };
    },
    closePolicy(policy) {
      policies.get(policy)?.sampler.close();
      policies.delete(policy);
    },
    saveState: (folder) => saveStateFolder(folder, state, companions),
    async loadState(folder) {
      state.sampleSeed = (await loadStateFolder(folder, state)).sampleSeed;
      trainer.clearGradients();
      weightsChanged();
    },
    saveModel: ({ folder, exact }) => {
      const how = { companionsFrom: companions, ...(exact && { type: "f32" as const }) };
      return saveModelFolder(folder, { config, parameters: effective }, how);
    },
    async saveAdapter(folder) {
      if (!adapter) throw new UsageError("this engine trains the whole model; open it with `lora` to have an adapter");
      await saveAdapterFolder(folder, adapter, { baseModel: companions });
    },
    async close() {
      for (const { sampler } of policies.values()) sampler.close();
      policies.clear();
      await trainer.close();
    },
  };

  const submit = (request: SamplerRequest, policy: number | undefined) => {
    try {
      const sampler = policy === undefined ? publish() : policies.get(policy)?.sampler;
      if (!sampler) throw new CoaError("engine", "this policy was closed");
      sampler.submit({ ...request, seed: request.seed ?? state.sampleSeed++ });
      wake();
    } catch (error) {
      post({ type: "refused", id: request.id, error: plainError(error) });
    }
  };
  const masks = new Map<number, readonly number[]>();
  const onMessage = (message: ToWorker) => {
    switch (message.type) {
      case "sample":
        submit(message.request, message.policy);
        break;
      case "allow":
        if (message.forget) masks.clear();
        for (const { mask, tokens } of message.masks) masks.set(mask, tokens);
        for (const { id, mask } of message.answers)
          for (const { sampler } of policies.values())
            sampler.allow(id, mask === undefined ? undefined : masks.get(mask));
        wake();
        break;
      case "cancel":
        for (const { sampler } of policies.values()) sampler.cancel(message.id);
        break;
      case "endSession":
        for (const { sampler } of policies.values()) sampler.endSession(message.sessionKey);
        break;
    }
  };
  answerCalls(calls, { inOrder: true, onMessage });
}

async function weightsOf(options: EmbeddedEngineOptions | SharedEngineOptions): Promise<SharedBase> {
  if ("base" in options) return options.base;
  const later = options.precision === "8bit";
  if ("folder" in options) return { ...(await loadModelFolder(options.folder, { later })), folder: options.folder };
  return { config: options.config, parameters: initialParameters(options.config, options.seed ?? 0, options) };
}

async function openAdapter(
  config: ModelConfig,
  lora: EmbeddedEngineOptions["lora"],
  shared: boolean,
): Promise<Adapter | undefined> {
  if (!lora) return undefined;
  const adapter =
    "folder" in lora ? await loadAdapterFolder(lora.folder, config) : createAdapter(config, lora, lora.seed ?? 0);
  return shared ? { ...adapter, parameters: shareParameters(adapter.parameters) } : adapter;
}

main(workerData as EmbeddedEngineOptions | SharedEngineOptions).catch((error: unknown) =>
  answerCalls(Promise.reject(error)),
);
