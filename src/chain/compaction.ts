/**
 * Long chains: when the context window would overflow, old observations give way to shorter forms. Question, plans,
 * reflections and the newest steps stay as they are. Compaction frees a good part of the window at once, so that it is
 * rare and the prefix before the first shortened observation stays identical for prefix caches.
 */
import type { CallUsage, Model } from "../core/model.ts";
import type { Segment } from "../core/trajectory.ts";
import { capText } from "../language/observation.ts";
import type { ChainContext } from "./chain-context.ts";

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

/** Which observations to shorten so that the context has room again: the oldest first, none that is already short. */
export function chooseObservations(
  context: ChainContext,
  observation: string,
  contextWindow: number,
  options: CompactionOptions,
  count: (text: string) => number,
): number[] {
  const { keepNewest = 2, maxTokens = 128, targetShare = 0.6 } = options;
  const observations = context.segments.flatMap((segment, index) =>
    segment.tag === observation && segment.by === "tool" ? [index] : [],
  );
  const candidates = observations.slice(0, Math.max(0, observations.length - keepNewest));
  const chosen: number[] = [];
  let size = context.size();
  for (const index of candidates) {
    if (size <= contextWindow * targetShare) break;
    const tokens = count(context.segments[index]!.text);
    if (context.isReplaced(index) || tokens <= maxTokens * 1.5) continue;
    chosen.push(index);
    size -= tokens - maxTokens;
  }
  return chosen;
}

/** The short forms of these observations. */
export async function shorten(
  segments: readonly Segment[],
  chosen: readonly number[],
  options: CompactionOptions,
  context: SummaryContext,
  count: (text: string) => number,
): Promise<{ replaced: { segment: number; text: string }[]; usage?: CallUsage }> {
  const { maxTokens = 128, summarise } = options;
  const usage: CallUsage = { promptTokens: 0, completionTokens: 0 };
  const replaced = await Promise.all(
    chosen.map(async (segment) => {
      const text = segments[segment]!.text;
      const cut = () => capText(text, maxTokens, count).text;
      if (!summarise) return { segment, text: cut() };
      try {
        const summary = await summarise(text, { ...context, maxTokens });
        usage.promptTokens += summary.usage?.promptTokens ?? 0;
        usage.completionTokens += summary.usage?.completionTokens ?? 0;
        return { segment, text: capText(`[summary] ${summary.text.trim()}`, maxTokens * 2, count).text };
      } catch (error) {
        if (context.signal?.aborted) throw error;
        return { segment, text: cut() }; // a summary that fails must not end the chain
      }
    }),
  );
  return summarise ? { replaced, usage } : { replaced };
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
