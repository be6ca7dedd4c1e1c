/**
 * The models under training and the policies that are sampled from. Each model is an adapter over the one base, with an
 * engine of its own. Their number and their bytes are limited, and more are refused by name. A published policy is pinned
 * to its weights. When memory is short, unused policies are closed: saved weights are opened again when they are
 * asked for; of a model's own policies only the newest is kept. A session that has been silent for five minutes loses
 * its models, as on other servers of this kind.
 */
import { randomUUID } from "node:crypto";
import { Refusal } from "../../base/http/refusal.ts";
import { steadyNow } from "../../base/work/steady-clock.ts";
import type { Engine, Policy } from "../../core/engine.ts";
import { type OrderedRequests, type Outcome, orderedRequests } from "./futures.ts";

/** How a model's engine is opened: a new adapter, or one from a PEFT folder. */
export type OpenAdapter = (lora: { rank: number; alpha: number; seed: number } | { folder: string }) => Promise<Engine>;

/** How often silent sessions are looked for. */
const sweepMs = 60_000;

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

/** A policy that is sampled from, and how a prompt is scored with its weights. */
export interface ServedPolicy {
  policy: Policy;
  /** Log-probability of every token but the first. */
  score(tokens: readonly number[]): Promise<Float32Array>;
}

/** What fits into memory, in bytes. */
export interface TrainerMemory {
  /** For everything beside the base. */
  limit: number;
  model(rank: number): number;
  /** What a policy that can be sampled from takes. */
  policy: number;
}

export interface TrainerModelsOptions {
  openAdapter: OpenAdapter;
  maxModels: number;
  maxPolicies: number;
  memory?: TrainerMemory;
  sessionTimeoutMs: number;
  register(work: Promise<Outcome>): string;
  now?: () => number;
}

interface PolicyEntry {
  /** A model, an address of saved weights, or the base model's name. */
  source: string;
  /** Which in the order of their making. */
  number: number;
  inUse: number;
  served: Promise<ServedPolicy> | null;
  /** Opens it again; a model's own policy can't be. */
  open?(): Promise<ServedPolicy>;
}

