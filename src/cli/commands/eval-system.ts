/** Which system is evaluated, put together from settings: a chain, a team, a bare model, or a module of the user's own. */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { runAfmHarness } from "../../afm/afm-harness.ts";
import { fileFingerprint } from "../../base/files/fingerprint.ts";
import { loadModule } from "../../base/files/load-module.ts";
import { readAllJsonl } from "../../base/files/read-jsonl.ts";
import { limiter } from "../../base/work/limiter.ts";
import { limitedModel } from "../../base/work/wrap-model.ts";
import { errorEnding, throwIfUserMustFix } from "../../core/ending.ts";
import { UsageError } from "../../core/errors.ts";
import type { ChatModel, Model, Price } from "../../core/model.ts";
import type { System } from "../../core/system.ts";
import type { Task } from "../../core/task.ts";
import { teamRunSchema } from "../../core/team-run.ts";
import type { Tool } from "../../core/tool.ts";
import { callCost } from "../../core/usage.ts";
import { modelFingerprint } from "../../engines/embedded/files/model-fingerprint.ts";
import { bareSystem } from "../../evaluate/bare-system.ts";
import { chainSystem } from "../../evaluate/chain-system.ts";
import { defineSystem, recordedSystem } from "../../evaluate/define-system.ts";
import { teamSystem } from "../../evaluate/team-system.ts";
import { labTeam } from "../../lab/lab-team.ts";
import { corpusFingerprint } from "../../tools/local-index/index-corpus.ts";
import { withoutUrls } from "../../tools/search/blocklist.ts";
import { faultWords, parseFaultPlan } from "../../tools/with-faults.ts";
import { openBestOf } from "../choose-best.ts";
import { type OpenChain, openChain } from "../open-chain.ts";
import type { Session } from "../session.ts";
import { changedSettings, type Section, type Settings } from "../settings/index.ts";
import { priceOf } from "../spending.ts";

export const systemSections = ["model", "chain", "tools", "team", "choose", "limits", "spending"] as const;

type SystemSettings = Settings<(typeof systemSections)[number] | "eval">;

/** Opens the system that flags and settings describe. */
export async function openSystem(
  { system, runs, name }: { system: string; runs?: string; name?: string },
  settings: SystemSettings,
  session: Session,
): Promise<System> {
  if (system === "recorded") return openRecorded(runs, name, priceOf(settings.spending.price));
  if (!isKind(system)) return openModule(system, name, session);
  const { tools } = settings;
  // During an evaluation the search and crawl tools know the blocklist too.
  const blocking = settings.eval.blocklist ? { ...tools, block: [...tools.block, "benchmarks"] } : tools;
  const opened = await openChain({ ...settings, tools: blocking }, session);
  const parts = wrap(settings, opened);
  const identity = await identityOf(system, settings, opened, session.signal);
  const known = { name: name ?? defaultName(system, settings.model.name), identity };
  const best = openBestOf(settings.choose, session, makeSystem(system, settings, known, opened, parts), parts.chat);
  return name === undefined ? best : { ...best, name };
}

const kinds = ["chain", "team", "model", "lab-team"] as const;
type Kind = (typeof kinds)[number];

function isKind(system: string): system is Kind {
  return kinds.some((kind) => kind === system);
}

function defaultName(system: Kind, model: string | undefined): string {
  if (model === undefined) return system;
  // `.coa/a/model` and `.coa/b/model` are two models.
  const parts = resolve(model)
    .split(/[\\/]/)
    .filter((part) => part !== "model");
  return `${system}-${parts.at(-1)}`;
}

/** All that decides what the system answers: another one under the same name is refused. */
async function identityOf(
  system: Kind,
  settings: SystemSettings,
  { folder, model, profile, use }: OpenChain,
  signal: AbortSignal,
): Promise<Record<string, unknown>> {
  const { chain, team, limits } = settings;
  const { temperature, topP, topK } = settings.model;
  const { harness } = settings.eval;
  // A server that was not told which model says it itself: another model there is another system.
  await model.prepare?.(signal).catch((error: unknown) => {
    if (!signal.aborted) throwIfUserMustFix(errorEnding(error));
    throw error;
  });
  const server = { server: settings.model.baseUrl ?? process.env["OPENAI_BASE_URL"], name: model.name };
  return {
    kind: system,
    model: folder === undefined ? server : { name: model.name, fingerprint: await modelFingerprint(folder) },
    ...(system === "chain" && { profile, bare: chain.bareQuestion }),
    ...(system === "team" && { topology: team.topology }),
    ...(system === "lab-team" && { topology: team.topology, words: team.words }),
    ...(system !== "model" && { tools: { lab: chain.lab, ...(await toolIdentity(settings.tools)) } }),
    sampling: { temperature, topP, topK },
    ...(harness !== undefined && { harness }),
    ...(use?.training.length && { learned: use.training.at(-1)!.stage }),
    ...(settings.tools.faults && { condition: faultWords(parseFaultPlan(settings.tools.faults)) }),
    limits: { maxTokens: limits.maxTokens, maxSteps: limits.maxSteps },
  };
}

