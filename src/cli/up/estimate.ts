/**
 * What the work will cost, before anything is spent: calls, tokens and money of the models, and time of training on
 * this machine. Where some of the work is done, what it took replaces the assumption.
 */
import type { Price } from "../../core/model.ts";
import { callCost, type Usage } from "../../core/usage.ts";
import { openEmbeddedEngine } from "../../engines/embedded/embedded-engine.ts";
import { modelConfig } from "../../engines/embedded/model/config.ts";
import { parameterCount } from "../../engines/embedded/model/parameters.ts";
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

/**
 * What one question takes the standard team, besides what it reads: plan, two workers with two calls each, the manager between
 * them, an answer and its check, each reading its instructions and what was said before.
 */
const teamTask = { calls: 9, promptTokens: 3_900, completionTokens: 500, results: 4, resultTokens: 90 };
/** What writing questions takes, besides the passage: instructions read and words written. */
const writing = { promptTokens: 150, completionTokens: 70 };
/** Of the atomic questions, the share that is merged with another. */
const mergedShare = 0.25;
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

/** Questions about one passage alone: as few as give enough, so that many files are asked about. */
export function questionsOfPassage(pieces: number, questions: number): number {
  return pieces >= questions ? 1 : Math.min(5, Math.ceil(questions / pieces));
}

/** Tokens read and written. */
export function tokensOf({ parts }: Pick<Estimate, "parts">): number {
  return parts.reduce((sum, { promptTokens, completionTokens }) => sum + promptTokens + completionTokens, 0);
}

/** The estimate for this input. */
export function estimateUp(input: UpInput, options: EstimateOptions): Estimate {
  const { questions, measured, student } = options;
  const parts: Calls[] = [];
  let tasks = questions;
  if (input.kind === "documents") {
    const { passageTokens, pageTokens, named } = input.sample;
    if (options.writing) {
      const each = questionsOfPassage(input.pieces, questions);
      // Half of the questions about a thing that others name can be made deeper.
      const pieces = Math.min(input.pieces, Math.ceil(questions / (each * (1 + named / 2 + mergedShare / 2))));
      const [deeper, merged] = [Math.round(pieces * each * named), Math.round(pieces * each * mergedShare)];
      tasks = Math.min(questions, Math.round(pieces * each * (1 + named / 2 + mergedShare / 2)));
      parts.push({
        part: "questions",
        calls: pieces + deeper + merged,
        promptTokens: Math.round(
          (pieces + deeper) * (passageTokens + writing.promptTokens) + merged * writing.promptTokens,
        ),
        completionTokens: pieces * each * writing.completionTokens + (deeper + merged) * 40,
      });
    }
    const read = Math.min(input.pieces, teamTask.results) * teamTask.resultTokens + 1.2 * pageTokens;
    const left = Math.max(0, tasks - (measured?.runs ?? 0));
    const each = (key: keyof Usage & ("promptTokens" | "completionTokens" | "modelCalls"), otherwise: number) =>
      measured && measured.runs > 0 ? measured.usage[key] / measured.runs : otherwise;
    parts.push({
      part: "team",
      calls: Math.round(left * each("modelCalls", teamTask.calls)),
      promptTokens: Math.round(left * each("promptTokens", teamTask.promptTokens + read)),
      completionTokens: Math.round(left * each("completionTokens", teamTask.completionTokens)),
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
        : "from a sample of the input; the first runs make it exact",
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

const probe = modelConfig({
  architecture: "qwen2",
  vocabularySize: 1024,
  hiddenSize: 128,
  layers: 2,
  heads: 4,
  maxContext: 512,
});
const batchTokens = 1024;

let known: Promise<number> | undefined;

/** Operations per second in training, by the usual count of 6 per parameter and token; measured once. */
export function trainingSpeed(): Promise<number> {
  known ??= measure();
  return known;
}

async function measure(): Promise<number> {
  const engine = await openEmbeddedEngine({ config: probe, seed: 1 });
  try {
    const input = Int32Array.from({ length: 512 }, (_, index) => (index * 7) % 1024);
    const example = {
      input,
      targets: input.map((token) => (token + 7) % 1024),
      weights: new Float32Array(512).fill(1),
    };
    const step = async () => {
      await engine.forwardBackward([example, example], { name: "cross_entropy" });
      await engine.optimStep({ learningRate: 0 });
    };
    await step(); // builds its graphs
    const started = performance.now();
    await step();
    return (6 * parameterCount(probe) * batchTokens) / ((performance.now() - started) / 1000);
  } finally {
    await engine.close();
  }
}
