/**
 * A trajectory becomes what an engine learns from: the model's own tokens carry weight, prompt and observations carry
 * none, tags count for the side that wrote them. What does not fit is dropped whole or cut at a segment border, and the
 * result says which, because data must not disappear silently.
 */
import type { Example } from "../core/engine.ts";
import type { Tokenizer } from "../core/tokenizer.ts";
import { contextVersions, type Segment, type Trajectory } from "../core/trajectory.ts";
import { tagSpec } from "../language/profile.ts";
import { shownBefore, type TokenizedTrajectory, tokenizeTrajectory } from "./tokenize-trajectory.ts";
import { sequenceToExample, spansOf, type TrainingSequence } from "./training-sequence.ts";

export interface ExampleOptions {
  /** Longest sequence, prompt included; no limit by default. */
  maxTokens?: number;
  /** What happens to longer ones: `drop` (default), or `cut` after the last segment that fits. */
  overlong?: "drop" | "cut";
  /** Weight of each segment by the model (default 1); what tools wrote or the distiller filled in has none in any case. */
  weightOf?: (segment: Segment, index: number) => number;
  /** Teach the model to end its turn after an answer (default true), so that servers without stop strings stop too. */
  endOfTurn?: boolean;
}

export type DropReason = "overlong" | "nothing-to-learn" | "no-prompt" | "review";

export type SequenceResult =
  | { sequence: TrainingSequence; dropped?: undefined }
  | { sequence?: undefined; dropped: { id: string; reason: DropReason; detail: string } };

/** Tokens and weights of a trajectory as one text, or the reason why there are none. */
export function trajectoryToSequence(
  trajectory: Trajectory,
  tokenizer: Tokenizer,
  options: ExampleOptions = {},
): SequenceResult {
  const { id, taskId } = trajectory;
  const drop = (reason: DropReason, detail: string): SequenceResult => ({ dropped: { id, reason, detail } });
  if (trajectory.prompt.length === 0 && !trajectory.promptTokens) return drop("no-prompt", "the prompt is empty");
  const limit = options.maxTokens ?? Number.POSITIVE_INFINITY;
  const end = endOfTurnToken(trajectory, tokenizer, options);
  let { tokens, owners, promptLength } = tokenizeTrajectory(trajectory, tokenizer);
  let kept = trajectory.segments.length;
  const whole = tokens.length + (end === undefined ? 0 : 1);
  if (whole > limit) {
    if (options.overlong !== "cut") return drop("overlong", `${whole} tokens, limit ${limit}`);
    kept = segmentsThatFit(trajectory, owners, limit);
    if (kept === 0) return drop("overlong", `no segment fits: prompt of ${promptLength} tokens, limit ${limit}`);
    ({ tokens, owners } = tokenizeTrajectory(trajectory, tokenizer, { segments: kept }));
    // Encoding fewer segments together can take a token more at the new end.
    if (tokens.length > limit) return drop("overlong", `${tokens.length} tokens after the cut, limit ${limit}`);
  }
  const weightOf = options.weightOf ?? (() => 1);
  const segmentWeights = trajectory.segments.map((segment, index) =>
    segment.by === "model" && !segment.filled ? weightOf(segment, index) : 0,
  );
  const weights = owners.map((owner) => (owner === -1 ? 0 : segmentWeights[owner]!));
  for (const { token, call } of turnEnds(trajectory, tokenizer, { tokens, owners }))
    weights[token] = segmentWeights[call]!;
  if (end !== undefined && kept === trajectory.segments.length && tokens.length < limit) {
    tokens.push(end);
    weights.push(segmentWeights.at(-1) ?? 0);
  }
  // The first token of a sequence is predicted from nothing and can't be learned.
  if (!weights.some((weight, index) => index > 0 && weight !== 0)) {
    return drop("nothing-to-learn", "no token written by the model has weight");
  }
  const { profile, source } = trajectory;
  const run = source?.kind === "distilled" && source.id !== undefined ? { run: source.id } : {};
  const cutSegments = trajectory.segments.length - kept;
  return { sequence: { id, taskId, profile, ...run, tokens, spans: spansOf(weights), promptLength, cutSegments } };
}

/**
 * A trajectory as sequences, one for each context it was written in: a chain whose context was shortened on the way is several,
 * and each teaches what was written there, after exactly what was shown there.
 */
export function trajectoryToSequences(
  trajectory: Trajectory,
  tokenizer: Tokenizer,
  options: ExampleOptions = {},
): SequenceResult[] {
  const { compactions, ...chain } = trajectory;
  if (!compactions?.length) return [trajectoryToSequence(trajectory, tokenizer, options)];
  const { weightOf = () => 1, endOfTurn } = options;
  return contextVersions(trajectory).map(({ from, to, segments }) =>
    trajectoryToSequence({ ...chain, segments }, tokenizer, {
      ...options,
      endOfTurn: to === trajectory.segments.length ? endOfTurn : false,
      weightOf: (segment, index) => (index < from ? 0 : weightOf(segment, index)),
    }),
  );
}

