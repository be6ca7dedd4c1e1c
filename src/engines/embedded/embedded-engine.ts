/**
 * The engine inside Node: opens a worker that trains and samples one model, and turns the `Engine` verbs into messages.
 * The caller's event loop stays free; masks and callbacks run here, on the caller's thread.
 */
import { checkOptions } from "../../base/work/check-options.ts";
import { errorOf, startThread } from "../../base/work/thread.ts";
import {
  type Engine,
  type EngineCapabilities,
  type Policy,
  type Sample,
  type SampleRequest,
  type Sampler,
  sampleManyWith,
  summedLosses,
} from "../../core/engine.ts";
import { CoaError, UsageError } from "../../core/errors.ts";
import type {
  EmbeddedEngineOptions,
  EngineCalls,
  FromWorker,
  SharedEngineOptions,
  ToWorker,
} from "./engine-messages.ts";
import type { ModelConfig } from "./model/config.ts";
import { runtimeThread } from "./runtime/runtime-thread.ts";
import type { SamplerEvent } from "./sample/sampler.ts";

export type { EmbeddedEngineOptions } from "./engine-messages.ts";

interface PendingSample {
  resolve(sample: Sample): void;
  reject(error: unknown): void;
  request: SampleRequest;
  tokens: number[];
  logprobs: number[];
  entropies: number[];
  policyVersion: number;
  /** Stops listening to its signal and lets the process end. */
  release(): void;
}

type Allow = Extract<ToWorker, { type: "allow" }>;
type MaskAnswer = Allow["answers"][number];
type NewMask = Allow["masks"][number];
/** Masks the worker remembers; a callback that makes a new array every time must not fill its memory. */
const maxKeptMasks = 2000;

/**
 * An embedded engine also tells its model's config, and can be sampled from directly: `sample` publishes the weights as they
 * are. Opened with `lora`, it writes its adapter in PEFT layout.
 */
export interface EmbeddedEngine extends Engine, Sampler {
  readonly config: ModelConfig;
  endSession(sessionKey: string): void;
  saveAdapter(folder: string): Promise<void>;
}

