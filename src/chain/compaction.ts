/**
 * Long chains: when the context window would overflow, old observations are replaced by shorter forms. Question, plans,
 * reflections and the newest steps stay as they are. Compaction frees a good part of the window at once, so that it is
 * rare and the prefix before the first shortened observation stays identical for prefix caches. What was shown instead
 * is kept in the trajectory, so that training sees what the model saw.
 */
import type { CallUsage, Model } from "../core/model.ts";
import type { Segment } from "../core/trajectory.ts";
import { callCost } from "../core/usage.ts";
import { capTokens, observation } from "../language/observation.ts";
import { type ChainRun, record } from "./chain-run.ts";

export interface CompactionOptions {
  /** Makes the short form of an observation; absent: head and tail are kept. */
  summarise?: (text: string, context: SummaryContext) => Promise<{ text: string; usage?: CallUsage }>;
  /** Newest observations that are never touched. */
  keepNewest?: number;
  /** Tokens of a short form. */
  maxTokens?: number;
  /** Share of the window that may be used after compaction. */
  targetShare?: number;
}

export interface SummaryContext {
  question: string;
  maxTokens: number;
  signal?: AbortSignal;
}

/** Whether the next call would have too little room to write. */
export function isCrowded({ limits, context, contextWindow }: ChainRun): boolean {
  const wanted = Math.min(limits.maxTokensPerCall, contextWindow() / 4);
  return contextWindow() - context.size() - limits.answerReserve < wanted;
}

/** Puts short forms in the place of old observations: those chosen now, or those that the journal names. */
export async function compact(run: ChainRun): Promise<void> {
  const { context, usage } = run;
  const call = usage.modelCalls;
  const known = run.replay.compactions.get(call);
  const chosen = known || run.replay.turns.has(call) ? [] : chooseObservations(run);
  if (!known && chosen.length === 0) return;
  const tokensBefore = context.size();
  const made = known ?? (await shorten(run, chosen));
  if (!known) await record(run, { type: "compaction", call, replaced: made.replaced, usage: made.usage });
  if (made.usage) {
    const { promptTokens, completionTokens } = made.usage;
    usage.promptTokens += promptTokens;
    usage.completionTokens += completionTokens;
    usage.billedTokens += promptTokens + completionTokens;
    usage.computedTokens += promptTokens + completionTokens;
    usage.costUsd += callCost(made.usage, run.price());
  }
  const shown = made.replaced.map(({ segment, text }): [number, Segment] => {
    return [segment, observation(run.profile, text, "tool", run.model.tokenizer).segment];
  });
  context.replace(new Map(shown));
  run.compactions.push({
    beforeCall: call,
    fromSegment: context.segments.length,
    replaced: shown.map(([segment, { text, raw, tokens }]) => ({
      segment,
      text,
      ...(raw === undefined ? {} : { raw }),
      ...(tokens ? { tokens } : {}),
    })),
  });
  const segments = made.replaced.map((entry) => entry.segment);
  run.onEvent?.({ type: "compaction", segments, tokensBefore, tokensAfter: context.size() });
}

/** Which observations to shorten so that the context has room again: the oldest first, none that is already short. */
function chooseObservations({ context, profile, compaction, count, contextWindow }: ChainRun): number[] {
  const { keepNewest = 2, maxTokens = 128, targetShare = 0.6 } = compaction;
  const observations = context.segments.flatMap((segment, index) =>
    segment.tag === profile.observation && segment.by === "tool" ? [index] : [],
  );
  const candidates = observations.slice(0, Math.max(0, observations.length - keepNewest));
  const chosen: number[] = [];
  let size = context.size();
  for (const index of candidates) {
    if (size <= contextWindow() * targetShare) break;
    const tokens = count(context.segments[index]!.text);
    if (context.isReplaced(index) || tokens <= maxTokens * 1.5) continue;
    chosen.push(index);
    size -= tokens - maxTokens;
  }
  return chosen;
}

/** The short forms of these observations. */
async function shorten(
  run: ChainRun,
  chosen: readonly number[],
): Promise<{ replaced: { segment: number; text: string }[]; usage?: CallUsage }> {
  const { count, context, signal } = run;
  const { maxTokens = 128 } = run.compaction;
  const summarise = canSummarise(run, chosen) ? run.compaction.summarise : undefined;
  const usage: CallUsage = { promptTokens: 0, completionTokens: 0 };
  const replaced = await Promise.all(
    chosen.map(async (segment) => {
      const text = context.segments[segment]!.text;
      const cut = () => capTokens(text, maxTokens, count);
      if (!summarise) return { segment, text: cut() };
      try {
        const summary = await summarise(text, { question: run.task.question, maxTokens, signal });
        usage.promptTokens += summary.usage?.promptTokens ?? 0;
        usage.completionTokens += summary.usage?.completionTokens ?? 0;
        return { segment, text: capTokens(`[summary] ${summary.text.trim()}`, maxTokens * 2, count) };
      } catch (error) {
        if (signal?.aborted) throw error;
        return { segment, text: cut() }; // a summary that fails must not end the chain
      }
    }),
  );
  return summarise ? { replaced, usage } : { replaced };
}

/** Summaries cost calls of their own; where the budget is too small for them, observations are cut instead. */
function canSummarise(run: ChainRun, chosen: readonly number[]): boolean {
  const { limits, count, compaction, usage } = run;
  const written = chosen.length * (compaction.maxTokens ?? 128);
  const read = chosen.reduce((sum, index) => sum + count(run.context.segments[index]!.text) + 128, 0);
  const cost = callCost({ promptTokens: read, completionTokens: written }, run.price());
  const half = (limit: number, used: number) => (limit - used) / 2; // the chain itself needs the rest
  return (
    written <= half(limits.maxCompletionTokens, usage.completionTokens) &&
    read + written <= half(limits.maxTotalTokens, usage.billedTokens) &&
    cost <= half(limits.maxCostUsd, usage.costUsd)
  );
}

/** Summaries by the chain's own model, asked apart from the chain. */
export function summariseWith(model: Model): NonNullable<CompactionOptions["summarise"]> {
  return async (text, { question, maxTokens, signal }) => {
    const prompt = [
      {
        role: "system" as const,
        content:
          "You shorten tool results. Keep names, numbers, dates, addresses and links that can matter for the question. Write nothing else.",
      },
      {
        role: "user" as const,
        content: `Question: ${question}\n\nTool result:\n${text}\n\nThe same in at most ${Math.floor(maxTokens * 0.7)} words:`,
      },
    ];
    let summary = "";
    let usage: CallUsage = { promptTokens: 0, completionTokens: 0 };
    const tokens = model.tokenizer ? model.encodePrompt?.(prompt) : undefined;
    for await (const event of model.continue({
      prompt,
      text: "",
      tokens,
      stop: [],
      maxTokens,
      temperature: 0,
      signal,
    })) {
      if (event.type === "delta") summary += event.text;
      else usage = event.usage;
    }
    if (summary.trim() === "") throw new Error("the summary is empty");
    return { text: summary, usage };
  };
}
