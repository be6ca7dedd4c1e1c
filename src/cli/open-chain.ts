/**
 * What `coa ask` runs with, put together from flags: a model folder on this machine, a model behind a server, or the
 * shipped weights; the profile; the tools of the real world, or of a lab world.
 */
import { existsSync, readdirSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import type { ChainOptions } from "../chain/chain-options.ts";
import { UsageError } from "../core/errors.ts";
import type { ChatModel, Model } from "../core/model.ts";
import { defineTask, type Task } from "../core/task.ts";
import type { Tool } from "../core/tool.ts";
import type { Profile } from "../language/profile.ts";
import { builtInProfiles } from "../language/profiles.ts";
import { numberOf, type Options, type Values } from "./command.ts";
import { disturbed, openTools, toolFlags } from "./open-tools.ts";

/** Flags that say with what the question is answered. */
export const chainFlags = {
  model: { type: "string", short: "m", valueName: "folder|name", describe: "A model folder, or a model's name on the server" },
  "base-url": { type: "string", valueName: "url", describe: "OpenAI-compatible server (default OPENAI_BASE_URL)" },
  mode: { type: "string", default: "auto", valueName: "name", describe: "How the server continues a chain: auto, continue or turns" },
  profile: { type: "string", short: "p", valueName: "name", describe: "Tags and rules: web, mhqa, code, multi or lab" },
  lab: { type: "string", valueName: "seed", describe: "Work in this made-up lab world; without a question, one is taken from it" },
  ...toolFlags,
} as const satisfies Options; // biome-ignore format: one flag a line

type ChainFlags = Values<typeof chainFlags>;

export interface OpenChain {
  task: Task;
  model: Model & Partial<ChatModel>;
  tools: Tool[];
  profile: Profile;
  /** What chains of this kind of model are usually run with. */
  defaults: Pick<ChainOptions, "systemPrompt" | "limits">;
  close(): Promise<void>;
}

/** Opens model and tools; `note` hears what was chosen where nothing was said. */
export async function openChain(
  flags: ChainFlags,
  question: string | undefined,
  note: (text: string) => void,
  signal: AbortSignal,
): Promise<OpenChain> {
  const folder = modelFolder(flags, note);
  const inLab =
    flags.lab !== undefined || (folder !== undefined && flags.profile === undefined) || flags.profile === "lab";
  const profile = await profileOf(flags.profile ?? (inLab ? "lab" : "web"));
  const closers: (() => Promise<unknown>)[] = [];
  const close = async () => {
    for (const closer of closers.toReversed()) await closer();
  };
  try {
    const model = folder === undefined ? await serverModel(flags, note) : await folderModel(folder);
    closers.push(async () => model.close?.());
    const { task, tools, closeTools } = inLab
      ? await labWork(flags, question, note)
      : await realWork(flags, question, profile, note, signal);
    closers.push(closeTools);
    return { task, model, tools, profile, defaults: folder === undefined ? {} : ownModelDefaults, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** A small model of our own was trained on the bare question and knows short turns. */
const ownModelDefaults: OpenChain["defaults"] = {
  systemPrompt: false,
  limits: {
    maxSteps: 16,
    maxTokensPerCall: 200,
    maxCompletionTokens: 700,
    answerReserve: 24,
    maxObservationTokens: 200,
  },
};

async function profileOf(name: string): Promise<Profile> {
  if (name === "lab") return (await import("../lab/profile.ts")).labProfile;
  const profile = builtInProfiles[name];
  if (!profile)
    throw new UsageError(`there is no profile "${name}"; there are ${Object.keys(builtInProfiles).join(", ")} and lab`);
  return profile;
}

/** The folder to run here, or undefined for a server. */
function modelFolder(flags: ChainFlags, note: (text: string) => void): string | undefined {
  if (flags.model !== undefined && existsSync(join(flags.model, "config.json"))) return flags.model;
  if (flags.model !== undefined && (existsSync(flags.model) || flags.model.startsWith("."))) {
    throw new UsageError(`${flags.model} is no model folder: it has no config.json`);
  }
  if (flags["base-url"] || process.env["OPENAI_BASE_URL"] || process.env["OPENAI_API_KEY"]) return undefined;
  if (flags.model !== undefined)
    throw new UsageError(
      `"${flags.model}" is no folder here; for a model on a server give --base-url too, or set OPENAI_BASE_URL`,
    );
  const shipped = shippedModels();
  if (shipped.length === 0) {
    throw new UsageError(
      "no model: give --model <folder>, or --base-url <url> (or set OPENAI_BASE_URL). To make a model on this machine: coa quickstart",
    );
  }
  note(
    `Using the shipped model ${basename(shipped[0]!)}. It knows lab worlds only; for real questions give --base-url or set OPENAI_BASE_URL.`,
  );
  return shipped[0];
}

/** Model folders that come with the package, the newest name first. */
export function shippedModels(weights = resolve(import.meta.dirname, "..", "..", "weights")): string[] {
  if (!existsSync(weights)) return [];
  return readdirSync(weights)
    .map((name) => join(weights, name))
    .filter((folder) => existsSync(join(folder, "config.json")))
    .toSorted()
    .toReversed();
}

async function folderModel(folder: string): Promise<Model> {
  const [{ openEmbeddedEngine }, { loadTokenizer }, { engineModel }] = await Promise.all([
    import("../engines/embedded/embedded-engine.ts"),
    import("../tokenizers/load-tokenizer.ts"),
    import("../models/engine-model.ts"),
  ]);
  const [engine, tokenizer] = await Promise.all([openEmbeddedEngine({ folder }), loadTokenizer(folder)]);
  return engineModel(engine, tokenizer, { name: basename(resolve(folder)), ownsEngine: true });
}

async function serverModel(flags: ChainFlags, note: (text: string) => void): Promise<Model & ChatModel> {
  const { openaiCompatible } = await import("../models/openai-compatible.ts");
  const { mode } = flags;
  if (mode !== "auto" && mode !== "continue" && mode !== "turns")
    throw new UsageError(`--mode takes auto, continue or turns, not "${mode}"`);
  return openaiCompatible({ baseURL: flags["base-url"], model: flags.model, mode, onNote: note });
}

interface Work {
  task: Task;
  tools: Tool[];
  closeTools(): Promise<void>;
}

async function labWork(flags: ChainFlags, question: string | undefined, note: (text: string) => void): Promise<Work> {
  const seed = numberOf(flags.lab ?? "9001", "lab", { min: 0, integer: true })!;
  const [{ createWorld }, { worldTasks }, { memoryLabTools }] = await Promise.all([
    import("../lab/create-world.ts"),
    import("../lab/world-tasks.ts"),
    import("../lab/memory-lab-tools.ts"),
  ]);
  const world = createWorld({ seed, pages: 600, split: "test" });
  const [example] = worldTasks(world, { count: 1, seed });
  if (question === undefined) {
    if (!example) throw new UsageError(`lab world ${seed} has no question; name one`);
    note(`A question about lab world ${seed}: ${example.question} (right: ${example.answers.join(" or ")})`);
  }
  const task = question === undefined ? example! : defineTask({ id: "ask", question });
  return { task, tools: await disturbed(memoryLabTools(world), flags["tool-faults"]), closeTools: async () => {} };
}

async function realWork(
  flags: ChainFlags,
  question: string | undefined,
  profile: Profile,
  note: (text: string) => void,
  signal: AbortSignal,
): Promise<Work> {
  if (question === undefined)
    throw new UsageError('coa ask needs a question. Example: coa ask "How long is the river that flows through Lyon?"');
  const wanted = new Set(profile.tags.flatMap((tag) => (tag.tool === undefined ? [] : [tag.tool])));
  const opened = await openTools(flags, { signal });
  for (const { name, ready, detail, remedy } of opened.states) {
    if (!ready && wanted.has(name)) note(`${name} is not there: ${detail}${remedy ? `; ${remedy}` : ""}`);
  }
  return { task: defineTask({ id: "ask", question }), tools: opened.tools, closeTools: opened.close };
}
