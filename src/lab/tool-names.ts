/**
 * The lab's tools under other names, and tools that no question needs: what a trained chain model does with tools that
 * it never saw. The names are put in front of the question, as they would be in a prompt; names of test runs never
 * occur in training.
 */
import { z } from "zod";
import { type SeededRandom, seededRandom } from "../base/work/random.ts";
import { UsageError } from "../core/errors.ts";
import type { Task } from "../core/task.ts";
import { defineTool, type Tool } from "../core/tool.ts";
import { defineProfile, type Profile, tagNames } from "../language/profile.ts";
import type { Split } from "./names.ts";

/** What each of the lab's tools is called, by its usual name. */
export type ToolNames = Readonly<Record<string, string>>;

const pools: Readonly<Record<Split, Readonly<Record<string, readonly string[]>>>> = {
  train: {
    web_search: ["find", "seek", "query", "hunt", "locate"],
    crawl_page: ["open", "fetch", "load", "visit", "view"],
    code: ["run", "compute", "python", "execute", "evaluate"],
  },
  test: { web_search: ["look_up", "discover"], crawl_page: ["read", "browse"], code: ["calculate", "script"] },
};

/**
 * Names that a seed chooses, one for each tool; those of `test` occur in no training. Half of those of training are made up: from a
 * few real ones a small model learns those few, from names without end it learns to copy whatever was announced.
 */
export function variedNames(seed: number | string, split: Split): ToolNames {
  const random = seededRandom("tool-names", seed, split);
  const name = (names: readonly string[]) =>
    split === "train" && random.next() < 0.5 ? madeUp(random) : random.pick(names);
  return Object.fromEntries(Object.entries(pools[split]).map(([tool, names]) => [tool, name(names)]));
}

/** A made-up word, sometimes two joined by a low line, as names of tools are. */
function madeUp(random: SeededRandom): string {
  const syllable = () =>
    random.pick([..."bdfgklmnprstvz"]) + random.pick([..."aeiou"]) + random.pick(["", "", "l", "n", "r", "s"]);
  const word = () => Array.from({ length: 2 + random.below(2) }, syllable).join("");
  return random.next() < 0.3 ? `${word()}_${word()}` : word();
}

export function renameTools(tools: readonly Tool[], names: ToolNames): Tool[] {
  return tools.map((tool) => ({ ...tool, name: names[tool.name] ?? tool.name }));
}

/** The profile whose tags are these names; what may follow what stays as it is. */
export function renameTags(profile: Profile, names: ToolNames): Profile {
  const unknown = Object.keys(names).find((name) => !profile.tags.some((tag) => tag.tool === name));
  if (unknown) throw new UsageError(`the ${profile.name} profile has no tool "${unknown}" that could be renamed`);
  const taken = Object.values(names).find((name) => tagNames(profile).includes(name));
  if (taken) throw new UsageError(`"${taken}" is a tag of the ${profile.name} profile already`);
  const called = (name: string) => names[name] ?? name;
  return defineProfile({
    ...profile,
    name: `${profile.name}-renamed`,
    start: profile.start.map(called),
    tags: profile.tags.map((tag) => ({
      ...tag,
      name: called(tag.name),
      next: tag.next.map(called),
      ...(tag.tool !== undefined && { tool: called(tag.tool) }),
    })),
  });
}

/** The task with the tags of the tools in front of its question, written as a chain writes them, so that they can be copied. */
export function announceTools(task: Task, names: readonly string[]): Task {
  return { ...task, question: `Tools: ${names.map((name) => `<${name}>`).join(" ")}. ${task.question}` };
}

/** A tool that no task of the lab needs. */
export function needlessTool(): Tool {
  return defineTool({
    name: "weather",
    description: "Say what the weather is like in a place.",
    input: z.object({ place: z.string() }),
    run: () => "Sunny.",
  });
}