/** The settings of the tools, and the content of the files that they are made of. */
async function toolIdentity(tools: Section<"tools">): Promise<Record<string, unknown>> {
  const files = [...tools.modules, ...(tools.recorded === undefined ? [] : [tools.recorded])];
  const content = await Promise.all([
    ...files.map((file) => fileFingerprint(file)),
    ...(tools.docs === undefined ? [] : [corpusFingerprint(tools.docs)]),
  ]);
  return {
    ...changedSettings("tools", { ...tools, searchCache: undefined }),
    ...(content.length > 0 && { content: content.map((hash) => hash.slice(0, 12)) }),
  };
}

/** The model and tools that a system is made of, behind limits. */
interface Parts {
  model: Model;
  chat?: ChatModel;
  toolsOf(task: Task): Tool[];
}

/** Rate limits around the server, and the blocklist around the tools. */
function wrap({ model: how, eval: run }: SystemSettings, opened: OpenChain): Parts {
  let { model, chat }: { model: Model; chat?: ChatModel } = opened;
  const { requestsPerMinute, maxParallelCalls: concurrency } = how;
  if (requestsPerMinute !== undefined || concurrency !== undefined) {
    const places = limiter({ requestsPerMinute, concurrency });
    model = limitedModel(model, places);
    chat = chat && limitedModel(chat, places);
  }
  return { model, chat, toolsOf: run.blocklist ? wrappedOnce(opened.toolsOf, withoutUrls) : opened.toolsOf };
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
  system: Kind,
  settings: SystemSettings,
  known: { name: string; identity: Record<string, unknown> },
  opened: OpenChain,
  { model, chat, toolsOf }: Parts,
): System {
  const { temperature, topP, topK } = settings.model;
  const { maxTokens, maxSteps } = settings.limits;
  const { topology } = settings.team;
  const price = priceOf(settings.spending.price, model.name);
  if (settings.eval.harness !== undefined) {
    if (system !== "chain") throw new UsageError("eval.harness is a way to run a chain: it goes with --system chain");
    const asked = { temperature: temperature || undefined, topP, topK };
    const sampling = Object.fromEntries(Object.entries(asked).filter(([, value]) => value !== undefined));
    return defineSystem({
      ...known,
      topology: "single",
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
  if (system === "chain") {
    const limits = {
      maxCompletionTokens: 32_768,
      maxSteps: 24,
      ...opened.defaults.limits,
      ...(maxTokens !== undefined && { maxCompletionTokens: maxTokens }),
      ...(maxSteps !== undefined && { maxSteps }),
    };
    const { profile, defaults } = opened;
    const sampling = { temperature, topP, topK, entropies: settings.chain.entropies };
    return chainSystem({ ...known, model, tools: toolsOf, profile, ...defaults, limits, sampling, prices: price });
  }
  if (system === "lab-team")
    return labTeam({
      ...known,
      tools: toolsOf,
      topology: topology === "handoff" ? topology : "agents-as-tools",
      words: settings.team.words,
      countTokens: model.countTokens?.bind(model), // the model's own vocabulary, as for its chain
    });
  if (!chat) throw new UsageError(`--system ${system} needs a chat model behind a server: give --base-url and --model`);
  if (system === "model")
    return { ...bareSystem({ model: chat, temperature, maxTokens: maxTokens ?? 32_768, price }), ...known };
  const prices = price && { [chat.name]: price };
  return teamSystem({ ...known, roles: { default: chat }, tools: toolsOf, topology, temperature, prices });
}

/** Runs that were recorded, graded as they are; those that say no cost have the given price. */
async function openRecorded(file: string | undefined, name: string | undefined, price?: Price): Promise<System> {
  if (file === undefined) throw new UsageError("--system recorded needs the runs: --runs <runs.jsonl>");
  const fingerprint = await fileFingerprint(file);
  const runs = await readAllJsonl(file, teamRunSchema);
  for (const { usage } of runs) usage.costUsd ||= callCost(usage, price);
  return recordedSystem(runs, { name, fingerprint });
}

/** A system of the user's own: the default export is one, or a function that makes one. */
async function openModule(path: string, name: string | undefined, session: Session): Promise<System> {
  if (!existsSync(path))
    throw new UsageError(`--system takes chain, team, model, lab-team or a module; there is no file ${path}`);
  const module = (await loadModule(path)) as {
    default?: System | (() => System | Promise<System>);
    close?: () => Promise<void>;
  };
  const system = typeof module.default === "function" ? await module.default() : module.default;
  if (!system || typeof system.run !== "function")
    throw new UsageError(`${path} has no system as its default export: { name, run(task, { seed, sample, signal }) }`);
  if (module.close) session.closeAtEnd({ close: module.close });
  return { ...system, name: name ?? system.name, run: system.run.bind(system) };
}
