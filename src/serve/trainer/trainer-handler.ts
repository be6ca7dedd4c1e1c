/**
 * An engine of this machine behind the Tinker REST API, so that scripts written for it train on a laptop and our own client
 * and server test each other. Passes are taken in JSON and in protobuf, results are given in whichever the client accepts. Losses
 * are sums; nothing is clipped that the request does not say. Beyond the protocol, `coa` in the client configuration names
 * what this server adds: `dual_clip` and `temperature` in loss_fn_config.
 */
import { join } from "node:path";
import { z } from "zod";
import { lossNumbers, tokenFactors, tokenLoss } from "../../base/count/policy-loss.ts";
import { type Call, type Guarded, type GuardSettings, guarded, type Route, withBody } from "../../base/http/guard.ts";
import { replyJson } from "../../base/http/handler.ts";
import { parse, Refusal } from "../../base/http/refusal.ts";
import {
  adamSchema,
  fromAdam,
  fromPass,
  passSchema,
  sampleRequestSchema,
  toPassResult,
} from "../../base/wire/tinker.ts";
import {
  decodePass,
  encodePassResult,
  encodeSamples,
  type PassRequest,
  protobufType,
} from "../../base/wire/tinker-protobuf.ts";
import { scoreTokens } from "../../base/work/score-tokens.ts";
import type { Example, LossSpec } from "../../core/engine.ts";
import { CoaError } from "../../core/errors.ts";
import { tokenizerFingerprint } from "../../core/fingerprint.ts";
import type { Tokenizer } from "../../core/tokenizer.ts";
import { checkpointStore } from "./checkpoints.ts";
import { futures, type Outcome } from "./futures.ts";
import { answerSample } from "./sample.ts";
import { loraAlpha, type OpenAdapter, type ServedPolicy, type TrainerMemory, trainerModels } from "./trainer-models.ts";

/** The trainer as a handler for node:http and as one for frameworks that use fetch. */
export interface TrainerHandler extends Guarded {
  close(): Promise<void>;
}

export interface TrainerServerOptions extends GuardSettings {
  /** Name of the base model that clients ask for, such as `coa/lab-2m`. */
  baseModel: string;
  maxContext: number;
  /** Where a client finds the tokenizer. */
  tokenizerId?: string;
  /** Reads stop strings; without it only ids stop. */
  tokenizer?: Tokenizer;
  openAdapter: OpenAdapter;
  /** Where checkpoints are kept. */
  checkpoints: string;
  maxModels?: number;
  maxPolicies?: number;
  /** Max memory of adapters and policies (default: only their number is limited). */
  memory?: TrainerMemory;
  sessionTimeoutMs?: number;
  /** How long a question for a result is held before the client is told to ask again. */
  holdMs?: number;
}

const maxBodyBytes = 2 ** 30;
const requestIds = z.object({ model_id: z.string(), seq_id: z.number().int().min(1).nullish() });
const loadWeights = requestIds.extend({ path: z.string(), optimizer: z.boolean().default(true) });
const savedAs = requestIds.extend({ path: z.string().nullish(), ttl_seconds: z.number().min(0).nullish() });

