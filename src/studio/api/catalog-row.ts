/** One run or chain as a row of the index: what lists show, facets count and search looks through. */
import type { FoundRecord } from "../../base/files/record-kind.ts";
import { fingerprint } from "../../core/fingerprint.ts";
import type { TeamStep } from "../../core/team-run.ts";
import type { TrainingSequence } from "../../dataset/read-tokens.ts";

/** What the index knows of a run or a chain. */
export interface CatalogRow {
  kind: "run" | "chain" | "example";
  key: string;
  taskId: string;
  question: string;
  /** The model of a chain, the topology of a team. */
  system: string;
  /** Where it came from: `distilled`, `rollout`, `chain`; of a run the recorder. */
  origin: string;
  family: string;
  ending: string;
  /** Null where none was given. */
  reward: number | null;
  answer: string;
  /** Segments of a chain, steps of a run. */
  moves: number;
  toolCalls: number;
  billed: number;
  computed: number;
  violations: number;
  /** The team run that a chain was distilled from. */
  runId: string;
  /** The step of RL that sampled it. */
  step: number | null;
  /** How a rollout is named in the file of figures beside it. */
  rollout: string;
  text: string;
}

/** Characters of one record that can be searched; what comes after them is not found by search. */
const searchedCharacters = 200_000;
const shownCharacters = 300;

const nothing = { question: "", family: "", reward: null, runId: "", step: null, rollout: "" };

/** The row of a record; whatever it lacks is left empty, for a broken record must be seen, not hidden. */
export function catalogRow(found: FoundRecord): CatalogRow {
  if (found.kind === "example") return exampleRow(found.example as TrainingSequence);
  const { around = {} } = found;
  const record = found.kind === "run" ? found.run : found.chain;
  const both = {
    key: word(record.id),
    taskId: word(record.taskId),
    family: word(record.family ?? around.family),
    ending: word(record.ending?.reason),
    answer: short(record.answer),
    toolCalls: figure(record.usage?.toolCalls),
    billed: figure(record.usage?.billedTokens),
    computed: figure(record.usage?.computedTokens),
  };
  if (found.kind === "run") {
    const { run } = found;
    return {
      ...nothing,
      ...both,
      kind: "run",
      question: short(run.question),
      system: word(run.topology),
      origin: word(run.source),
      reward: around.reward ?? null,
      moves: run.steps.length,
      violations: run.completeness?.untrainable?.length ?? 0,
      text: joined([run.question, ...run.steps.flatMap((step) => stepTexts(step)), run.answer]),
    };
  }
  const { chain } = found;
  const question = around.question ?? chain.prompt.findLast((message) => message?.role === "user")?.content;
  return {
    ...both,
    kind: "chain",
    question: short(question),
    system: word(chain.model),
    origin: around.step === undefined ? (around.stage ? "dropped" : word(chain.source?.kind) || "chain") : "rollout",
    reward: around.reward ?? chain.reward ?? null,
    moves: chain.segments.length,
    violations: chain.violations?.length ?? 0,
    runId: chain.source?.kind === "distilled" ? word(chain.source.id) : "",
    step: around.step ?? null,
    rollout: around.rollout ?? "",
    text: joined([question, ...chain.segments.map((segment) => segment?.text), chain.answer]),
  };
}

/** A line of a dataset: its tokens are counted as moves, those that are learned as calls. */
function exampleRow(example: TrainingSequence): CatalogRow {
  const { id, taskId, profile, run, tokens, spans, promptLength, cutSegments } = example;
  return {
    ...nothing,
    kind: "example",
    key: word(id),
    taskId: word(taskId),
    system: word(profile),
    origin: run === undefined ? "chain" : "distilled",
    ending: cutSegments > 0 ? "cut" : "whole",
    // The same tokens have the same hash: how duplicates are counted.
    answer: fingerprint(tokens.join()),
    moves: tokens.length,
    toolCalls: spans.reduce((sum, [start, end]) => sum + end - start, 0),
    billed: figure(promptLength),
    computed: tokens.length,
    violations: figure(cutSegments),
    text: word(id),
  };
}

/** The words of a step; whatever is broken in it is left out. */
function stepTexts(step?: Partial<TeamStep>): unknown[] {
  const calls = (step?.toolCalls ?? []).flatMap((call) => [call?.name, call?.arguments, call?.result]);
  return [step?.reasoning, step?.text, ...calls];
}

function joined(texts: Iterable<unknown>): string {
  let all = "";
  for (const text of texts) {
    if (typeof text !== "string") continue;
    all += `${text.length > searchedCharacters ? text.slice(0, searchedCharacters) : text}\n`;
    if (all.length > searchedCharacters) return all.slice(0, searchedCharacters);
  }
  return all;
}

function short(text: unknown): string {
  if (typeof text !== "string") return "";
  return text.length > shownCharacters ? `${text.slice(0, shownCharacters)}…` : text;
}

function word(text: unknown): string {
  return typeof text === "string" ? text.slice(0, 500) : "";
}

function figure(value: unknown): number {
  return typeof value === "number" && Number.isFinite(value) ? value : 0;
}
