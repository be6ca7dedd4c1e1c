/** What a chain is run with. Everything it touches arrives here: model, tools, clock, journal, signal. */
import type { ChainEvent } from "../core/events.ts";
import type { Journal } from "../core/journal.ts";
import type { Model, Price } from "../core/model.ts";
import type { Layout } from "../language/observation.ts";
import type { Profile } from "../language/profile.ts";
import type { ChainRecord, Replay } from "./chain-record.ts";
import type { CompactionOptions } from "./compaction.ts";
import type { Limits } from "./limits.ts";
import type { ToolSet } from "./tool-set.ts";

/**
 * `report`: violations are recorded. `repair`: a move that breaks the order is refused, and the model reads why.
 * `grammar`: the model cannot write anything else, where it offers constrained decoding; otherwise as `repair`.
 */
export type Enforcement = "report" | "repair" | "grammar";

export interface Sampling {
  temperature?: number;
  topP?: number;
  topK?: number;
  seed?: number;
}

export interface ChainOptions {
  model: Model;
  tools: ToolSet;
  profile: Profile;
  limits?: Partial<Limits>;
  enforcement?: Enforcement;
  sampling?: Sampling;
  /** White space around observations; `compact` for models that work on tokens, `paper` otherwise. */
  layout?: Layout;
  /** Replaces the profile's own; `false` gives the model the bare question. */
  systemPrompt?: string | false;
  /** Names the trajectory; needed to resume one of several runs of the same task. */
  id?: string;
  /** Where finished steps are written, and from where a killed run goes on. */
  journal?: Journal<ChainRecord>;
  /** What is already known of this chain, where the caller has read the journal. */
  replay?: Replay;
  /** US dollars per million tokens: of this model, or by model name. */
  prices?: Price | Readonly<Record<string, Price>>;
  compaction?: CompactionOptions;
  policyVersion?: number;
  meta?: Record<string, unknown>;
  signal?: AbortSignal;
  onEvent?: (event: ChainEvent) => void;
  /** Milliseconds, ever growing. */
  clock?: () => number;
}
