/** What kept chains say about the switch from an old system: how often both agree, at what cost, and how often the old one was needed. */
import type { Trajectory } from "../core/trajectory.ts";

export interface ServedReport {
  chains: number;
  /** Chains that gave an answer of their own. */
  answered: number;
  shadow: {
    compared: number;
    /** Pairs whose agreement could not be told. */
    unknown: number;
    /** Share of compared pairs that agree, with Wilson's 95 % interval. */
    agreement: { value: number; low: number; high: number };
    /** Means over the pairs. */
    oldSeconds: number;
    chainSeconds: number;
    oldTokens: number;
    chainTokens: number;
    /** The first pairs that differ. */
    disagreements: { id: string; question: string; old: string; chain: string | null }[];
  };
  fallback: { asked: number; failed: number; reasons: Record<string, number> };
}

/** Counts kept chains. */
export function servedReport(chains: readonly Trajectory[], options: { show?: number } = {}): ServedReport {
  const pairs = chains.flatMap((trajectory) =>
    trajectory.served?.shadow ? [{ trajectory, shadow: trajectory.served.shadow }] : [],
  );
  const compared = pairs.filter(({ shadow }) => shadow.agrees !== null);
  const agreeing = compared.filter(({ shadow }) => shadow.agrees).length;
  const mean = (of: (pair: (typeof pairs)[number]) => number) =>
    pairs.length === 0 ? 0 : pairs.reduce((sum, pair) => sum + of(pair), 0) / pairs.length;
  const fallbacks = chains.flatMap(({ served }) => served?.fallback ?? []);
  const reasons: Record<string, number> = {};
  for (const { reason } of fallbacks) reasons[reason] = (reasons[reason] ?? 0) + 1;
  return {
    chains: chains.length,
    answered: chains.filter(({ answer }) => answer !== null).length,
    shadow: {
      compared: compared.length,
      unknown: pairs.length - compared.length,
      agreement: wilson(agreeing, compared.length),
      oldSeconds: mean(({ shadow }) => (shadow.ms ?? 0) / 1000),
      chainSeconds: mean(({ trajectory }) => trajectory.usage.wallMs / 1000),
      oldTokens: mean(({ shadow }) => (shadow.usage?.promptTokens ?? 0) + (shadow.usage?.completionTokens ?? 0)),
      chainTokens: mean(({ trajectory }) => trajectory.usage.billedTokens),
      disagreements: compared
        .filter(({ shadow }) => !shadow.agrees)
        .slice(0, options.show ?? 10)
        .map(({ trajectory, shadow }) => ({
          id: trajectory.id,
          question: trajectory.prompt.at(-1)?.content ?? "",
          old: shadow.answer ?? "",
          chain: trajectory.answer,
        })),
    },
    fallback: {
      asked: fallbacks.length,
      failed: fallbacks.filter((one) => one.error !== undefined).length,
      reasons,
    },
  };
}

/** A share with Wilson's 95 % interval, which holds for few and for extreme counts too. */
function wilson(right: number, of: number): { value: number; low: number; high: number } {
  if (of === 0) return { value: 0, low: 0, high: 1 };
  const z = 1.96;
  const share = right / of;
  const centre = share + z ** 2 / (2 * of);
  const spread = z * Math.sqrt((share * (1 - share)) / of + z ** 2 / (4 * of ** 2));
  const scale = 1 + z ** 2 / of;
  return { value: share, low: Math.max(0, (centre - spread) / scale), high: Math.min(1, (centre + spread) / scale) };
}
