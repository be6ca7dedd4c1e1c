/**
 * The engine that a training command drives: the one inside Node, or a Tinker server (hosted, SkyRL, `coa serve trainer`). The
 * folder of `--model` holds the tokenizer in both cases; its weights are needed here only, or to merge a server's adapter.
 */
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import type { Engine, Policy } from "../core/engine.ts";
import { UsageError } from "../core/errors.ts";
import type { Model } from "../core/model.ts";
import type { Tokenizer } from "../core/tokenizer.ts";
import { tokenizerFingerprint } from "../core/tokenizer.ts";
import { numberOf, type Options, type Values } from "./command.ts";
import { findModel } from "./find-model.ts";
import { choiceOf } from "./flag-values.ts";

/** Flags that choose the engine. */
export const engineFlags = {
  engine: { type: "string", default: "embedded", valueName: "name", describe: "embedded (this machine), or tinker: a Tinker server" },
  "engine-url": { type: "string", valueName: "url", describe: "The Tinker server (default TINKER_BASE_URL)" },
  "base-model": { type: "string", valueName: "name", describe: "The model to train on the server" },
  "engine-reduction": { type: "string", default: "sum", valueName: "kind", describe: "How the server adds up losses: sum, or sequence-mean (SkyRL on jax)" },
  "engine-price": { type: "string", valueName: "in,out,train", describe: "Dollars per million tokens read, sampled and trained on the server" },
  "sampler-url": { type: "string", valueName: "url", describe: "Sample from this OpenAI-compatible server (vLLM, SGLang) that serves the trained weights" },
  "sampler-model": { type: "string", valueName: "name", describe: "What that server calls the trained weights (default: the model's id on the training server)" },
  "state-hours": { type: "string", valueName: "n", describe: "Hours after which the server may delete saved states; for ever by default" },
  "max-context": { type: "string", valueName: "n", describe: "Longest context on the server (default: what config.json says)" },
  "round-max-tokens": { type: "boolean", default: false, describe: "Ask for 64, 256, 1024... tokens and cut: for servers that compile for each number" },
  lora: { type: "string", valueName: "rank", describe: "Train a low-rank adapter of this rank and leave the model's weights alone; 0 on a server: all weights" },
  "lora-alpha": { type: "string", valueName: "x", describe: "Scale of the adapter: alpha / rank (default 2 x rank; servers fix it at 32)" },
  "lora-targets": { type: "string", valueName: "names", describe: "Projections that get an adapter, such as q_proj,v_proj (default: all)" },
  threads: { type: "string", valueName: "n", describe: "Threads; all cores by default" },
  optimizer: { type: "string", default: "adamw", valueName: "name", describe: "adamw, or muon for matrices (small models from scratch)" },
} as const satisfies Options; // biome-ignore format: one flag a line

export interface TrainEngine {
  engine: Engine;
  tokenizer: Tokenizer;
  /** What the run's configuration says of the engine. */
  description: Record<string, unknown>;
  /** The model that rollouts of a policy are written by. */
  modelFor(policy: Policy): Promise<Model>;
  /** What can be written below a run's folder: the adapter where there is one, and the model where its weights are here. */
  folders(run: string): { model?: string; adapter?: string };
  close(): Promise<void>;
}

type EngineValues = Values<typeof engineFlags> & { model?: string; seed?: string };

/** The folder of `--model`: weights to train here, or the tokenizer of a server's model. */
export function findTrainFolder(values: EngineValues, command: { name: string; example: string }): string {
  const far = choiceOf(values.engine, "engine", ["embedded", "tinker"]) === "tinker";
  if (!values.model) {
    const wanted = far ? "the tokenizer of the server's model" : "a model to start from";
    throw new UsageError(`coa ${command.name} needs ${wanted}: --model <folder>. Example: ${command.example}`);
  }
  if (far) return values.model;
  const found = findModel({ name: values.model }, { lab: false });
  if (found.kind !== "folder")
    throw new UsageError(
      `${values.model} is not a model folder: coa ${command.name} trains weights here; for a server give --engine tinker`,
    );
  return found.folder;
}

/** Opens the engine that the flags name over the folder found. */
export async function openTrainEngine(
  values: EngineValues,
  folder: string,
  note: (text: string) => void,
): Promise<TrainEngine> {
  const far = values.engine === "tinker";
  const rank = numberOf(values.lora, "lora", { min: far ? 0 : 1, integer: true });
  return far ? openFar(values, folder, rank, note) : openHere(values, folder, rank);
}

async function openHere(values: EngineValues, folder: string, rank: number | undefined): Promise<TrainEngine> {
  const [{ openFolder }, { engineModel }] = await Promise.all([
    import("./open-model.ts"),
    import("../models/engine-model.ts"),
  ]);
  const optimizer = choiceOf(values.optimizer, "optimizer", ["adamw", "muon"]);
  const alpha = numberOf(values["lora-alpha"], "lora-alpha", { min: 0 });
  const targets = values["lora-targets"]?.split(",").map((target) => target.trim());
  const seed = numberOf(values.seed, "seed", { min: 0, integer: true }) ?? 0;
  const lora = rank === undefined ? undefined : { rank, seed, ...(alpha && { alpha }), ...(targets && { targets }) };
  if (!lora && (alpha !== undefined || targets))
    throw new UsageError("--lora-alpha and --lora-targets need --lora <rank>");
  const threads = numberOf(values.threads, "threads", { min: 1, integer: true });
  const { engine, tokenizer } = await openFolder(folder, { threads, optimizer, ...(lora && { lora }) });
  return {
    engine,
    tokenizer,
    description: { model: folder, optimizerName: optimizer, lora: lora ?? null },
    modelFor: async (policy) => engineModel(policy, tokenizer),
    folders: (out) => ({
      model: join(out, "model"),
      ...(lora && engine.saveAdapter && { adapter: join(out, "adapter") }),
    }),
    close: () => engine.close(),
  };
}

