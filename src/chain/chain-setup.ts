/** The options of a chain with their defaults filled in: made once, used by all chains of a batch. */
import type { Message } from "../core/message.ts";
import type { Price } from "../core/model.ts";
import type { Task } from "../core/task.ts";
import type { Tool } from "../core/tool.ts";
import { neutraliser } from "../language/neutralise.ts";
import { type Layout, tokenCounter } from "../language/observation.ts";
import { type Profile, stopStrings, tagNames } from "../language/profile.ts";
import { systemPrompt } from "../language/system-prompt.ts";
import type { ChainOptions, Enforcement } from "./chain-options.ts";
import { defaultLimits, type Limits } from "./limits.ts";
import { type ToolSet, toolsByName } from "./tool-set.ts";

export interface ChainSetup {
  options: ChainOptions;
  tools: ReadonlyMap<string, Tool>;
  limits: Limits;
  enforcement: Enforcement;
  layout: Layout;
  stop: readonly string[];
  /** Asked when needed: a server may tell them only once it was reached. */
  contextWindow(): number;
  price(): Price | undefined;
  count: (text: string) => number;
  neutralise: (text: string) => string;
  clock: () => number;
  prompt(task: Task): Message[];
}

/** Checks and completes the options. */
export function chainSetup(options: ChainOptions): ChainSetup {
  const { model, profile } = options;
  const { tools, prompt, neutralise } = derived(options);
  const onTokens = model.tokenizer !== undefined;
  const system = options.systemPrompt ?? prompt();
  return {
    options,
    tools,
    // A model of our own has never seen a request to answer now, so it is not asked unless the caller wants it.
    limits: { ...defaultLimits, ...(onTokens ? { answerReserve: 0 } : {}), ...options.limits },
    enforcement: options.enforcement ?? "repair",
    layout: options.layout ?? (onTokens ? "compact" : "paper"),
    // With several calls to a step, a closed call is no reason to stop: the observation's opening tag is.
    stop: profile.maxParallelCalls > 1 ? [`<${profile.observation}>`, `</${profile.answer}>`] : stopStrings(profile),
    contextWindow: () => model.capabilities.contextWindow ?? Number.POSITIVE_INFINITY,
    price: () => priceOf(options),
    count: tokenCounter(model),
    neutralise,
    clock: options.clock ?? (() => performance.now()),
    prompt: (task) => [
      ...(system === false ? [] : [{ role: "system" as const, content: system }]),
      ...(task.history ?? []),
      { role: "user" as const, content: task.question },
    ],
  };
}

interface Derived {
  tools: ReadonlyMap<string, Tool>;
  prompt(): string;
  neutralise: (text: string) => string;
}

const known = new WeakMap<Profile, { tools: ToolSet; tokenizer: unknown; derived: Derived }>();

/** What follows from profile, tools and tokenizer alone; the last is kept, because chains come in thousands alike. */
function derived({ profile, tools, model }: ChainOptions): Derived {
  const last = known.get(profile);
  if (last && last.tokenizer === model.tokenizer && sameTools(last.tools, tools)) return last.derived;
  const byName = toolsByName(tools);
  let text: string | undefined;
  const made: Derived = {
    tools: byName,
    prompt: () => (text ??= systemPrompt(profile, [...byName.values()])),
    neutralise: neutraliser(tagNames(profile), model.tokenizer?.specialTokens.keys()),
  };
  known.set(profile, {
    tools: Array.isArray(tools) ? [...tools] : { ...tools },
    tokenizer: model.tokenizer,
    derived: made,
  });
  return made;
}

function sameTools(a: ToolSet, b: ToolSet): boolean {
  const [first, second] = [Object.entries(a), Object.entries(b)];
  return (
    first.length === second.length &&
    first.every(([name, tool], index) => name === second[index]![0] && tool === second[index]![1])
  );
}

function priceOf({ prices, model }: ChainOptions): Price | undefined {
  if (!prices) return undefined;
  return typeof prices.input === "number" ? (prices as Price) : (prices as Record<string, Price>)[model.name];
}
