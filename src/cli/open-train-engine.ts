/**
 * The engine that a training command drives: the one inside Node, or a Tinker server (hosted, SkyRL, `coa serve trainer`). The
 * folder of `--model` holds the tokenizer in both cases; its weights are needed here only, or to merge a server's adapter.
 */
import { existsSync } from "node:fs";
import { basename, join } from "node:path";
import { readJsonIfThere } from "../base/files/read-json.ts";
import type { Engine, Policy } from "../core/engine.ts";
import { UsageError } from "../core/errors.ts";
import { tokenizerFingerprint } from "../core/fingerprint.ts";
import { asObject } from "../core/json-value.ts";
import type { Model } from "../core/model.ts";
import type { Tokenizer } from "../core/tokenizer.ts";
import { MissingArgument } from "./command.ts";
import { findModel } from "./find-model.ts";
import type { Section } from "./settings/index.ts";

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

type EngineSettings = Section<"engine">;

/** How a run trains, beside what trains it. */
interface Training {
  optimizer: "adamw" | "muon";
  seed: number;
}

/** The folder of `--model`: weights to train here, or the tokenizer of a server's model. */
export async function findTrainFolder(model: string | undefined, { kind }: EngineSettings): Promise<string> {
  const far = kind === "tinker";
  if (!model)
    throw new MissingArgument(
      `${far ? "the tokenizer of the server's model" : "a model to start from"}: --model <folder>`,
    );
  if (far) return model;
  const found = await findModel({ name: model }, { lab: false });
  if (found.kind !== "folder")
    throw new UsageError(`${model} is not a model folder: weights are trained here; for a server give --engine tinker`);
  return found.folder;
}

/** Opens the engine that the settings name over the folder found. */
export async function openTrainEngine(
  settings: EngineSettings,
  folder: string,
  training: Training,
  note: (text: string) => void,
): Promise<TrainEngine> {
  return settings.kind === "tinker" ? openFar(settings, folder, training, note) : openHere(settings, folder, training);
}

async function openHere(
  { lora: rank, loraAlpha: alpha, loraTargets, trainEmbeddings, threads }: EngineSettings,
  folder: string,
  { optimizer, seed }: Training,
): Promise<TrainEngine> {
  const [{ openFolder }, { engineModel }] = await Promise.all([
    import("./open-model.ts"),
    import("../models/engine-model.ts"),
  ]);
  const targets = loraTargets?.split(",").map((target) => target.trim());
  const lora = rank ? { rank, seed, ...(alpha && { alpha }), ...(targets && { targets }) } : undefined;
  if (!lora && (alpha !== undefined || targets))
    throw new UsageError("engine.loraAlpha and engine.loraTargets need --lora <rank>");
  const { engine, tokenizer } = await openFolder(folder, {
    threads,
    optimizer,
    ...(lora && { lora }),
    ...(trainEmbeddings && { trainEmbeddings }),
  });
  return {
    engine,
    tokenizer,
    description: {
      model: folder,
      optimizerName: optimizer,
      lora: lora ?? null,
      ...(trainEmbeddings && { trainEmbeddings }),
    },
    modelFor: async (policy) => engineModel(policy, tokenizer),
    folders: (out) => ({ model: join(out, "model"), ...(lora && { adapter: join(out, "adapter") }) }),
    close: () => engine.close(),
  };
}

async function openFar(
  settings: EngineSettings,
  folder: string,
  { optimizer, seed }: Training,
  note: (text: string) => void,
): Promise<TrainEngine> {
  const baseURL = settings.url ?? process.env["TINKER_BASE_URL"];
  if (!baseURL) throw new UsageError("--engine tinker needs its server: --engine-url <url>, or set TINKER_BASE_URL");
  const { baseModel, lora: rank, samplerUrl } = settings;
  if (!baseModel) throw new UsageError("--engine tinker needs the model's name on the server: --base-model <name>");
  if (rank === undefined)
    throw new UsageError(
      "a Tinker server trains an adapter: give its rank with --lora <rank> (0: all weights, where the server can)",
    );
  for (const name of ["loraAlpha", "loraTargets"] as const)
    if (settings[name] !== undefined) throw new UsageError(`engine.${name} is decided by the server: leave it out`);
  if (optimizer !== "adamw") throw new UsageError("a Tinker server trains with AdamW; leave --optimizer out");
  const [{ openTinkerEngine }, { loadTokenizer }, { engineModel }, { openPolicyClients }] = await Promise.all([
    import("../engines/tinker/tinker-engine.ts"),
    import("../tokenizers/load-tokenizer.ts"),
    import("../models/engine-model.ts"),
    import("../models/policy-clients.ts"),
  ]);
  const tokenizer = await loadTokenizer(folder);
  const maxContext = settings.maxContext ?? (await windowOf(folder));
  const hasWeights = ["model.safetensors", "model.safetensors.index.json"].some(
    (name) => existsSync(join(folder, "config.json")) && existsSync(join(folder, name)),
  );
  const { stateHours } = settings;
  const prices = pricesOf(settings.price);
  const engine = await openTinkerEngine({
    baseURL,
    baseModel,
    lora: { rank, seed },
    vocabularySize: tokenizer.vocabularySize,
    tokenizer: tokenizerFingerprint(tokenizer),
    maxContext,
    reduction: settings.reduction,
    ...(settings.roundMaxTokens ? { maxTokensSteps: [64, 256, 1024, 4096, 16_384] } : {}),
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
  const samplers = openPolicyClients(tokenizer, { ask: true });
  /** A router knows the trained weights by the model's id, which changes where a run is resumed. */
  const samplerOf = (url: string, { servedAs = baseModel }: Policy): Model =>
    samplers.at({ baseURL: url, model: settings.samplerModel ?? servedAs, apiKey: process.env["OPENAI_API_KEY"] });
  return {
    engine,
    tokenizer,
    description: { engine: "tinker", server: baseURL, baseModel, lora: { rank }, reduction: engine.server.reduction },
    modelFor: async (policy) => (samplerUrl ? samplerOf(samplerUrl, policy) : engineModel(policy, tokenizer)),
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
  const config = asObject(await readJsonIfThere(join(folder, "config.json")));
  const window = config?.["max_position_embeddings"];
  if (typeof window !== "number")
    throw new UsageError(`${folder} does not say how long a context may be: set engine.maxContext`);
  return window;
}

function pricesOf(text: string | undefined): { prefill: number; sample: number; train: number } | undefined {
  if (text === undefined) return undefined;
  const [prefill, sample, train, ...more] = text.split(",").map(Number);
  if (![prefill, sample, train].every((price) => price !== undefined && price >= 0) || more.length > 0)
    throw new UsageError(`engine.price takes dollars per million tokens as in,out,train, not "${text}"`);
  return { prefill: prefill!, sample: sample!, train: train! };
}

/** Where the result is, in a sentence. */
export function whereWritten({ model, adapter }: { model?: string; adapter?: string }): string {
  return [model && `The model: ${model}`, adapter && `The adapter: ${adapter}`].filter(Boolean).join(". ");
}
