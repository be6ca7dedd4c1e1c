/**
 * What a chain runs with, put together from flags: the model, the profile, and the tools of the real world or of the lab.
 * Every command that runs chains (ask, eval run, train rl, tasks select) opens them here.
 */
import type { ChainOptions } from "../chain/chain-options.ts";
import { UsageError } from "../core/errors.ts";
import type { ChatModel, Model } from "../core/model.ts";
import type { ModelUse } from "../core/model-use.ts";
import type { Task } from "../core/task.ts";
import type { Tool } from "../core/tool.ts";
import { createWorld, type World } from "../lab/create-world.ts";
import { renameTags, renameTools } from "../lab/tool-names.ts";
import { labToolsByTask } from "../lab/tools-by-task.ts";
import type { Profile } from "../language/profile.ts";
import { chooseProfile, profileFlag } from "./choose-profile.ts";
import { numberOf, type Options, type Values } from "./command.ts";
import { modelFlags } from "./find-model.ts";
import { openModel } from "./open-model.ts";
import { disturbance, openTools, type ToolState, toolFlags } from "./open-tools.ts";

/** Flags that say with what tools a chain works. */
export const workFlags = {
  profile: profileFlag,
  lab: { type: "string", valueName: "seed", describe: "Work in this made-up lab world" },
  "rename-tool": { type: "string", multiple: true, valueName: "old=new", describe: "Call a tool by another name, to see what a model does with it" },
  ...toolFlags,
} as const satisfies Options; // biome-ignore format: one flag a line

/** Flags that say with what a question is answered. */
export const chainFlags = {
  ...modelFlags,
  ...workFlags,
  "bare-question": { type: "boolean", default: false, describe: "Give the model the question without a system prompt" },
} as const satisfies Options; // biome-ignore format: one flag a line

export type WorkFlags = Values<typeof workFlags>;

export interface OpenWork {
  profile: Profile;
  /** The tools for a task; those of its own world where it is a task of the lab. */
  toolsOf(task: Task): Tool[];
  /** What is ready and what is missing, outside the lab. */
  states: ToolState[];
  /** The world of `--lab`. */
  world?: World;
  close(): Promise<void>;
}

export interface OpenChain extends OpenWork {
  model: Model & Partial<ChatModel>;
  chat?: ChatModel;
  folder?: string;
  /** What chains of this model are run with. */
  defaults: Pick<ChainOptions, "systemPrompt" | "limits">;
}

/** Opens model, profile and tools; `note` is told what was chosen where nothing was said. */
export async function openChain(
  flags: Values<typeof chainFlags>,
  options: { note: (text: string) => void; signal: AbortSignal },
): Promise<OpenChain> {
  const opened = await openModel(flags, {
    lab: flags.lab !== undefined || flags.profile === "lab",
    note: options.note,
  });
  try {
    const work = await openWork(flags, { ...options, use: opened.use });
    const { use } = opened;
    if (flags["bare-question"] && use?.question === "system-prompt")
      options.note("The model was taught with its system prompt; --bare-question leaves it out.");
    const bare = flags["bare-question"] || use?.question === "bare";
    return {
      ...opened,
      ...work,
      defaults: { ...(bare && { systemPrompt: false as const }), ...(use?.limits && { limits: use.limits }) },
      async close() {
        await work.close();
        await opened.close();
      },
    };
  } catch (error) {
    await opened.close();
    throw error;
  }
}

interface WorkOptions {
  note: (text: string) => void;
  signal: AbortSignal;
  use?: ModelUse;
}

/** Opens profile and tools, as the model's folder says and flags override; `--rename-tool` renames tools in both. */
export async function openWork(flags: WorkFlags, options: WorkOptions): Promise<OpenWork> {
  const work = await openNamedWork(flags, options);
  const pairs = (flags["rename-tool"] ?? []).map((pair) => pair.split("="));
  if (pairs.length === 0) return work;
  try {
    const wrong = pairs.find((pair) => pair.length !== 2 || pair.includes(""));
    if (wrong) throw new UsageError(`--rename-tool takes old=new, not "${wrong.join("=")}"`);
    const names = Object.fromEntries(pairs) as Record<string, string>;
    return {
      ...work,
      profile: renameTags(work.profile, names),
      toolsOf: (task) => renameTools(work.toolsOf(task), names),
    };
  } catch (error) {
    await work.close();
    throw error;
  }
}

async function openNamedWork(flags: WorkFlags, options: WorkOptions): Promise<OpenWork> {
  const taught = options.use?.language.profile;
  const inLab =
    flags.lab !== undefined ||
    flags.profile === "lab" ||
    flags.profile === "lab-wide" ||
    (options.use?.world === "lab" && flags.tools === undefined && flags.profile === undefined);
  const profile =
    flags.profile === undefined && taught ? taught : await chooseProfile(flags.profile ?? (inLab ? "lab" : "web"));
  if (taught && profile.name !== taught.name)
    options.note(`The model was taught with the profile ${taught.name}, not ${profile.name}: expect it to do worse.`);
  if (inLab) {
    const outside = (["tool", "mcp", "docs", "index", "search", "retrieval", "recorded"] as const).find(
      (name) => (flags[name]?.length ?? 0) > 0,
    );
    if (outside) throw new UsageError(`--${outside} can't be used in the lab: its worlds have tools of their own`);
    const seed = numberOf(flags.lab, "lab", { min: 0, integer: true });
    const world = seed === undefined ? undefined : createWorld({ seed, pages: 600, split: "test" });
    const { toolsOf } = labToolsByTask(world, await disturbance(flags["tool-faults"]));
    return { profile, world, states: [], toolsOf, close: async () => {} };
  }
  const { tools, states, close } = await openTools(flags, { signal: options.signal });
  const wanted = new Set(profile.tags.flatMap((tag) => (tag.tool === undefined ? [] : [tag.tool])));
  for (const { name, ready, detail, remedy } of states)
    if (!ready && wanted.has(name)) options.note(`${name} is not there: ${detail}${remedy ? `; ${remedy}` : ""}`);
  return { profile, states, close, toolsOf: () => tools };
}