/** An empty set of models. */
export function trainerModels(options: TrainerModelsOptions) {
  const { now = steadyNow } = options;
  const sessions = new Map<string, { seen: number; models: Map<number, Promise<TrainerModel>> }>();
  const models = new Map<string, TrainerModel>();
  const policies = new Map<string, PolicyEntry>(); // oldest use first
  let made = 0;

  const sessionOf = (id: string) => {
    const session = sessions.get(id);
    if (!session) throw new Refusal(404, "Session not found");
    session.seen = now();
    return session;
  };
  const shortId = (kind: string) => `${kind}_${randomUUID().slice(0, 8)}`;
  const unload = async (id: string) => {
    const model = models.get(id);
    if (!model) return;
    models.delete(id);
    model.requests.close();
    for (const [key, entry] of policies) if (entry.source === id) policies.delete(key);
    await model.engine.close();
  };
  const { memory } = options;
  /** Models whose engine is being opened, by rank. */
  const opening: number[] = [];
  const isOpen = (entry: PolicyEntry) => entry.served !== null;
  const usedBytes = () => {
    if (!memory) return 0;
    const ranks = [...opening, ...[...models.values()].map(({ rank }) => rank)];
    const trained = ranks.reduce((sum, rank) => sum + memory.model(rank), 0);
    return trained + memory.policy * [...policies.values()].filter(isOpen).length;
  };
  /** The longest unused policy that can be done without. */
  const idlePolicy = () => {
    const newest = (entry: PolicyEntry) =>
      [...policies.values()].every(({ source, number }) => source !== entry.source || number <= entry.number);
    return [...policies].find(([, entry]) => isOpen(entry) && entry.inUse === 0 && (entry.open || !newest(entry)));
  };
  const closePolicy = (key: string, entry: PolicyEntry) => {
    const { served } = entry;
    if (!entry.open) policies.delete(key);
    entry.served = null;
    void served?.then(({ policy }) => policy.close?.()).catch(() => {});
  };
  /** Makes room, or says why there is none. */
  const makeRoom = (what: string, bytes: number) => {
    while (memory && usedBytes() + bytes > memory.limit) {
      const idle = idlePolicy();
      if (idle) closePolicy(...idle);
      else {
        const mb = (value: number) => `${Math.ceil(value / 1e6)} MB`;
        const there = `${models.size + opening.length} adapters and ${[...policies.values()].filter(isOpen).length} policies take ${mb(usedBytes())} of ${mb(memory.limit)}`;
        throw new Refusal(400, `no memory for ${what}, which takes ${mb(bytes)}: ${there}; unload a model first`);
      }
    }
  };
  const makePlace = () => {
    makeRoom("another policy", memory?.policy ?? 0);
    while ([...policies.values()].filter(isOpen).length >= options.maxPolicies) {
      const idle = idlePolicy();
      if (!idle) return;
      closePolicy(...idle);
    }
  };
  const addPolicy = (entry: Omit<PolicyEntry, "inUse" | "number">): string => {
    const id = shortId("sampling");
    policies.set(id, { ...entry, number: made++, inUse: 0 });
    return id;
  };
  let sweptAt = now();
  const sweep = setInterval(() => {
    const stopped = now() - sweptAt - sweepMs;
    sweptAt += stopped + sweepMs;
    for (const [id, session] of sessions) {
      // While this process itself was stopped no heartbeat could arrive.
      if (stopped > sweepMs) session.seen += stopped;
      if (now() - session.seen < options.sessionTimeoutMs) continue;
      sessions.delete(id);
      for (const model of models.values()) if (model.session === id) void unload(model.id);
    }
  }, sweepMs);
  sweep.unref();

  async function open(session: string, lora: { rank: number; seed: number }): Promise<TrainerModel> {
    if (!(Number.isInteger(lora.rank) && lora.rank >= 1))
      throw new Refusal(400, `LoRA rank ${lora.rank}: this server trains adapters of rank 1 or more, not whole models`);
    if (models.size + opening.length >= options.maxModels)
      throw new Refusal(400, `Maximum number of LoRA adapters (${options.maxModels}) reached`);
    makeRoom(`another adapter of rank ${lora.rank}`, memory?.model(lora.rank) ?? 0);
    opening.push(lora.rank);
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
      opening.splice(opening.indexOf(lora.rank), 1);
    }
  }

  return {
    createSession(): string {
      const id = shortId("session");
      sessions.set(id, { seen: now(), models: new Map() });
      return id;
    },
    heartbeat: (session: string): void => void sessionOf(session),
    /** A new model, or the one that the same request made before. */
    create(session: string, number: number, lora: { rank: number; seed: number }): Promise<TrainerModel> {
      const { models: made } = sessionOf(session);
      let model = made.get(number);
      if (!model) {
        model = open(session, lora);
        made.set(number, model);
        model.catch(() => made.delete(number));
      }
      return model;
    },
    get(id: string): TrainerModel {
      const model = models.get(id);
      if (!model) throw new Refusal(404, "Model not found");
      const session = sessions.get(model.session);
      if (session) session.seen = now();
      return model;
    },
    all: (): TrainerModel[] => [...models.values()],
    /** Puts another engine in the place of a model's. */
    async replace(model: TrainerModel, engine: Engine): Promise<void> {
      const old = model.engine;
      model.engine = engine;
      model.changes++;
      await old.close();
    },
    unload,
    /** A sampling session for what a model is now; `open` publishes it. */
    async publish(model: TrainerModel, open: () => Promise<ServedPolicy>): Promise<string> {
      makePlace();
      const id = addPolicy({ source: model.id, served: open() });
      try {
        await policies.get(id)!.served;
      } catch (error) {
        policies.delete(id);
        throw error;
      }
      return id;
    },
    /** A sampling session for weights that stay where they are, opened when they are used: one for each address. */
    serve(source: string, open: () => Promise<ServedPolicy>): string {
      const known = [...policies].find(([, entry]) => entry.open && entry.source === source);
      return known?.[0] ?? addPolicy({ source, served: null, open });
    },
    /** Uses a policy; it is not closed meanwhile. */
    async usePolicy<T>(id: string, work: (served: ServedPolicy) => Promise<T>): Promise<T> {
      const entry = policies.get(id);
      if (!entry) throw new Refusal(404, "Sampling session not found");
      policies.delete(id);
      policies.set(id, entry);
      entry.inUse++;
      try {
        if (!entry.served) {
          makePlace();
          const served = (entry.served = entry.open!());
          served.catch(() => {
            if (entry.served === served) entry.served = null;
          });
        }
        return await work(await entry.served);
      } finally {
        entry.inUse--;
      }
    },
    sourceOf(id: string): string {
      const entry = policies.get(id);
      if (!entry) throw new Refusal(404, "Sampling session not found");
      return entry.source;
    },
    async close(): Promise<void> {
      clearInterval(sweep);
      const served = [...policies.values()].filter(({ open }) => open).map((entry) => entry.served);
      policies.clear();
      for (const id of [...models.keys()]) await unload(id);
      for (const one of await Promise.allSettled(served))
        if (one.status === "fulfilled") await one.value?.policy.close?.();
    },
  };
}
