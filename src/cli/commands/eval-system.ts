/** Which system is evaluated, put together from flags: a chain, a team, a bare model, or a module of the user's own. */
import { basename, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { openCallStore } from "../../base/files/call-store.ts";
import { UsageError } from "../../core/errors.ts";
import { limitedModel } from "../../core/limited-model.ts";
import { limiter } from "../../core/limiter.ts";
import type { ChatModel, Model, Price } from "../../core/model.ts";
import { defineSystem, type System } from "../../core/system.ts";
import type { Tool } from "../../core/tool.ts";
import { bareSystem } from "../../evaluate/bare-system.ts";
import { chainSystem } from "../../evaluate/chain-system.ts";
import { labProfile } from "../../lab/profile.ts";
import { builtInProfiles } from "../../language/profiles.ts";
import { cachedModel, cachedTools } from "../../models/cached-model.ts";
import { withoutUrls } from "../../tools/search/blocklist.ts";
import { numberOf, type Options, type Values } from "../command.ts";
import { openTools, toolFlags } from "../open-tools.ts";

/** Flags that say what is evaluated. */
export const systemFlags = {
  system: { type: "string", default: "chain", valueName: "what", describe: "chain, team, model (no tools), or a module whose default export is a system" },
  model: { type: "string", valueName: "name", describe: "A model folder, or a model of the server at --base-url" },
  "base-url": { type: "string", valueName: "url", describe: "OpenAI-compatible server (default OPENAI_BASE_URL)" },
  profile: { type: "string", default: "web", valueName: "name", describe: "Tags and rules of the chain: web, mhqa, code, multi or lab" },
  "bare-question": { type: "boolean", default: false, describe: "Give the model the question without a system prompt" },
  topology: { type: "string", default: "agents-as-tools", valueName: "name", describe: "Of a team: agents-as-tools or handoff" },
  temperature: { type: "string", default: "0", valueName: "x", describe: "Sampling temperature" },
  "top-p": { type: "string", valueName: "x", describe: "Nucleus sampling" },
  "max-tokens": { type: "string", default: "32768", valueName: "n", describe: "Tokens one run may write" },
  "max-steps": { type: "string", default: "24", valueName: "n", describe: "Model calls of one run" },
  price: { type: "string", valueName: "in,out[,cached]", describe: "Dollars per million tokens, for the money columns" },
  "requests-per-minute": { type: "string", valueName: "n", describe: "Start at most so many model calls a minute" },
  "model-concurrency": { type: "string", valueName: "n", describe: "At most so many model calls at the same time" },
  cache: { type: "string", valueName: "file", describe: "Keep model and tool calls here, for exact re-runs" },
  "cached-only": { type: "boolean", default: false, describe: "Answer every call from --cache; a missing one is an error" },
  blocklist: { type: "boolean", default: true, describe: "Keep pages that hold benchmark answers out (--no-blocklist to allow)" },
  ...toolFlags,
} as const satisfies Options; // biome-ignore format: one flag a line

type SystemValues = Values<typeof systemFlags>;

export interface OpenSystem {
  system: System;
  close(): Promise<void>;
}

/** Opens the system that the flags describe, under the given name. */
export async function openSystem(
  values: SystemValues,
  name: string | undefined,
  signal: AbortSignal,
): Promise<OpenSystem> {
  if (!["chain", "team", "model"].includes(values.system)) return openModule(values.system, name);
  const closers: (() => Promise<unknown>)[] = [];
  const close = async () => {
    for (const closer of closers.toReversed()) await closer();
  };
  try {
    const client = await openModel(values);
    closers.push(client.close);
    const opened =
      values.system === "model" ? { tools: [] as Tool[] } : await openTools(toolValues(values), { signal });
    if ("close" in opened) closers.push(opened.close as () => Promise<void>);
    const wrapped = await wrap(values, client, values.blocklist ? withoutUrls(opened.tools) : opened.tools, closers);
    return { system: makeSystem(values, name ?? defaultName(values), wrapped), close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** During an evaluation the search and crawl tools know the blocklist too. */
function toolValues(values: SystemValues): SystemValues {
  return values.blocklist ? { ...values, block: [...values.block, "benchmarks"] } : values;
}

function defaultName({ system, model }: SystemValues): string {
  return model === undefined ? system : `${system}-${basename(resolve(model))}`;
}

interface Players {
  model: Model;
  chat?: ChatModel;
}

/** A folder is run here; anything else is a name on a server. */
async function openModel(values: SystemValues): Promise<Players & { close(): Promise<unknown> }> {
  const { existsSync } = await import("node:fs");
  if (values.model !== undefined && existsSync(resolve(values.model, "config.json"))) {
    const [{ openEmbeddedEngine }, { loadTokenizer }, { engineModel }] = await Promise.all([
      import("../../engines/embedded/embedded-engine.ts"),
      import("../../tokenizers/load-tokenizer.ts"),
      import("../../models/engine-model.ts"),
    ]);
    const engine = await openEmbeddedEngine({ folder: values.model });
    const tokenizer = await loadTokenizer(values.model);
    return {
      model: engineModel(engine, tokenizer, { name: basename(resolve(values.model)) }),
      close: () => engine.close(),
    };
  }
  if (!values["base-url"] && !process.env["OPENAI_BASE_URL"] && !process.env["OPENAI_API_KEY"]) {
    throw new UsageError(
      "no model to evaluate: give --model <folder>, or --base-url (and --model), or set OPENAI_BASE_URL",
    );
  }
  const { openaiCompatible } = await import("../../models/openai-compatible.ts");
  const client = openaiCompatible({ baseURL: values["base-url"], model: values.model });
  return { model: client, chat: client, close: () => client.close() };
}

/** Rate limits around the server, the cache around those: cached calls bypass the limiter. */
async function wrap(
  values: SystemValues,
  { model, chat }: Players,
  tools: Tool[],
  closers: (() => Promise<unknown>)[],
): Promise<Players & { tools: Tool[] }> {
  const requestsPerMinute = numberOf(values["requests-per-minute"], "requests-per-minute", { min: 0.001 });
  const concurrency = numberOf(values["model-concurrency"], "model-concurrency", { min: 1, integer: true });
  if (requestsPerMinute !== undefined || concurrency !== undefined) {
    const places = limiter({ requestsPerMinute, concurrency });
    model = limitedModel(model, places);
    chat = chat && limitedModel(chat, places);
  }
  if (values.cache === undefined) {
    if (values["cached-only"]) throw new UsageError("--cached-only needs to know where calls are kept: --cache <file>");
    return { model, chat, tools };
  }
  const cache = await openCallStore(values.cache, { mode: values["cached-only"] ? "replay" : "auto" });
  closers.push(() => cache.close());
  return {
    model: cachedModel(model, cache),
    chat: chat && cachedModel(chat, cache),
    tools: cachedTools(tools, cache),
  };
}

function makeSystem(values: SystemValues, name: string, { model, chat, tools }: Players & { tools: Tool[] }): System {
  const temperature = numberOf(values.temperature, "temperature", { min: 0 })!;
  const topP = numberOf(values["top-p"], "top-p", { min: 0, max: 1 });
  const maxTokens = numberOf(values["max-tokens"], "max-tokens", { min: 1, integer: true })!;
  const price = readPrice(values.price);
  if (values.system === "chain") {
    const profile = values.profile === "lab" ? labProfile : builtInProfiles[values.profile];
    if (!profile) throw new UsageError(`there is no profile "${values.profile}"; see: coa profiles`);
    const limits = {
      maxCompletionTokens: maxTokens,
      maxSteps: numberOf(values["max-steps"], "max-steps", { min: 1, integer: true }),
    };
    return chainSystem({
      name,
      model,
      tools,
      profile,
      limits,
      sampling: { temperature, topP },
      systemPrompt: values["bare-question"] ? false : undefined,
      prices: price,
    });
  }
  if (!chat)
    throw new UsageError(`--system ${values.system} needs a chat model behind a server: give --base-url and --model`);
  if (values.system === "model") return bareSystem({ name, model: chat, temperature, maxTokens, price });
  const { topology } = values;
  if (topology !== "agents-as-tools" && topology !== "handoff")
    throw new UsageError(`--topology takes agents-as-tools or handoff, not "${topology}"`);
  const roles = { default: chat };
  return defineSystem({
    name,
    topology,
    async run(task, { seed, sample, signal }) {
      const { runTeam } = await import("../../team/run-team.ts");
      return runTeam(task, {
        roles,
        tools,
        topology,
        temperature,
        seed,
        signal,
        id: `${task.id}#${sample}`,
        prices: price && { [chat.name]: price },
      });
    },
  });
}

function readPrice(text: string | undefined): Price | undefined {
  if (text === undefined) return undefined;
  const [input, output, cachedInput] = text.split(",").map(Number);
  if (input === undefined || output === undefined || [input, output, cachedInput ?? 0].some((value) => !(value >= 0))) {
    throw new UsageError(`--price takes dollars per million tokens as in,out or in,out,cached, not "${text}"`);
  }
  return { input, output, cachedInput };
}

/** A system of the user's own: the default export is one, or a function that makes one. */
async function openModule(path: string, name: string | undefined): Promise<OpenSystem> {
  let module: { default?: System | (() => System | Promise<System>); close?: () => Promise<void> };
  try {
    module = await import(pathToFileURL(resolve(path)).href);
  } catch (error) {
    throw new UsageError(
      `--system takes chain, team, model or a module; ${path} can't be loaded: ${(error as Error).message}`,
      { cause: error },
    );
  }
  const system = typeof module.default === "function" ? await module.default() : module.default;
  if (!system || typeof system.run !== "function")
    throw new UsageError(`${path} has no system as its default export: { name, run(task, { seed, sample, signal }) }`);
  const { close = async () => {} } = module;
  return { system: { ...system, name: name ?? system.name, run: system.run.bind(system) }, close };
}