/** The routes of the training server, and what closes its models. */
export function trainerHandler(options: TrainerServerOptions): TrainerHandler {
  const pending = futures();
  const store = checkpointStore(options.checkpoints);
  const register = (work: Promise<Outcome>) => pending.add(work);
  const models = trainerModels({
    openAdapter: options.openAdapter,
    maxModels: options.maxModels ?? 4,
    maxPolicies: options.maxPolicies ?? 8,
    ...(options.memory ? { memory: options.memory } : {}),
    sessionTimeoutMs: options.sessionTimeoutMs ?? 300_000,
    register,
  });
  const tokenizer = options.tokenizer && tokenizerFingerprint(options.tokenizer);

  /** A request of a model, carried out in the order of its numbers and answered by a future. */
  const inOrder =
    <Body extends z.infer<typeof requestIds>>(schema: z.ZodType<Body>, work: (body: Body) => Promise<unknown>): Route =>
    async (call) => {
      const body = parse(schema, await call.json());
      return pendingIn(call, body.model_id, body.seq_id, async () => ({ json: await work(body) }));
    };

  /** Takes a request of a model in the order of its number; the answer names the future of its result. */
  async function pendingIn(
    { request, bytes }: Call,
    modelId: string,
    seqId: number | null | undefined,
    start: () => Promise<Outcome>,
  ) {
    const requestId = models.get(modelId).requests.take(seqId || undefined, await bytes(), start, request.path);
    return { request_id: requestId, future_id: requestId, status: "pending" };
  }

  const pass = (field: "forward_input" | "forward_backward_input"): Route => {
    return async (call) => {
      const asked = call.request.header("content-type")?.startsWith(protobufType)
        ? decodePass(await call.bytes())
        : passFromJson(await call.json(), field);
      const model = models.get(asked.modelId);
      const start = async (): Promise<Outcome> => {
        const { engine } = model;
        const { logprobs } = asked.forwardOnly
          ? await engine.forward(asked.examples, asked.loss)
          : await engine.forwardBackward(asked.examples, asked.loss, { everyLogprob: true });
        const losses = elementwise(asked.examples, asked.loss, logprobs);
        const result = () => toPassResult(logprobs, losses);
        return {
          get json() {
            return result(); // lists of numbers take four times the memory, so they are made when they are asked for
          },
          bytes: () => encodePassResult(logprobs, losses, result().metrics),
          size: 8 * logprobs.reduce((sum, { length }) => sum + length, 0),
        };
      };
      return pendingIn(call, asked.modelId, asked.seqId, start);
    };
  };

  const table: Record<string, Route> = {
    "GET /api/v1/healthz": () => ({ status: "ok" }),
    "GET /api/v1/get_server_capabilities": () => ({
      supported_models: [{ model_name: options.baseModel, max_context_length: options.maxContext }],
    }),
    "POST /api/v1/client/config": () => ({
      pjwt_auth_enabled: false,
      use_pyqwest_transport: false,
      coa: {
        version: 1,
        lossOptions: ["dual_clip", "temperature"],
        gradientNorm: true,
        ...(tokenizer ? { tokenizer } : {}),
      },
    }),
    "POST /api/v1/client/dynamic_config": () => ({ refresh_interval_sec: 300 }),
    "POST /api/v1/telemetry": () => ({ status: "accepted" }),
    "POST /api/v1/create_session": () => ({
      type: "create_session",
      info_message: null,
      warning_message: null,
      error_message: null,
      session_id: models.createSession(),
    }),
    "POST /api/v1/session_heartbeat": withBody(z.object({ session_id: z.string() }), ({ session_id }) => {
      models.heartbeat(session_id);
      return { type: "session_heartbeat" };
    }),
    "POST /api/v1/create_model": withBody(createModel, (asked) => {
      if (asked.base_model !== options.baseModel)
        throw new Refusal(400, `this server has the base model ${options.baseModel}, not ${asked.base_model}`);
      const { rank, seed } = asked.lora_config;
      const made = models.create(asked.session_id, asked.model_seq_id, { rank, seed: seed ?? 0 });
      const lora = {
        rank,
        alpha: loraAlpha,
        seed: seed ?? null,
        train_attn: true,
        train_mlp: true,
        train_unembed: false,
      };
      const answer = made.then(({ id: model_id }) => ({
        json: { model_id, base_model: asked.base_model, lora_config: lora, type: "create_model" },
      }));
      return { request_id: register(answer), status: "pending" };
    }),
    "POST /api/v1/unload_model": withBody(ofModel, ({ model_id }) => {
      models.get(model_id);
      const work = models.unload(model_id);
      const answer = work.then(() => ({ json: { model_id, status: "unloaded", type: "unload_model" } }));
      return { request_id: register(answer), model_id };
    }),
    "POST /api/v1/get_info": withBody(ofModel, ({ model_id }) => {
      const { rank } = models.get(model_id);
      const model_data = { arch: "coa", model_name: options.baseModel, tokenizer_id: options.tokenizerId ?? null };
      return { model_id, model_data, model_name: options.baseModel, is_lora: true, lora_rank: rank, type: "get_info" };
    }),
    "POST /api/v1/forward_backward": pass("forward_backward_input"),
    "POST /api/v1/forward": pass("forward_input"),
    "POST /api/v1/optim_step": inOrder(
      requestIds.extend({ adam_params: adamSchema }),
      async ({ model_id, adam_params }) => {
        const model = models.get(model_id);
        model.changes++;
        const { gradientNorm } = await model.engine.optimStep(fromAdam(adam_params));
        return { metrics: { "skyrl.ai/grad_norm": gradientNorm, "skyrl.ai/learning_rate": adam_params.learning_rate } };
      },
    ),
    "POST /api/v1/save_weights": inOrder(
      savedAs.extend({ path: z.string() }),
      async ({ model_id, path, ttl_seconds }) => {
        const { engine, rank } = models.get(model_id);
        const saved = await store.save(model_id, "weights", path, noteOf(rank, ttl_seconds), async (folder) => {
          await engine.saveState(join(folder, "state"));
          await engine.saveAdapter?.(join(folder, "adapter"));
        });
        return { path: saved, type: "save_weights" };
      },
    ),
    "POST /api/v1/load_weights": async (call) => {
      const asked = parse(loadWeights, await call.json());
      const model = models.get(asked.model_id);
      if (model.requests.started > 0 && (asked.seq_id ?? 0) > 1)
        throw new Refusal(400, `LoadWeights is not permitted with seq_id ${asked.seq_id}`);
      const { folder } = await store.find(asked.path);
      const start = async (): Promise<Outcome> => {
        model.changes++;
        if (asked.optimizer) await model.engine.loadState(join(folder, "state"));
        else await models.replace(model, await options.openAdapter({ folder: join(folder, "adapter") }));
        return { json: { type: "load_weights", path: asked.path } };
      };
      return pendingIn(call, asked.model_id, asked.seq_id, start);
    },
    "POST /api/v1/save_weights_for_sampler": inOrder(
      savedAs.extend({ sampling_session_seq_id: z.number().nullish() }),
      async ({ model_id, path, ttl_seconds }) => {
        const model = models.get(model_id);
        const { engine, rank, changes } = model;
        const type = "save_weights_for_sampler";
        if (!path) {
          const score = (tokens: readonly number[]) => {
            if (model.changes === changes) return scoreTokens(engine, tokens);
            const what =
              "the model has been trained since these weights were published, so no prompt is scored with them";
            throw new Refusal(400, `${what}; save them under a name and sample from there`);
          };
          const open = async () => ({ policy: await engine.publish({ pinned: true }), score });
          return { path: null, type, sampling_session_id: await models.publish(model, open) };
        }
        const write = async (folder: string) => {
          if (!engine.saveAdapter) throw new CoaError("engine", "this engine has no adapter to save");
          await engine.saveAdapter(folder);
        };
        const saved = await store.save(model_id, "sampler_weights", path, noteOf(rank, ttl_seconds), write);
        return { path: saved, type, sampling_session_id: null };
      },
    ),
    "POST /api/v1/create_sampling_session": withBody(samplingSession, async (asked) => {
      models.heartbeat(asked.session_id);
      const type = "create_sampling_session";
      return { type, sampling_session_id: await sessionOf(asked.model_path) };
    }),
    "GET /api/v1/samplers/{id}": ({ request: { params } }) => {
      const source = models.sourceOf(params["id"]!);
      return { sampler_id: params["id"], base_model: options.baseModel, model_path: source };
    },
    "POST /api/v1/asample": withBody(sampleRequestSchema, async (asked) => {
      if (!asked.sampling_params.max_tokens) throw new Refusal(400, "sampling_params.max_tokens is missing");
      const session = asked.sampling_session_id ?? (await sessionOf(asked.model_path));
      models.sourceOf(session);
      const work = models.usePolicy(session, async (served) => {
        const samples = await answerSample(served, asked, session, options.tokenizer);
        return { json: samples, bytes: () => encodeSamples(samples) };
      });
      const request_id = register(work);
      const sample_sequence_ids = Array.from({ length: asked.num_samples }, (_, at) => `${request_id}-${at}`);
      return { request_id, status: "pending", sample_sequence_ids };
    }),
    "POST /api/v1/retrieve_future": withBody(
      z.object({ request_id: z.coerce.string() }),
      async ({ request_id }, { request, reply }) => {
        const outcome = await pending.wait(request_id, options.holdMs ?? 30_000, request.signal);
        if (outcome === undefined) throw new Refusal(404, "Future not found");
        if (outcome === null) return replyJson(reply, 408, { type: "try_again", request_id, queue_state: "active" });
        if ("error" in outcome) return outcome;
        if (!outcome.bytes || !request.header("accept")?.includes(protobufType)) return outcome.json;
        reply.send(200, outcome.bytes(), { "content-type": protobufType });
      },
    ),
    "POST /api/v1/weights_info": withBody(z.object({ tinker_path: z.string() }), async ({ tinker_path }) => {
      const { note } = await store.find(tinker_path);
      return { base_model: note.base_model, is_lora: true, lora_rank: note.lora_rank };
    }),
    "GET /api/v1/training_runs": () => ({
      training_runs: models.all().map((model) => runOf(model.id, model.rank, model.createdAt)),
      cursor: { total_count: models.all().length },
    }),
    "GET /api/v1/training_runs/{id}": ({ request }) => {
      const model = models.get(request.params["id"]!);
      return runOf(model.id, model.rank, model.createdAt);
    },
    "GET /api/v1/training_runs/{id}/checkpoints": async ({ request }) => ({
      checkpoints: await store.list(request.params["id"]!),
    }),
    "GET /api/v1/training_runs/{id}/checkpoints/{name}/archive": ({ request: { params }, reply }) => {
      const location = `/api/v1/training_runs/${params["id"]}/checkpoints/${params["name"]}/download`;
      reply.send(302, "", { location });
    },
    "GET /api/v1/training_runs/{id}/checkpoints/{name}/download": async ({ request: { params }, reply }) => {
      const archive = await store.archive(params["id"]!, params["name"]!);
      reply.send(200, archive, { "content-type": "application/gzip" });
    },
    "DELETE /api/v1/training_runs/{id}/checkpoints/{kind}/{name}": async ({ request: { params } }) => {
      const kind = params["kind"] === "weights" ? "weights" : "sampler_weights";
      await store.remove(params["id"]!, kind, params["name"]!);
      return {};
    },
  };

  /** The sampling session of saved weights, or of the base. */
  async function sessionOf(path: string | null | undefined): Promise<string> {
    if (!path) return models.serve(options.baseModel, () => openAlone({ rank: 1, alpha: loraAlpha, seed: 0 }));
    await store.find(path);
    return models.serve(path, async () => openAlone({ folder: (await store.find(path)).folder }));
  }

  /** An engine used for sampling only. */
  async function openAlone(lora: Parameters<OpenAdapter>[0]): Promise<ServedPolicy> {
    const engine = await options.openAdapter(lora);
    const policy = { ...(await engine.publish()), close: () => engine.close() };
    return { policy, score: (tokens) => scoreTokens(engine, tokens) };
  }

  const noteOf = (rank: number, seconds?: number | null) => ({
    base_model: options.baseModel,
    lora_rank: rank,
    time: new Date().toISOString(),
    ...(seconds ? { expires_at: new Date(Date.now() + 1000 * seconds).toISOString() } : {}),
  });
  const runOf = (training_run_id: string, lora_rank: number, last_request_time: string) => ({
    training_run_id,
    base_model: options.baseModel,
    model_owner: "default",
    is_lora: true,
    corrupted: false,
    lora_rank,
    last_request_time,
    last_checkpoint: null,
    last_sampler_checkpoint: null,
    user_metadata: null,
  });

  const served = guarded(table, {
    access: options.access,
    keys: options.keys,
    onRequest: options.onRequest,
    isOpen: (path) => path === "/api/v1/healthz",
    maxBodyBytes,
    errorBody: ({ message }) => ({ detail: message }),
    protocol: "tinker",
  });
  return { ...served, close: () => models.close() };
}

