/** What a chain is run with. Everything it touches arrives here: model, tools, clock, journal, signal. */

import type { ChainRecord } from "../core/chain-record.ts";
import type { ChainEvent } from "../core/events.ts";
import type { Journal } from "../core/journal.ts";
import type { Model, Prices } from "../core/model.ts";
import type { Profile } from "../core/profile.ts";
import type { Task } from "../core/task.ts";
import type { Trajectory } from "../core/trajectory.ts";
import { priceOf } from "../core/usage.ts";
import { plainFor, tokenCounter } from "../language/observation.ts";
import { stopStrings, tagNames, toolTags } from "../language/profile.ts";
import { anyProfile } from "../language/profiles.ts";
import { systemPrompt } from "../language/system-prompt.ts";
import { describeTools, type KnownTool, withTools } from "../language/with-tools.ts";
import type { CompactionOptions } from "./compaction.ts";
import { type Limits, withDefaults } from "./limits.ts";
import type { Replay } from "./replay.ts";
import { type ToolSet, toolsByName } from "./tool-set.ts";

export interface Sampling {
  temperature?: number;
  topP?: number;
  topK?: number;
  seed?: number;
  /** Keeps the entropy at each token with the chain, where the model gives it. */
  entropies?: boolean;
}

export type ClientResult = NonNullable<ChainOptions["results"]>[string];

export interface ChainOptions {
  model: Model;
  tools: ToolSet;
  /** Tools of the caller's own: a call of one suspends the chain until it is continued with the result. */
  clientTools?: readonly KnownTool[];
  /** Continues this chain where it stopped, or where it was cut and edited; `results` answer its pending calls, by id. A call
   * that `failed` has an output that says how. */
  from?: Trajectory;
  results?: Readonly<Record<string, { output: unknown; failed?: boolean }>>;
  /** The tags and their order; the tags that call tools become exactly the tools given. Default: plan, tools, check, answer. */
  profile?: Profile;
  limits?: Partial<Limits>;
  /** `report`: violations are recorded. `repair`: a move that breaks the order is refused, and the model reads why. */
  enforcement?: "report" | "repair";
  sampling?: Sampling;
  /** Replaces the profile's own; `false` gives the model the bare question. */
  systemPrompt?: string | false;
  /** Names the trajectory; needed to resume one of several runs of the same task. */
  id?: string;
  /** Under which the model keeps its cache, where several chains share one (turns of a conversation); the caller ends it. */
  session?: string;
  /** Where finished steps are written, and from where a killed run resumes. */
  journal?: Journal<ChainRecord>;
  /** What is already known of this chain, where the caller has read the journal. @internal */
  replay?: Replay;
  /** US dollars per million tokens: of this model, or by model name. */
  prices?: Prices;
  compaction?: CompactionOptions;
  policyVersion?: number;
  meta?: Record<string, unknown>;
  signal?: AbortSignal;
  onEvent?: (event: ChainEvent) => void;
  /** Milliseconds, ever growing. */
  now?: () => number;
}

export function chainSetup(options: ChainOptions) {
  const { model } = options;
  const { tools, prompt, language, reading } = derived(options);
  const { profile } = language;
  const onTokens = model.tokenizer !== undefined;
  const system = options.systemPrompt ?? prompt();
  return {
    model,
    /** The profile with exactly the tools given. */
    profile,
    /** The same with the tags of missing tools, so that a call of one is read as a call and the model is told. */
    reading,
    /** Profile and tools by value, as the trajectory keeps them. */
    language,
    tools,
    /** Names of the tools among them that the caller runs. */
    clientTools: new Set(options.clientTools?.map((tool) => tool.name)),
    from: options.from,
    results: options.results ?? {},
    session: options.session,
    // A model of our own has never seen a request to answer now, so it is not asked unless the caller wants it.
    limits: withDefaults(options.limits, onTokens ? { answerReserve: 0 } : {}),
    enforcement: options.enforcement ?? "repair",
    sampling: options.sampling ?? {},
    compaction: options.compaction ?? {},
    // With several calls to a step, a closed call does not end the turn; the observation's opening tag does.
    stop: profile.maxParallelCalls > 1 ? [`<${profile.observation}>`, `</${profile.answer}>`] : stopStrings(reading),
    journal: options.journal,
    policyVersion: options.policyVersion,
    meta: options.meta,
    onEvent: options.onEvent,
    signal: options.signal,
    /** Asked when needed: a server may tell them only once it was reached. */
    contextWindow: () => model.capabilities.contextWindow ?? Number.POSITIVE_INFINITY,
    price: () => priceOf(options.prices, options.model.name),
    count: tokenCounter(model),
    now: options.now ?? (() => performance.now()),
    prompt(task: Task) {
      // A tokenizer of ours encodes what was asked as plain text; a server would read special tokens in it, and in what a
      // foreign tool says of itself.
      const asIs = (text: string) => text;
      const plain = onTokens ? asIs : plainFor(model);
      const told = onTokens ? asIs : plainFor(model, tagNames(profile)); // the system prompt and turns of the assistant are in the chain's tags
      return [
        ...(system === false ? [] : [{ role: "system" as const, content: told(system) }]),
        ...(task.history ?? []).map((message) => ({
          ...message,
          content: (message.role === "assistant" ? told : plain)(message.content),
        })),
        { role: "user" as const, content: plain(task.question) },
      ];
    },
  };
}

/** The options with their defaults filled in: made once, used by all chains of a batch. */
export type ChainSetup = ReturnType<typeof chainSetup>;

const known = new WeakMap<
  Profile,
  { tools: ToolSet; clientTools: readonly KnownTool[]; derived: ReturnType<typeof derive> }
>();

/** What follows from profile and tools alone; the last is kept, because chains come in thousands alike. */
function derived(options: ChainOptions) {
  const { profile = anyProfile, tools, clientTools = [] } = options;
  const last = known.get(profile);
  if (last && sameTools(last.tools, tools) && sameTools(last.clientTools, clientTools)) return last.derived;
  const made = derive(options);
  const kept = { tools: Array.isArray(tools) ? [...tools] : { ...tools }, clientTools: [...clientTools] };
  known.set(profile, { ...kept, derived: made });
  return made;
}

function derive({ profile = anyProfile, tools, clientTools = [] }: ChainOptions) {
  const byName = toolsByName(tools, clientTools);
  const list = [...byName.values()];
  const exact = withTools(profile, list);
  const missing = toolTags(profile).filter((tag) => !exact.tags.some((other) => other.name === tag.name));
  let text: string | undefined;
  return {
    tools: byName,
    language: { profile: exact, tools: describeTools(list) },
    reading: missing.length === 0 ? exact : { ...exact, tags: [...exact.tags, ...missing] },
    prompt: () => (text ??= systemPrompt(exact, list)),
  };
}

function sameTools(a: object, b: object): boolean {
  const [first, second] = [Object.entries(a), Object.entries(b)];
  return (
    first.length === second.length &&
    first.every(([name, tool], index) => name === second[index]![0] && tool === second[index]![1])
  );
}
