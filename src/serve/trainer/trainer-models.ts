/**
 * The models under training and the policies that are sampled from. Each model is an adapter over the one base, with an
 * engine of its own; so many fit, more are refused by name. A published policy is pinned to its weights; the oldest
 * unused are closed. A session that has been silent for five minutes loses its models, as on other servers of this
 * kind.
 */
import { randomUUID } from "node:crypto";
import { RefusedRequest } from "../../base/http/request-body.ts";
import type { Engine, Policy } from "../../core/engine.ts";
import { steadyNow } from "../../core/steady-clock.ts";
import type { Outcome } from "./futures.ts";
import { type OrderedRequests, orderedRequests } from "./ordered-requests.ts";

/** How a model's engine is opened: a new adapter, or one from a PEFT folder. */
export type OpenAdapter = (lora: { rank: number; alpha: number; seed: number } | { folder: string }) => Promise<Engine>;

/** Every server of this kind scales adapters by 32 / rank. */
export const loraAlpha = 32;

export interface TrainerModel {
  id: string;
  session: string;
  rank: number;
  engine: Engine;
  requests: OrderedRequests;
  createdAt: string;
  /** How often its weights have changed; counted before the engine is asked, so what is asked for earlier sees the old ones. */
  changes: number;
}

/** A policy that is sampled from: whose weights it has, and how a prompt is scored with them. */
export interface ServedPolicy {
  policy: Policy;
  /** A model, an address of saved weights, or the base model's name. */
  source: string;
  /** Log-probability of every token but the first. */
  score(tokens: readonly number[]): Promise<Float32Array>;
}

export interface TrainerModels {
  createSession(): string;
  heartbeat(session: string): void;
  /** A new model, or the one that the same request made before. */
  create(session: string, number: number, lora: { rank: number; seed: number }): Promise<TrainerModel>;
  get(id: string): TrainerModel;
  all(): TrainerModel[];
  /** Puts another engine in the place of a model's. */
  replace(model: TrainerModel, engine: Engine): Promise<void>;
  unload(id: string): Promise<void>;
  /** A sampling session for a policy. */
  addPolicy(served: ServedPolicy): string;
  /** Uses a policy; it is not closed meanwhile. */
  usePolicy<T>(samplingSession: string, work: (served: ServedPolicy) => Promise<T>): Promise<T>;
  sourceOf(samplingSession: string): string;
  close(): Promise<void>;
}

export interface TrainerModelsOptions {
  openAdapter: OpenAdapter;
  maxModels: number;
  maxPolicies: number;
  sessionTimeoutMs: number;
  register(work: Promise<Outcome>): string;
  now?: () => number;
}

interface PolicyEntry extends ServedPolicy {
  inUse: number;
}

/** An empty set of models. */
export function trainerModels(options: TrainerModelsOptions): TrainerModels {
  const { now = steadyNow } = options;
  const sessions = new Map<string, { seen: number; models: Map<number, Promise<TrainerModel>> }>();
  const models = new Map<string, TrainerModel>();
  const policies = new Map<string, PolicyEntry>(); // oldest use first
  let opening = 0;

  const sessionOf = (id: string) => {
    const session = sessions.get(id);
    if (!session) throw new RefusedRequest(404, "Session not found");
    session.seen = now();
    return session;
  };
  const shortId = (kind: string) => `${kind}_${randomUUID().slice(0, 8)}`;
  const unload = async (id: string) => {
    const model = models.get(id);
    if (!model) return;
    models.delete(id);
    for (const [key, entry] of policies) if (entry.source === id) policies.delete(key);
    await model.engine.close();
  };
  const sweep = setInterval(() => {
    for (const [id, session] of sessions) {
      if (now() - session.seen < options.sessionTimeoutMs) continue;
      sessions.delete(id);
      for (const model of models.values()) if (model.session === id) void unload(model.id);
    }
  }, 60_000);
  sweep.unref();

  async function open(session: string, lora: { rank: number; seed: number }): Promise<TrainerModel> {
    if (!(Number.isInteger(lora.rank) && lora.rank >= 1))
      throw new RefusedRequest(
        400,
        `LoRA rank ${lora.rank}: this server trains adapters of rank 1 or more, not whole models`,
      );
    if (models.size + opening >= options.maxModels)
      throw new RefusedRequest(400, `Maximum number of LoRA adapters (${options.maxModels}) reached`);
    opening++;
    try {
      const engine = await options.openAdapter({ ...lora, alpha: loraAlpha });
      const model: TrainerModel = {
        id: shortId("model"),
        session,
        rank: lora.rank,
        engine,
        requests: orderedRequests(options.register),
        createdAt: new Date().toISOString(),
        changes: 0,
      };
      models.set(model.id, model);
      return model;
    } finally {
      opening--;
    }
  }

  return {
    createSession() {
      const id = shortId("session");
      sessions.set(id, { seen: now(), models: new Map() });
      return id;
    },
    heartbeat: (session) => void sessionOf(session),
    create(session, number, lora) {
      const { models: made } = sessionOf(session);
      let model = made.get(number);
      if (!model) {
        model = open(session, lora);
        made.set(number, model);
        model.catch(() => made.delete(number));
      }
      return model;
    },
    get(id) {
      const model = models.get(id);
      if (!model) throw new RefusedRequest(404, "Model not found");
      const session = sessions.get(model.session);
      if (session) session.seen = now();
      return model;
    },
    all: () => [...models.values()],
    async replace(model, engine) {
      const old = model.engine;
      model.engine = engine;
      model.changes++;
      await old.close();
    },
    unload,
    addPolicy(served) {
      const id = shortId("sampling");
      policies.set(id, { ...served, inUse: 0 });
      const idle = [...policies].filter(([key, entry]) => key !== id && entry.inUse === 0);
      for (const [key, entry] of idle.slice(0, Math.max(0, policies.size - options.maxPolicies))) {
        policies.delete(key);
        void entry.policy.close?.();
      }
      return id;
    },
    async usePolicy(id, work) {
      const entry = policies.get(id);
      if (!entry) throw new RefusedRequest(404, "Sampling session not found");
      policies.delete(id);
      policies.set(id, entry);
      entry.inUse++;
      try {
        return await work(entry);
      } finally {
        entry.inUse--;
      }
    },
    sourceOf(id) {
      const entry = policies.get(id);
      if (!entry) throw new RefusedRequest(404, "Sampling session not found");
      return entry.source;
    },
    async close() {
      clearInterval(sweep);
      for (const id of [...models.keys()]) await unload(id);
    },
  };
}