/** A trajectory as an imitation example, or the reason why it is none. */
export function trajectoryToExample(
  trajectory: Trajectory,
  tokenizer: Tokenizer,
  options: ExampleOptions = {},
):
  | { example: Example; sequence: TrainingSequence; dropped?: undefined }
  | { example?: undefined; sequence?: undefined; dropped: { id: string; reason: string; detail: string } } {
  const result = trajectoryToSequence(trajectory, tokenizer, options);
  if (!result.sequence) return { dropped: result.dropped };
  return { example: sequenceToExample(result.sequence), sequence: result.sequence };
}

/** What was sampled in one context: ids of the whole sequence, which of them the model sampled, and their log-probabilities. */
export interface SampledSequence {
  tokens: number[];
  promptLength: number;
  /** 1 on tokens that the model sampled in this context. */
  mask: number[]; // [token]
  /** Of the distribution each token was sampled from; 0 where the mask is 0. */
  logprobs: number[]; // [token]
}

/**
 * A sampled trajectory as sequences, one for each context it was written in: a chain whose context was shortened on the way
 * is several, so that every token stands after exactly what the model saw. Tokens that the model did not sample (forced by
 * the runtime) are masked like the prompt and observations.
 */
export function sampledSequences(trajectory: Trajectory, tokenizer: Tokenizer): SampledSequence[] {
  return contextVersions(trajectory).map(({ from, to, segments }) => {
    const { tokens, owners, promptLength } = tokenizeTrajectory({ ...trajectory, segments }, tokenizer);
    const mask: number[] = new Array(tokens.length).fill(0);
    const logprobs: number[] = new Array(tokens.length).fill(0);
    let owner = -1;
    let within = 0;
    for (let i = 0; i < tokens.length; i++) {
      within = owners[i] === owner ? within + 1 : 0;
      owner = owners[i]!;
      const segment = owner < from || owner >= to ? undefined : segments[owner];
      const logprob = segment?.by === "model" ? segment.logprobs?.[within] : undefined;
      if (logprob === undefined) continue;
      mask[i] = 1;
      logprobs[i] = logprob;
    }
    return { tokens, promptLength, mask, logprobs };
  });
}

/**
 * A sampled trajectory as policy-gradient examples: what the model sampled carries the advantage. A last observation may have taken
 * it past `maxTokens`, the model's window: what was written before it is kept.
 */
export function rolloutToExamples(
  trajectory: Trajectory,
  tokenizer: Tokenizer,
  advantage: number,
  maxTokens = Number.POSITIVE_INFINITY,
): Example[] {
  return sampledSequences(trajectory, tokenizer).map(({ tokens, mask, logprobs }) => {
    const end = Math.min(tokens.length, maxTokens + 1);
    return {
      input: Int32Array.from(tokens.slice(0, end - 1)),
      targets: Int32Array.from(tokens.slice(1, end)),
      oldLogprobs: Float32Array.from(logprobs.slice(1, end)),
      advantages: Float32Array.from(mask.slice(1, end), (sampled) => (sampled === 1 ? advantage : 0)),
    };
  });
}

function endOfTurnToken(trajectory: Trajectory, tokenizer: Tokenizer, options: ExampleOptions): number | undefined {
  if (options.endOfTurn === false || trajectory.ending.reason !== "answered") return undefined;
  const last = trajectory.segments.at(-1);
  if (last?.by !== "model") return undefined;
  const end = tokenizer.endOfTurn[0];
  return last.tokens?.at(-1) === end ? undefined : end;
}

/** How many segments fit the limit; a cut chain ends with something the model wrote, for the rest teaches nothing. */
function segmentsThatFit(trajectory: Trajectory, owners: readonly number[], limit: number): number {
  const firstOut = owners[limit];
  let kept = firstOut === undefined ? trajectory.segments.length : Math.max(0, firstOut);
  while (kept > 0 && trajectory.segments[kept - 1]!.by !== "model") kept--;
  return kept;
}

/**
 * Where several calls are allowed in one turn, the model itself ends the turn: it opens the observation instead of
 * another call. That opening tag is a decision of the model, so it is learned like the call before it; without it a
 * student never stops calling.
 */
export function turnEnds(
  { language, segments }: Pick<Trajectory, "language" | "segments">,
  tokenizer: Tokenizer,
  { tokens, owners }: Pick<TokenizedTrajectory, "tokens" | "owners">,
): { token: number; call: number }[] {
  const profile = language?.profile;
  if (!profile || profile.maxParallelCalls < 2) return [];
  const found: { token: number; call: number }[] = [];
  let calls = 0; // of this turn
  for (const [index, segment] of segments.entries()) {
    if (segment.by !== "tool") {
      calls = segment.by === "model" && tagSpec(profile, segment.tag)?.tool !== undefined ? calls + 1 : 0;
      continue;
    }
    // A turn that is full is ended by the runtime.
    if (calls > 0 && calls < profile.maxParallelCalls) {
      const end = Buffer.byteLength(shownBefore(segment));
      let at = 0;
      for (let token = owners.indexOf(index); token !== -1 && owners[token] === index; token++) {
        at += tokenizer.tokenBytes(tokens[token]!).length;
        if (at > end) break;
        found.push({ token, call: index - 1 });
      }
    }
    calls = 0;
  }
  return found;
}
