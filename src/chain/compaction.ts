/**
 * Long chains: when the context window would overflow, old observations are cut to their head and tail. Question, plans,
 * reflections and the newest steps stay as they are. Compaction frees a good part of the window at once, so that it is
 * rare and the prefix before the first shortened observation stays identical for prefix caches. What was shown instead
 * is kept in the trajectory, so that training sees what the model saw.
 */
import type { Segment } from "../core/trajectory.ts";
import { capTokens, observation } from "../language/observation.ts";
import { type ChainRun, record } from "./chain-run.ts";

export interface CompactionOptions {
  /** Makes the short form of an observation, which is then cut too (default: it is cut as it is). */
  summarise?: (text: string) => string;
  /** Newest observations that are never touched. Default 2. */
  keepNewest?: number;
  /** Tokens of a short form. Default 128. */
  maxTokens?: number;
  /** Share of the window that may be used after compaction. Default 0.6. */
  targetShare?: number;
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
  const replaced = known?.replaced ?? (run.replay.turns.has(call) ? [] : shortForms(run));
  if (replaced.length === 0) return;
  const tokensBefore = context.size();
  if (!known) await record(run, { type: "compaction", call, replaced });
  const shown = replaced.map(({ segment, text }): [number, Segment] => {
    return [segment, observation(run.profile, text, "tool", run.model).segment];
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
  const segments = replaced.map((entry) => entry.segment);
  run.onEvent?.({ type: "compaction", segments, tokensBefore, tokensAfter: context.size() });
}

/** Observations cut so that the context has room again: the oldest first, none that is already short. */
function shortForms({ context, profile, compaction, count, contextWindow }: ChainRun) {
  const { maxTokens = 128, keepNewest = 2, targetShare = 0.6, summarise } = compaction;
  const observations = context.segments.flatMap((segment, index) =>
    segment.tag === profile.observation && segment.by === "tool" ? [index] : [],
  );
  const chosen: { segment: number; text: string }[] = [];
  let size = context.size();
  for (const segment of observations.slice(0, Math.max(0, observations.length - keepNewest))) {
    if (size <= contextWindow() * targetShare) break;
    const { text } = context.segments[segment]!;
    const tokens = count(text);
    if (context.isReplaced(segment) || tokens <= maxTokens * 1.5) continue;
    chosen.push({
      segment,
      text: capTokens(summarise ? `[summary] ${summarise(text)}` : text, maxTokens * (summarise ? 2 : 1), count),
    });
    size -= tokens - maxTokens;
  }
  return chosen;
}
