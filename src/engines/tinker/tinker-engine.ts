/**
 * An engine on another machine: the functions of `Engine` over a Tinker server. Training requests of one model carry
 * numbers without gaps and are submitted one after another, in the order of the calls; results are awaited separately.
 * A published policy is a sampling session that keeps its weights. Loading a state means a new model, because servers
 * take `load_weights` as a model's first request only; who uses the engine sees no difference. On closing the model is
 * unloaded, otherwise it would stay in the server's memory.
 */

import { checkStep } from "../../base/count/policy-loss.ts";
import { HttpError } from "../../base/http/http-client.ts";
import { samplesSchema, toAdam } from "../../base/wire/tinker.ts";
import { decodePassResult, decodeSamples, encodePass } from "../../base/wire/tinker-protobuf.ts";
import { checkOptions } from "../../base/work/check-options.ts";
import { inOrder } from "../../base/work/in-order.ts";
import { semaphore } from "../../base/work/limiter.ts";
import { hashText } from "../../base/work/random.ts";
import { within } from "../../base/work/within.ts";
import type { Engine, Example, ForwardResult, LossSpec, Policy, Sample, SampleRequest } from "../../core/engine.ts";
import { CoaError, messageOf } from "../../core/errors.ts";
import type { TokenizerFingerprint } from "../../core/fingerprint.ts";
import { checkExamples } from "../embedded/train/check-examples.ts";
import { saveCheckpointFiles } from "./checkpoint-files.ts";
import { cutSample, filledUp, roundedUp } from "./few-lengths.ts";
import {
  answerOf,
  asRestart,
  checkAnswer,
  jsonOf,
  type TinkerClientOptions,
  type TinkerFuture,
  type TinkerResult,
  tinkerClient,
} from "./tinker-client.ts";
import { findServer, openSession, remembered, type ServerKind } from "./tinker-session.ts";

export interface TinkerEngineOptions extends TinkerClientOptions {
  baseModel: string;
  /** Rank of the adapter that is trained, and the seed of its first weights. Rank 0: all weights, where the server trains them. */
  lora: { rank: number; seed?: number };
  vocabularySize: number;
  maxContext: number;
  /** Compared with the server's where it tells its own. @internal */
  tokenizer?: TokenizerFingerprint;
  /** How the server reduces losses; asked of the server, or taken as a sum. @internal */
  reduction?: ServerKind["reduction"];
  /** Trains and asks for the next of these numbers of tokens, and cuts: for servers that compile again for every number. */
  maxTokensSteps?: readonly number[];
  /** Seconds that saved states stay on the server; for ever by default. */
  stateSeconds?: number;
  /** Dollars per million tokens, for what has been spent so far. */
  prices?: { prefill: number; sample: number; train: number };
  /** The base model's weights on this machine, with which the adapter is merged in `saveModel`. */
  baseFolder?: string;
}

/** What an engine on another machine has computed so far, for cost and speed. */
export interface TinkerUsage extends Record<string, number> {
  prefillTokens: number;
  cachedTokens: number;
  sampledTokens: number;
  forwardTokens: number;
  trainTokens: number;
}

export interface TinkerEngine extends Engine {
  /** @internal */
  readonly server: ServerKind;
  /** Log-probabilities of a text under sampler and trainer must agree, or tokenizer, base model or template differ. */
  verify(tokens: readonly number[]): Promise<void>;
}

