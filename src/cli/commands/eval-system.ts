/** Which system is evaluated, put together from flags: a chain, a team, a bare model, or a module of the user's own. */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { runAfmHarness } from "../../afm/afm-harness.ts";
import { openCallStore } from "../../base/files/call-store.ts";
import { fileFingerprint } from "../../base/files/fingerprint.ts";
import { loadModule } from "../../base/files/load-module.ts";
import { readAllJsonl } from "../../base/files/read-jsonl.ts";
import { limitedModel } from "../../base/work/limited-model.ts";
import { limiter } from "../../base/work/limiter.ts";
import { errorEnding, throwIfUserMustFix } from "../../core/ending.ts";
import { UsageError } from "../../core/errors.ts";
import type { ChatModel, Model } from "../../core/model.ts";
import { defineSystem, type System } from "../../core/system.ts";
import type { Task } from "../../core/task.ts";
import { teamRunSchema } from "../../core/team-run.ts";
import type { Tool } from "../../core/tool.ts";
import { modelFingerprint } from "../../engines/embedded/files/model-fingerprint.ts";
import { bareSystem } from "../../evaluate/bare-system.ts";
import { chainSystem } from "../../evaluate/chain-system.ts";
import { recordedSystem } from "../../evaluate/recorded-system.ts";
import { teamSystem } from "../../evaluate/team-system.ts";
import { labTeam, teamWords } from "../../lab/lab-team.ts";
import { cachedModel, cachedTools } from "../../models/cached-model.ts";
import { corpusFingerprint } from "../../tools/local-index/index-corpus.ts";
import { withoutUrls } from "../../tools/search/blocklist.ts";
import { bestOfFlags, openBestOf } from "../choose-best.ts";
import { numberOf, type Options, type Values } from "../command.ts";
import { choiceOf, entropiesFlag, priceFlag, priceOf } from "../flag-values.ts";
import { chainFlags, type OpenChain, openChain } from "../open-chain.ts";