const ofModel = z.object({ model_id: z.string() });
const createModel = z.object({
  session_id: z.string(),
  model_seq_id: z.number(),
  base_model: z.string(),
  lora_config: z.object({ rank: z.number(), seed: z.number().nullish() }),
});
const samplingSession = z.object({
  session_id: z.string(),
  base_model: z.string().nullish(),
  model_path: z.string().nullish(),
});

/** A pass in JSON, under `forward_input` or `forward_backward_input`. */
function passFromJson(body: Record<string, unknown>, field: string): PassRequest {
  const { model_id: modelId, seq_id } = parse(requestIds, body);
  const { examples, loss } = fromPass(parse(passSchema, body[field]));
  return { modelId, seqId: seq_id ?? 0, examples, loss, forwardOnly: field === "forward_input" };
}

/** The loss of every token, as other servers return it beside the log-probabilities. */
function elementwise(examples: readonly Example[], loss: LossSpec, logprobs: readonly Float32Array[]): Float32Array[] {
  const numbers = lossNumbers(loss);
  return examples.map((example, number) => {
    const factors = tokenFactors(example, loss);
    return logprobs[number]!.map((logprob, at) => {
      const factor = factors[at]!;
      return factor === 0 ? 0 : tokenLoss(loss, numbers, { logprob, old: example.oldLogprobs?.[at] ?? 0, factor }).loss;
    });
  });
}