/** Opens a session and makes a model on a Tinker server. */
export async function openTinkerEngine(options: TinkerEngineOptions): Promise<TinkerEngine> {
  checkOptions("openTinkerEngine", options);
  const { vocabularySize, onNote = () => {} } = options;
  if (!(Number.isInteger(options.lora?.rank) && options.lora.rank >= 0))
    throw new CoaError("usage", "openTinkerEngine needs lora.rank: of the adapter, or 0 for all weights");
  const client = tinkerClient(options);
  const used: TinkerUsage = { prefillTokens: 0, cachedTokens: 0, sampledTokens: 0, forwardTokens: 0, trainTokens: 0 };
  const server = await findServer(client, options);
  const maxContext = Math.min(options.maxContext, server.maxContext ?? options.maxContext);
  const session = await openSession(client, onNote);
  const places = semaphore(512); // requests of sampling under way
  let models = 0;
  let samplingSessions = 0;
  let modelId = await createModel();
  let seqId = 0;
  let version = 0;
  const inTurn = inOrder(); // the server gets submissions in our order
  const earlier = () => inTurn(() => {});
  let gradientsFailed = false;
  let published: { version: number; policy: Promise<Policy> } | null = null;
  let closed = false;

  async function createModel(): Promise<string> {
    const { rank, seed = 0 } = options.lora;
    const asked = client.submit("create_model", {
      session_id: session.id,
      model_seq_id: models++,
      base_model: options.baseModel,
      lora_config: { rank, seed, train_unembed: false, train_mlp: true, train_attn: true },
      user_metadata: { client: "chain-of-agents" },
      type: "create_model",
    });
    const future = await remembered(asked);
    return String(jsonOf(await remembered(future.result()))["model_id"]);
  }

  async function unload(id: string): Promise<void> {
    const future = await client.submit("unload_model", { model_id: id, type: "unload_model" });
    await future.result();
  }

  /**
   * Submits a request of the model under its next number, after all earlier ones; the result is waited for separately.
   */
  async function submitNext<T>(
    submit: (ids: { model_id: string; seq_id: number }) => Promise<TinkerFuture>,
    read: (result: TinkerResult) => T,
    { before, accepted, refused }: { before?(): void; accepted?(): void; refused?(): void } = {},
  ): Promise<T> {
    const taken = await inTurn(async () => {
      try {
        session.check();
        before?.();
        const future = await remembered(submit({ model_id: modelId, seq_id: seqId + 1 }));
        seqId++; // a number that the server refused is used again: a gap would stop it
        accepted?.();
        return future;
      } catch (error) {
        refused?.();
        return asRestart(error);
      }
    });
    return read(await remembered(taken.result()).catch(asRestart));
  }

  function pass(examples: readonly Example[], loss: LossSpec, forwardOnly: boolean): Promise<ForwardResult> {
    const lengths = options.maxTokensSteps?.map((step) => Math.min(step, maxContext)) ?? [];
    const byLength = server.losses[loss.name]?.reduction === "sequence-mean";
    const sent = examples.map((example) => filledUp(example, loss, lengths, byLength));
    const tokens = sent.reduce((sum, { input }) => sum + input.length, 0);
    const steps = {
      before: () => checkExamples({ vocabularySize, maxContext }, examples),
      refused() {
        if (!forwardOnly) gradientsFailed = true;
      },
    };
    const read = (result: TinkerResult): ForwardResult => {
      if (forwardOnly) used.forwardTokens += tokens;
      else used.trainTokens += tokens;
      if (!result.bytes)
        throw new CoaError("format", "the server answered a pass in JSON where protobuf was asked for");
      const { logprobs, metrics } = decodePassResult(result.bytes);
      checkAnswer(sent, logprobs);
      return { logprobs: logprobs.map((row, at) => row.subarray(0, examples[at]!.targets.length)), metrics };
    };
    return submitNext(
      ({ model_id: modelId, seq_id: seqId }) => {
        const body = encodePass({ modelId, seqId, examples: sent, loss, forwardOnly });
        return client.submit("forward_backward", body, { protobuf: true });
      },
      read,
      steps,
    );
  }

  /** Submits JSON: ids and fields. */
  const submitted = (path: string, fields: object) => (ids: object) =>
    client.submit(path, { ...ids, ...fields, type: path });

  /** A save that is repeated after a lost answer finds its own name taken: then it is there. */
  async function saveAs(path: string, name: string, kind: "weights" | "sampler_weights"): Promise<string> {
    const ttl = options.stateSeconds === undefined ? {} : { ttl_seconds: options.stateSeconds };
    try {
      const result = await submitNext(submitted(path, { path: name, ...ttl }), jsonOf);
      const said = result["path"];
      return typeof said === "string" && said.includes(`/${kind}/`) ? said : `tinker://${modelId}/${kind}/${name}`;
    } catch (error) {
      if (!(error instanceof HttpError) || error.status !== 409) throw error;
      const uri = `tinker://${modelId}/${kind}/${name}`;
      await client.ask("POST", "weights_info", { tinker_path: uri }); // 425 while it is written is waited for
      return uri;
    }
  }

  async function makePolicy(stamp: number): Promise<Policy> {
    const sequence = samplingSessions++;
    const fields = { sampling_session_seq_id: sequence };
    const result = await submitNext(submitted("save_weights_for_sampler", fields), jsonOf);
    const samplingSession = String(result["sampling_session_id"]);
    const many = (request: SampleRequest, n: number) => sampleMany(samplingSession, stamp, request, n);
    const { capabilities } = engine;
    return {
      name: engine.name,
      version: stamp,
      servedAs: modelId,
      capabilities,
      sample: async (request) => (await many(request, 1))[0]!,
      sampleMany: many,
    };
  }

  async function sampleMany(id: string, stamp: number, request: SampleRequest, n: number): Promise<Sample[]> {
    if (request.allowedTokens) throw new CoaError("usage", "this engine takes no token masks");
    const { tokens, maxTokens, signal, seed, sessionKey, stopTokens = [], stopStrings = [] } = request;
    const stop = stopStrings.length > 0 ? stopStrings : stopTokens; // ids or strings, never both
    signal?.throwIfAborted();
    session.check();
    const release = await places.acquire(signal);
    try {
      const asked = roundedUp(maxTokens, options.maxTokensSteps, maxContext - tokens.length);
      const submitted = client.submit(
        "asample",
        {
          sampling_session_id: id,
          seq_id: sessionKey === undefined ? requestNumber++ : hashText(sessionKey) >>> 1,
          num_samples: n,
          prompt: { chunks: [{ type: "encoded_text", tokens: [...tokens] }] },
          sampling_params: {
            max_tokens: asked,
            temperature: request.temperature ?? 1,
            top_k: request.topK || -1,
            top_p: request.topP ?? 1,
            ...(seed === undefined ? {} : { seed }),
            ...(stop.length > 0 ? { stop: [...stop] } : {}),
          },
          prompt_logprobs: false,
          topk_prompt_logprobs: 0,
          type: "sample",
        },
        { signal, sampling: true, protobuf: true },
      );
      const future = await remembered(submitted).catch(asRestart);
      const result = await remembered(future.result()).catch(asRestart);
      const samples = result.bytes ? decodeSamples(result.bytes) : answerOf(samplesSchema, result.json);
      const cached = samples.prompt_cache_hit_tokens;
      used.prefillTokens += tokens.length - (cached ?? 0);
      used.cachedTokens += cached ?? 0;
      return samples.sequences.map((sequence) => {
        used.sampledTokens += sequence.tokens.length;
        if (sequence.tokens.length > 1 && sequence.logprobs.every((logprob) => logprob === 0))
          throw new CoaError("engine", "the server returned zeros instead of log-probabilities", { retryable: true });
        const kept = cutSample(sequence, maxTokens, request);
        for (const [at, token] of kept.tokens.entries()) request.onToken?.(token, kept.logprobs[at]!);
        const computed = cached === undefined ? {} : { computedTokens: tokens.length - cached };
        return { ...kept, policyVersion: stamp, ...computed };
      });
    } finally {
      release();
    }
  }
  let requestNumber = 0;

  const engine: TinkerEngine = {
    name: `tinker (${server.name})`,
    server,
    capabilities: {
      losses: server.losses,
      logprobs: "sampled",
      fullParameter: options.lora.rank === 0,
      muon: false,
      gradientClipping: server.gradientClipping,
      gradientNorm: server.gradientNorm,
      tokenMasks: false,
      overlap: true,
      maxContext,
      vocabularySize,
      // What is filled up may have four times the bytes.
      requestLimits: { ...server.requestLimits, bytes: server.requestLimits.bytes / (options.maxTokensSteps ? 4 : 1) },
    },
    usage() {
      const { prefill, sample, train } = options.prices ?? { prefill: 0, sample: 0, train: 0 };
      const cost = used.prefillTokens * prefill + used.sampledTokens * sample + used.trainTokens * train;
      return { ...used, ...(options.prices ? { costUsd: cost / 1e6 } : {}) };
    },
    forward: (examples, loss) => pass(examples, loss, true),
    async forwardBackward(examples, loss) {
      try {
        return await pass(examples, loss, false);
      } catch (error) {
        gradientsFailed = true;
        throw error;
      }
    },
    async optimStep(step) {
      checkStep(step);
      if (step.matrixLearningRate !== undefined)
        throw new CoaError("usage", "a Tinker server trains with AdamW: leave matrixLearningRate out");
      const result = await submitNext(submitted("optim_step", { adam_params: toAdam(step) }), jsonOf, {
        before() {
          if (!gradientsFailed) return;
          gradientsFailed = false;
          throw new CoaError("engine", "no step was taken: a forwardBackward before it failed; open the engine again");
        },
        accepted() {
          version++;
        },
      });
      const norm = (result["metrics"] as Record<string, number> | undefined)?.["skyrl.ai/grad_norm"];
      return norm === undefined ? {} : { gradientNorm: norm };
    },
    async publish() {
      await earlier(); // what was called before belongs to the version
      if (published?.version !== version) published = { version, policy: makePolicy(version) };
      const current = published;
      current.policy.catch(() => {
        if (published === current) published = null;
      });
      return current.policy;
    },
    async saveState(folder, name = folder.split(/[\\/]/).at(-1)!) {
      await earlier();
      const saved = version;
      return `${await saveAs("save_weights", name, "weights")}#version=${saved}`;
    },
    async loadState(state: string) {
      const [path = "", mark = ""] = state.split("#version=");
      await earlier();
      const old = modelId;
      modelId = await createModel();
      seqId = 0;
      published = null;
      await submitNext(submitted("load_weights", { path, optimizer: true }), jsonOf);
      version = Number(mark) || 0;
      // The new model is loaded: that the server no longer has the old one, or keeps it a while, is no failure.
      await unload(old).catch(() => onNote(`model ${old} could not be unloaded; the server drops it with the session`));
    },
    async deleteState(state) {
      const [, run, kind, name] = /^tinker:\/\/([^/]+)\/(weights|sampler_weights)\/([^#]+)/.exec(state) ?? [];
      if (!run) return;
      await client.ask("DELETE", `training_runs/${run}/checkpoints/${kind}/${name}`).catch((error: unknown) => {
        if (!(error instanceof HttpError) || error.status !== 404) throw error;
      });
    },
    async saveModel(folder) {
      await saveCheckpointFiles(await archive(), folder, { merge: true, baseFolder: options.baseFolder });
    },
    ...(options.lora.rank > 0 && {
      async saveAdapter(folder: string) {
        await saveCheckpointFiles(await archive(), folder, { merge: false });
      },
    }),
    async verify(tokens) {
      const policy = await engine.publish();
      const sample = await policy.sample({ tokens, maxTokens: 1, temperature: 0 });
      const examples = [tokens, tokens.toReversed()].map((ids): Example => {
        const all = Int32Array.from([...ids, ...sample.tokens]);
        return { input: all.slice(0, -1), targets: all.slice(1) };
      });
      const { logprobs } = await engine.forward(examples, { name: "cross_entropy" });
      const gap = Math.abs(logprobs[0]!.at(-1)! - sample.logprobs[0]!);
      const [written, reversed] = logprobs.map((row) => row.slice(0, -1).reduce((sum, value) => sum + value, 0));
      if (!(written! > reversed!))
        onNote(
          `${options.baseModel} finds a sentence no likelier than its tokens backwards: is the tokenizer's folder the one of this model?`,
        );
      if (!(gap < 0.05))
        throw new CoaError("engine", `sampler and trainer of the server disagree by ${gap.toPrecision(3)} on one text`);
    },
    async close() {
      if (closed) return;
      closed = true;
      await within(
        10_000,
        unload(modelId).catch(() => {}),
      );
      session.close();
      await client.close();
    },
  };
  async function archive(): Promise<Uint8Array> {
    const name = `model-${version}-${seqId}`;
    const saved = await saveAs("save_weights_for_sampler", name, "sampler_weights");
    const bytes = await client.download(`training_runs/${modelId}/checkpoints/${name}/archive`);
    // What was fetched is of no more use there; a server that does not delete keeps it.
    await engine.deleteState!(saved).catch((error: unknown) =>
      onNote(`${saved} stays on the server: ${messageOf(error)}`),
    );
    return bytes;
  }

  return engine;
}