/** @internal */
export async function openEmbeddedEngine(options: SharedEngineOptions): Promise<EmbeddedEngine>;
/** Opens a model folder, or makes a new model, ready to train and sample. */
export async function openEmbeddedEngine(options: EmbeddedEngineOptions): Promise<EmbeddedEngine>;
export async function openEmbeddedEngine(
  options: EmbeddedEngineOptions | SharedEngineOptions,
): Promise<EmbeddedEngine> {
  checkOptions("openEmbeddedEngine", options);
  if ("base" in options && !options.lora)
    throw new UsageError("weights that engines share are not trained themselves: give `lora`");
  const samples = new Map<number, PendingSample>();
  let nextId = 1;
  const thread = startThread<EngineCalls>(new URL("./engine-worker.ts", import.meta.url), {
    name: "the engine",
    boundary: "engine",
    data: options,
    resourceLimits: runtimeThread,
    onMessage(message: FromWorker) {
      if (message.type === "events") onEvents(message.events, message.policyVersion);
      else finish(message.id)?.reject(errorOf(message.error, "engine"));
    },
    onEnd: (error) => fail(error),
  });
  const post = (message: ToWorker) => thread.post(message);
  const finish = (id: number): PendingSample | undefined => {
    const pending = samples.get(id);
    samples.delete(id);
    pending?.release();
    return pending;
  };

  const fail = (error: CoaError) => {
    for (const id of [...samples.keys()]) finish(id)?.reject(error);
  };

  const onEvents = (events: SamplerEvent[], policyVersion: number) => {
    const askNext = new Set<number>();
    for (const event of events) {
      const pending = samples.get(event.id);
      if (!pending) continue;
      if (event.type === "token") {
        if (pending.tokens.length === 0) pending.policyVersion = policyVersion;
        pending.tokens.push(event.token);
        pending.logprobs.push(event.logprob);
        if (event.entropy !== undefined) pending.entropies.push(event.entropy);
        if (pending.request.allowedTokens) askNext.add(event.id);
        guard(event.id, () => pending.request.onToken?.(event.token, event.logprob, event.entropy));
      } else {
        askNext.delete(event.id);
        finish(event.id);
        if (event.type === "failed") pending.reject(new CoaError("engine", event.message));
        else {
          const { tokens, logprobs, entropies, policyVersion, request } = pending;
          const { finish, computedTokens } = event;
          const asked = request.entropies ? { entropies } : {};
          pending.resolve({ tokens, logprobs, ...asked, finish, policyVersion, computedTokens });
        }
      }
    }
    if (askNext.size > 0) answerMasks(askNext);
  };
  // Grammars return the same array for the same state, so each array crosses once and is then known by its number; and
  // one message answers for all, or requests that advance together would drift apart.
  const maskNumbers = new Map<readonly number[], number>();
  const answerMasks = (ids: Iterable<number>) => {
    const forget = maskNumbers.size > maxKeptMasks;
    if (forget) maskNumbers.clear();
    const message = { type: "allow" as const, answers: [] as MaskAnswer[], masks: [] as NewMask[], forget };
    for (const id of ids) {
      const pending = samples.get(id);
      if (!pending) continue;
      guard(id, () => {
        const tokens = pending.request.allowedTokens!(pending.tokens);
        let mask = tokens && maskNumbers.get(tokens);
        if (tokens && mask === undefined) {
          mask = nextId++;
          maskNumbers.set(tokens, mask);
          message.masks.push({ mask, tokens });
        }
        message.answers.push({ id, mask });
      });
    }
    post(message);
  };
  /** A callback that throws ends its own request only. */
  const guard = (id: number, work: () => void) => {
    try {
      work();
    } catch (error) {
      post({ type: "cancel", id });
      finish(id)?.reject(error);
    }
  };

  const sample = (request: SampleRequest, policy?: number): Promise<Sample> => {
    if (thread.ended) return Promise.reject(thread.ended);
    if (request.signal?.aborted) return Promise.reject(request.signal.reason);
    const { promise, resolve, reject } = Promise.withResolvers<Sample>();
    const id = nextId++;
    const { allowedTokens, onToken: _, signal, ...rest } = request;
    const onAbort = () => {
      post({ type: "cancel", id });
      finish(id)?.reject(signal!.reason);
    };
    signal?.addEventListener("abort", onAbort, { once: true });
    const letGo = thread.hold();
    const release = () => {
      signal?.removeEventListener("abort", onAbort);
      letGo();
    };
    samples.set(id, { request, tokens: [], logprobs: [], entropies: [], policyVersion: 0, resolve, reject, release });
    post({ type: "sample", request: { ...rest, id, ...(allowedTokens ? { masked: true } : {}) }, policy });
    if (allowedTokens) answerMasks([id]);
    return promise;
  };

  const config = await thread.call("describe").catch(async (error: unknown) => {
    await thread.close();
    throw error;
  });
  const name = "embedded";
  const capabilities = embeddedCapabilities(config, options.lora === undefined);
  const endSession = (sessionKey: string) => post({ type: "endSession", sessionKey });
  return {
    name,
    config,
    capabilities,
    endSession,
    sample: (request) => sample(request),
    forward: (examples, loss) => thread.call("forward", { examples, loss }),
    forwardBackward: (examples, loss, options) => thread.call("forwardBackward", { examples, loss, options }),
    optimStep: (step) => thread.call("optimStep", step),
    async publish({ pinned = false } = {}): Promise<Policy> {
      const { version, policy, maxContext } = await thread.call("publish", { pinned });
      const one = (request: SampleRequest) => sample(request, policy);
      const close = async () => {
        if (pinned) await thread.call("closePolicy", policy);
      };
      const own = { ...capabilities, maxContext };
      return { name, version, capabilities: own, endSession, sample: one, sampleMany: sampleManyWith(one), close };
    },
    async saveState(folder) {
      await thread.call("saveState", folder);
      return folder;
    },
    loadState: (state) => thread.call("loadState", state),
    saveModel: (folder, { exact = false } = {}) => thread.call("saveModel", { folder, exact }),
    saveAdapter: (folder) => thread.call("saveAdapter", folder),
    async close() {
      if (thread.ended) return;
      await thread.call("close").catch(() => undefined);
      await thread.close();
      fail(thread.ended!);
    },
  };
}

function embeddedCapabilities({ maxContext, vocabularySize }: ModelConfig, fullParameter: boolean): EngineCapabilities {
  return {
    losses: summedLosses,
    logprobs: "sampled",
    fullParameter,
    gradientClipping: true,
    gradientNorm: true,
    tokenMasks: true,
    overlap: true,
    maxContext,
    vocabularySize,
  };
}
