/**
 * What the work will cost, before anything is spent: calls, tokens and money of the models, and time of training on
 * this machine. Where some of the work is done, what it took replaces the assumption.
 */
import type { Price } from "../../core/model.ts";
import { callCost, type Usage } from "../../core/usage.ts";
import { count, money } from "../../report/format-figures.ts";
import { duration } from "../output.ts";
import type { UpInput } from "./look-at-input.ts";

/** Calls of a model for one part of the work. */
export interface Calls {
  part: string;
  calls: number;
  promptTokens: number;
  completionTokens: number;
}

export interface Estimate {
  parts: Calls[];
  /** Undefined without prices. */
  usd?: number;
  trainSeconds?: number;
  /** Where the figures come from. */
  basis: string;
}

/** What one question takes a team: figures of the lab's team of six agents (docs/results.md), rounded up. */
const assumedTask = { calls: 10, promptTokens: 17_000, completionTokens: 1_200 };
/** Questions that one piece of a document gives, deeper and merged ones counted in, and the calls they take. */
const perPiece = { tasks: 3, calls: 4 };
/** Tokens of a finished chain: bare for a new small model, with its system prompt for a real one. */
const chainTokens = { bare: 900, prompted: 4_000 };

export interface EstimateOptions {
  questions: number;
  /** Whether the questions are still to be written. */
  writing: boolean;
  judging: boolean;
  price?: Price;
  /** What earlier runs of this work took. */
  measured?: { runs: number; usage: Pick<Usage, "modelCalls" | "promptTokens" | "completionTokens"> };
  student: { parameters?: number; bare: boolean; epochs: number; steps?: number; batchTokens: number };
  /** Operations per second in training here; undefined where a server trains. */
  speed?: number;
}

/** The estimate for this input. */
export function estimateUp(input: UpInput, options: EstimateOptions): Estimate {
  const { questions, measured, student } = options;
  const parts: Calls[] = [];
  let tasks = questions;
  if (input.kind === "documents") {
    const pieces = Math.min(input.pieces, Math.ceil(questions / perPiece.tasks));
    const tokens = Math.ceil(input.characters / input.pieces / 4) + 300;
    const calls = pieces * perPiece.calls;
    if (options.writing) {
      tasks = Math.min(questions, pieces * perPiece.tasks);
      parts.push({ part: "questions", calls, promptTokens: calls * tokens, completionTokens: calls * 200 });
    }
    const left = Math.max(0, tasks - (measured?.runs ?? 0));
    const each = (key: keyof Usage & ("promptTokens" | "completionTokens" | "modelCalls"), otherwise: number) =>
      measured && measured.runs > 0 ? measured.usage[key] / measured.runs : otherwise;
    parts.push({
      part: "team",
      calls: Math.round(left * each("modelCalls", assumedTask.calls)),
      promptTokens: Math.round(left * each("promptTokens", assumedTask.promptTokens)),
      completionTokens: Math.round(left * each("completionTokens", assumedTask.completionTokens)),
    });
  } else {
    tasks = input.runs.length;
    if (options.judging)
      parts.push({ part: "judge", calls: tasks, promptTokens: tasks * 3_000, completionTokens: tasks * 80 });
  }
  const length = student.bare ? chainTokens.bare : chainTokens.prompted;
  const trained = student.steps === undefined ? tasks * length * student.epochs : student.steps * student.batchTokens;
  const { speed, price } = options;
  return {
    parts,
    ...(price && { usd: parts.reduce((sum, part) => sum + callCost(part, price), 0) }),
    ...(speed !== undefined &&
      student.parameters !== undefined && { trainSeconds: (6 * student.parameters * trained) / speed }),
    basis:
      measured && measured.runs > 0
        ? `from the ${measured.runs} runs that are done`
        : "assumed; the first runs make it exact",
  };
}

/** The estimate as lines for a person. */
export function estimateText({ parts, usd, trainSeconds, basis }: Estimate): string[] {
  const lines = parts.map(
    ({ part, calls, promptTokens, completionTokens }) =>
      `  ${part}: about ${count(calls)} model calls, ${count(promptTokens)} tokens read, ${count(completionTokens)} written`,
  );
  const cost =
    parts.length === 0
      ? "no model is called"
      : usd === undefined
        ? "money is not known: give --price <in,out>"
        : `about ${money(usd)}`;
  const time =
    trainSeconds === undefined
      ? []
      : [`  training: about ${duration(trainSeconds * 1000)} on this machine (measured just now)`];
  return [`Estimate (${basis}): ${cost}.`, ...lines, ...time];
}