async function openFar(
  values: EngineValues,
  folder: string,
  rank: number | undefined,
  note: (text: string) => void,
): Promise<TrainEngine> {
  const baseURL = values["engine-url"] ?? process.env["TINKER_BASE_URL"];
  if (!baseURL) throw new UsageError("--engine tinker needs its server: --engine-url <url>, or set TINKER_BASE_URL");
  const baseModel = values["base-model"];
  if (!baseModel) throw new UsageError("--engine tinker needs the model's name on the server: --base-model <name>");
  if (rank === undefined)
    throw new UsageError(
      "a Tinker server trains an adapter: give its rank with --lora <rank> (0: all weights, where the server can)",
    );
  for (const flag of ["lora-alpha", "lora-targets"] as const)
    if (values[flag] !== undefined) throw new UsageError(`--${flag} is decided by the server: leave it out`);
  if (values.optimizer !== "adamw") throw new UsageError("a Tinker server trains with AdamW; leave --optimizer out");
  const [{ openTinkerEngine }, { loadTokenizer }, { engineModel }, { openPolicyClients }] = await Promise.all([
    import("../engines/tinker/tinker-engine.ts"),
    import("../tokenizers/load-tokenizer.ts"),
    import("../models/engine-model.ts"),
    import("../models/policy-clients.ts"),
  ]);
  const tokenizer = await loadTokenizer(folder);
  const maxContext =
    numberOf(values["max-context"], "max-context", { min: 16, integer: true }) ?? (await windowOf(folder));
  const hasWeights = ["model.safetensors", "model.safetensors.index.json"].some(
    (name) => existsSync(join(folder, "config.json")) && existsSync(join(folder, name)),
  );
  const stateHours = numberOf(values["state-hours"], "state-hours", { min: 0 });
  const prices = pricesOf(values["engine-price"]);
  const engine = await openTinkerEngine({
    baseURL,
    baseModel,
    lora: { rank, seed: numberOf(values.seed, "seed", { min: 0, integer: true }) ?? 0 },
    vocabularySize: tokenizer.vocabularySize,
    tokenizer: tokenizerFingerprint(tokenizer),
    maxContext,
    reduction: choiceOf(values["engine-reduction"], "engine-reduction", ["sum", "sequence-mean"]),
    ...(values["round-max-tokens"] ? { maxTokensSteps: [64, 256, 1024, 4096, 16_384] } : {}),
    ...(hasWeights ? { baseFolder: folder } : {}),
    ...(prices ? { prices } : {}),
    ...(stateHours === undefined ? {} : { stateSeconds: Math.ceil(stateHours * 3600) }),
    onNote: note,
  });
  try {
    await engine.verify(
      tokenizer.encode("The quick brown fox jumps over the lazy dog. 3 + 4 = 7").slice(0, maxContext - 2),
    );
  } catch (error) {
    await engine.close();
    throw error;
  }
  const samplerURL = values["sampler-url"];
  const samplers = openPolicyClients(tokenizer, { ask: true });
  /** A router knows the trained weights by the model's id, which changes where a run is resumed. */
  const samplerOf = (url: string, { servedAs = baseModel }: Policy): Model =>
    samplers.at({ baseURL: url, model: values["sampler-model"] ?? servedAs, apiKey: process.env["OPENAI_API_KEY"] });
  return {
    engine,
    tokenizer,
    description: { engine: "tinker", server: baseURL, baseModel, lora: { rank }, reduction: engine.server.reduction },
    modelFor: async (policy) => (samplerURL ? samplerOf(samplerURL, policy) : engineModel(policy, tokenizer)),
    folders(out) {
      const adapter = engine.saveAdapter && { adapter: join(out, "adapter") };
      if (hasWeights || !adapter) return { model: join(out, "model"), ...adapter };
      note(`${basename(folder)} has no weights here, so the adapter is not merged; it is in ${adapter.adapter}`);
      return adapter;
    },
    async close() {
      await engine.close();
      await samplers.close();
    },
  };
}

async function windowOf(folder: string): Promise<number> {
  const config = await readFile(join(folder, "config.json"), "utf8").catch(() => "{}");
  const window = (JSON.parse(config) as { max_position_embeddings?: unknown }).max_position_embeddings;
  if (typeof window !== "number")
    throw new UsageError(`${folder} does not say how long a context may be: give --max-context <n>`);
  return window;
}

function pricesOf(text: string | undefined): { prefill: number; sample: number; train: number } | undefined {
  if (text === undefined) return undefined;
  const [prefill, sample, train, ...more] = text.split(",").map(Number);
  if (![prefill, sample, train].every((price) => price !== undefined && price >= 0) || more.length > 0)
    throw new UsageError(`--engine-price takes dollars per million tokens as in,out,train, not "${text}"`);
  return { prefill: prefill!, sample: sample!, train: train! };
}

/** Where the result is, in a sentence. */
export function whereWritten({ model, adapter }: { model?: string; adapter?: string }): string {
  return [model && `The model: ${model}`, adapter && `The adapter: ${adapter}`].filter(Boolean).join(". ");
}
