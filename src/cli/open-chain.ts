/**
 * What a chain runs with, put together from settings: the model, the profile, and the tools of the real world or of the lab.
 * Every command that runs chains (ask, eval run, train rl, tasks select) opens them here.
 */
import type { ChainOptions } from "../chain/chain-options.ts";
import { UsageError } from "../core/errors.ts";
import type { ChatModel, Model } from "../core/model.ts";
import type { ModelUse } from "../core/model-use.ts";
import type { Task } from "../core/task.ts";
import type { Tool } from "../core/tool.ts";
import { createWorld, type World } from "../lab/create-world.ts";
import { labToolsByTask } from "../lab/memory-lab-tools.ts";
import { renameTags, renameTools } from "../lab/tool-names.ts";
import type { Profile } from "../language/profile.ts";
import { withExample } from "../language/worked-example.ts";
import { chooseProfile } from "./choose-profile.ts";
import { openModel } from "./open-model.ts";
import { disturbance, openTools, type ToolState } from "./open-tools.ts";
import type { Session } from "./session.ts";
import { type Settings, spelling } from "./settings/index.ts";

export interface OpenWork {
  profile: Profile;
  /** The tools for a task; those of its own world where it is a task of the lab. */
  toolsOf(task: Task): Tool[];
  /** What is ready and what is missing, outside the lab. */
  states: ToolState[];
  /** The world of `--lab`. */
  world?: World;
}

export interface OpenChain extends OpenWork {
  model: Model & Partial<ChatModel>;
  chat?: ChatModel;
  folder?: string;
  /** How the model was taught, where its folder says. */
  use?: ModelUse;
  /** What chains of this model are run with. */
  defaults: Pick<ChainOptions, "systemPrompt" | "limits">;
}

/** Opens model, profile and tools; what was chosen by default is noted. */
export async function openChain(settings: Settings<"model" | "chain" | "tools">, session: Session): Promise<OpenChain> {
  const { lab, profile: named, bareQuestion } = settings.chain;
  const opened = await openModel(settings.model, session, { lab: lab !== undefined || named === "lab" });
  const { use } = opened;
  const work = await openWork(settings, session, use);
  if (bareQuestion && use?.question === "system-prompt")
    session.note("The model was taught with its system prompt; --bare leaves it out.");
  const bare = bareQuestion || use?.question === "bare";
  const defaults = { ...(bare && { systemPrompt: false as const }), ...(use?.limits && { limits: use.limits }) };
  const profile = settings.chain.example ? withExample(work.profile) : work.profile;
  return { ...opened, ...work, profile, defaults };
}

/** Opens profile and tools, as the model's folder says and settings override; `tools.rename` renames tools in both. */
export async function openWork(
  settings: Settings<"chain" | "tools">,
  session: Session,
  use?: ModelUse,
): Promise<OpenWork> {
  const work = await openNamedWork(settings, session, use);
  const names = settings.tools.rename;
  if (Object.keys(names).length === 0) return work;
  const toolsOf = (task: Task) => renameTools(work.toolsOf(task), names);
  return { ...work, profile: renameTags(work.profile, names), toolsOf };
}

async function openNamedWork(
  settings: Settings<"chain" | "tools">,
  session: Session,
  use?: ModelUse,
): Promise<OpenWork> {
  const { lab, profile: named } = settings.chain;
  const taught = use?.language.profile;
  const inLab =
    lab !== undefined ||
    named === "lab" ||
    named === "lab-wide" ||
    (use?.world === "lab" && settings.tools.names.length === 0 && named === undefined);
  const profile = named === undefined && taught ? taught : await chooseProfile(named ?? (inLab ? "lab" : "web"));
  if (taught && profile.name !== taught.name)
    session.note(`The model was taught with the profile ${taught.name}, not ${profile.name}: expect it to do worse.`);
  if (inLab) {
    const outside = (["modules", "mcp", "docs", "index", "search", "retrieval", "recorded"] as const).find(
      (name) => (settings.tools[name]?.length ?? 0) > 0,
    );
    if (outside)
      throw new UsageError(
        `${spelling(`tools.${outside}`)} can't be used in the lab: its worlds have tools of their own`,
      );
    const world =
      lab === undefined
        ? undefined
        : createWorld({ seed: Math.floor(lab), variant: Math.round((lab % 1) * 10), pages: 600, split: "test" });
    const toolsOf = labToolsByTask(world, disturbance(settings.tools.faults));
    return { profile, world, states: [], toolsOf };
  }
  const { tools, states } = await openTools(settings.tools, session);
  const wanted = new Set(profile.tags.flatMap((tag) => (tag.tool === undefined ? [] : [tag.tool])));
  for (const { name, ready, detail, remedy } of states)
    if (!ready && wanted.has(name)) session.note(`${name} is not there: ${detail}${remedy ? `; ${remedy}` : ""}`);
  return { profile, states, toolsOf: () => tools };
}