/** Flags that say what is evaluated. */
export const systemFlags = {
  system: { type: "string", default: "chain", valueName: "what", describe: "chain, team, model (no tools), lab-team (scripted, in the lab), recorded (the runs of --runs), or a module whose default export is a system" },
  runs: { type: "string", valueName: "file", describe: "With --system recorded: the recorded team runs to grade; nothing is run again" },
  ...chainFlags,
  harness: { type: "string", valueName: "afm", describe: "Run a chain as the evaluation of Agent Foundation Models does, for their published weights" },
  topology: { type: "string", default: "agents-as-tools", valueName: "name", describe: "Of a team: agents-as-tools or handoff" },
  "team-words": { type: "string", default: "full", valueName: "name", describe: "Of lab-team: full, no-prompts, or terse, which says no more than a chain" },
  temperature: { type: "string", default: "0", valueName: "x", describe: "Sampling temperature" },
  "top-p": { type: "string", valueName: "x", describe: "Nucleus sampling" },
  "top-k": { type: "string", valueName: "n", describe: "Sample among the k likeliest tokens" },
  entropies: entropiesFlag,
  ...bestOfFlags,
  "max-tokens": { type: "string", valueName: "n", describe: "Tokens one run may write" },
  "max-steps": { type: "string", valueName: "n", describe: "Model calls of one run" },
  price: priceFlag,
  "requests-per-minute": { type: "string", valueName: "n", describe: "Start at most this many model calls a minute" },
  "model-concurrency": { type: "string", valueName: "n", describe: "At most this many model calls at the same time" },
  cache: { type: "string", valueName: "file", describe: "Keep model and tool calls here, for exact re-runs" },
  "cached-only": { type: "boolean", default: false, describe: "Answer every call from --cache; a missing one is an error" },
  blocklist: { type: "boolean", default: true, describe: "Keep pages that hold benchmark answers out (--no-blocklist to allow)" },
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
  { note, signal }: { note: (text: string) => void; signal: AbortSignal },
): Promise<OpenSystem> {
  if (values.system === "recorded") return openRecorded(values.runs, name);
  if (!["chain", "team", "model", "lab-team"].includes(values.system)) return openModule(values.system, name);
  const opened = await openChain(toolValues(values), { note, signal });
  const closers: (() => Promise<unknown>)[] = [opened.close];
  const close = async () => {
    for (const closer of closers.toReversed()) await closer();
  };
  try {
    const wrapped = await wrap(values, opened, closers);
    const identity = await identityOf(values, opened, signal);
    const made = makeSystem(values, name ?? defaultName(values), opened, wrapped, identity);
    const best = openBestOf(values, made, wrapped.chat);
    closers.push(best.close);
    return { system: name === undefined ? best.system : { ...best.system, name }, close };
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
  if (model === undefined) return system;
  // `.coa/a/model` and `.coa/b/model` are two models.
  const parts = resolve(model)
    .split(/[\\/]/)
    .filter((part) => part !== "model");
  return `${system}-${parts.at(-1)}`;
}

/** All that decides what the system answers: another one under the same name is refused. */
async function identityOf(
  values: SystemValues,
  { folder, model, profile }: OpenChain,
  signal: AbortSignal,
): Promise<Record<string, unknown>> {
  const { system, temperature, lab, tools, index, docs, recorded, retrieval, search, mcp, tool, topology } = values;
  // A server that was not told which model says it itself: another model there is another system.
  if (!values["cached-only"])
    await model.prepare?.(signal).catch((error: unknown) => {
      if (!signal.aborted) throwIfUserMustFix(errorEnding(error));
      throw error;
    });
  const server =
    folder === undefined ? { server: values["base-url"] ?? process.env["OPENAI_BASE_URL"], name: model.name } : {};
  const chain = system === "chain" ? { profile, bare: values["bare-question"] } : {};
  return {
    kind: system,
    model: folder === undefined ? server : { name: model.name, fingerprint: await modelFingerprint(folder) },
    ...chain,
    ...(system === "team" && { topology }),
    ...(system === "lab-team" && { topology, words: values["team-words"] }),
    ...(system !== "model" && {
      tools: {
        ...{ lab, tools, tool, docs, index, recorded, retrieval, search, mcp, faults: values["tool-faults"] },
        ...(await contentOf(values)),
      },
    }),
    sampling: { temperature, topP: values["top-p"], topK: values["top-k"] },
    ...(values.harness !== undefined && { harness: values.harness }),
    limits: { maxTokens: values["max-tokens"], maxSteps: values["max-steps"] },
  };
}

/** The content of the files that tools are made of, and their settings where they differ from the defaults. */
async function contentOf(values: SystemValues): Promise<Record<string, unknown>> {
  const { docs, tool, recorded, results, reader } = values;
  const files = [...tool, ...(recorded === undefined ? [] : [recorded])];
  const content = await Promise.all([
    ...files.map((file) => fileFingerprint(file)),
    ...(docs === undefined ? [] : [corpusFingerprint(docs)]),
  ]);
  return {
    ...(content.length > 0 && { content: content.map((hash) => hash.slice(0, 12)) }),
    ...(results !== "10" && { results }),
    ...(reader !== "own" && { reader }),
    ...(values["summarise-pages"] && { summaries: true }),
  };
}

/** The model and tools that a system is made of, behind limits and caches. */
interface Parts {
  model: Model;
  chat?: ChatModel;
  toolsOf(task: Task): Tool[];
}

/** Rate limits around the server, the cache around those: cached calls bypass the limiter. */
async function wrap(values: SystemValues, opened: OpenChain, closers: (() => Promise<unknown>)[]): Promise<Parts> {
  let { model, chat }: { model: Model; chat?: ChatModel } = opened;
  const requestsPerMinute = numberOf(values["requests-per-minute"], "requests-per-minute", { min: 0.001 });
  const concurrency = numberOf(values["model-concurrency"], "model-concurrency", { min: 1, integer: true });
  if (requestsPerMinute !== undefined || concurrency !== undefined) {
    const places = limiter({ requestsPerMinute, concurrency });
    model = limitedModel(model, places);
    chat = chat && limitedModel(chat, places);
  }
  const allowed = values.blocklist ? withoutUrls : (tools: Tool[]) => tools;
  if (values.cache === undefined) {
    if (values["cached-only"]) throw new UsageError("--cached-only needs to know where calls are kept: --cache <file>");
    return { model, chat, toolsOf: wrappedOnce(opened.toolsOf, allowed) };
  }
  const cache = await openCallStore(values.cache, { mode: values["cached-only"] ? "replay" : "auto" });
  closers.push(() => cache.close());
  return {
    model: cachedModel(model, cache),
    chat: chat && cachedModel(chat, cache),
    toolsOf: wrappedOnce(opened.toolsOf, (tools) => cachedTools(allowed(tools), cache)),
  };
}

/** Wraps each set of tools once, however many tasks share it. */
function wrappedOnce(toolsOf: OpenChain["toolsOf"], wrap: (tools: Tool[]) => Tool[]): OpenChain["toolsOf"] {
  const wrapped = new WeakMap<Tool[], Tool[]>();
  return (task) => {
    const tools = toolsOf(task);
    const known = wrapped.get(tools) ?? wrap(tools);
    wrapped.set(tools, known);
    return known;
  };
}

function makeSystem(
  values: SystemValues,
  name: string,
  opened: OpenChain,
  { model, chat, toolsOf }: Parts,
  identity: Record<string, unknown>,
): System {
  const temperature = numberOf(values.temperature, "temperature", { min: 0 })!;
  const topP = numberOf(values["top-p"], "top-p", { min: 0, max: 1 });
  const topK = numberOf(values["top-k"], "top-k", { min: 1, integer: true });
  const maxTokens = numberOf(values["max-tokens"], "max-tokens", { min: 1, integer: true });
  const maxSteps = numberOf(values["max-steps"], "max-steps", { min: 1, integer: true });
  const price = priceOf(values.price);
  if (values.harness !== undefined) {
    choiceOf(values.harness, "harness", ["afm"]);
    if (values.system !== "chain")
      throw new UsageError("--harness says how a chain is run: it goes with --system chain");
    const asked = { temperature: temperature || undefined, topP, topK };
    const sampling = Object.fromEntries(Object.entries(asked).filter(([, value]) => value !== undefined));
    return defineSystem({
      name,
      topology: "single",
      identity,
      run: (task, { sample, seed, signal }) =>
        runAfmHarness(task, {
          model,
          tools: toolsOf(task),
          profile: opened.profile,
          maxSteps,
          sampling: { ...sampling, seed },
          price,
          id: `${task.id}#${sample}`,
          signal,
        }),
    });
  }
  if (values.system === "chain") {
    const limits = {
      maxCompletionTokens: 32_768,
      maxSteps: 24,
      ...opened.defaults.limits,
      ...(maxTokens !== undefined && { maxCompletionTokens: maxTokens }),
      ...(maxSteps !== undefined && { maxSteps }),
    };
    const { profile, defaults } = opened;
    const sampling = { temperature, topP, topK, entropies: values.entropies };
    return chainSystem({
      name,
      model,
      tools: toolsOf,
      profile,
      ...defaults,
      limits,
      sampling,
      prices: price,
      identity,
    });
  }
  if (values.system === "lab-team")
    return labTeam({
      name,
      tools: toolsOf,
      topology: choiceOf(values.topology, "topology", ["agents-as-tools", "handoff"]),
      words: choiceOf(values["team-words"], "team-words", teamWords),
      countTokens: model.countTokens?.bind(model), // the model's own vocabulary, as for its chain
      identity,
    });
  if (!chat)
    throw new UsageError(`--system ${values.system} needs a chat model behind a server: give --base-url and --model`);
  if (values.system === "model")
    return { ...bareSystem({ name, model: chat, temperature, maxTokens: maxTokens ?? 32_768, price }), identity };
  const topology = choiceOf(values.topology, "topology", ["agents-as-tools", "handoff"]);
  const prices = price && { [chat.name]: price };
  return teamSystem({ name, identity, roles: { default: chat }, tools: toolsOf, topology, temperature, prices });
}

/** Runs that were recorded, graded as they are. */
async function openRecorded(file: string | undefined, name: string | undefined): Promise<OpenSystem> {
  if (file === undefined) throw new UsageError("--system recorded needs the runs: --runs <runs.jsonl>");
  const fingerprint = await fileFingerprint(file);
  const runs = await readAllJsonl(file, teamRunSchema);
  return { system: recordedSystem(runs, { name, fingerprint }), close: async () => {} };
}

/** A system of the user's own: the default export is one, or a function that makes one. */
async function openModule(path: string, name: string | undefined): Promise<OpenSystem> {
  if (!existsSync(path))
    throw new UsageError(`--system takes chain, team, model, lab-team or a module; there is no file ${path}`);
  const module = (await loadModule(path)) as {
    default?: System | (() => System | Promise<System>);
    close?: () => Promise<void>;
  };
  const system = typeof module.default === "function" ? await module.default() : module.default;
  if (!system || typeof system.run !== "function")
    throw new UsageError(`${path} has no system as its default export: { name, run(task, { seed, sample, signal }) }`);
  const { close = async () => {} } = module;
  return { system: { ...system, name: name ?? system.name, run: system.run.bind(system) }, close };
}
