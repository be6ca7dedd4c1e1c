/** What kept chains say about the switch from an old system: how often both agree, at what cost, and how often the old one was needed. */
import type { Trajectory } from "../core/trajectory.ts";
import type { Estimate } from "../report/figures.ts";
import { mean, shareEstimate } from "./statistics.ts";

export interface ServedReport {
  chains: number;
  /** Chains that gave an answer of their own. */
  answered: number;
  shadow: {
    compared: number;
    /** Pairs whose agreement could not be told. */
    unknown: number;
    /** Share of compared pairs that agree. */
    agreement: Estimate;
    oldSeconds: number;
    chainSeconds: number;
    oldTokens: number;
    chainTokens: number;
    disagreements: { id: string; question: string; old: string; chain: string | null }[];
  };
  fallback: { asked: number; failed: number; reasons: Record<string, number> };
}

export function servedReport(chains: readonly Trajectory[], options: { show?: number } = {}): ServedReport {
  const pairs = chains.flatMap((trajectory) =>
    trajectory.served?.shadow ? [{ trajectory, shadow: trajectory.served.shadow }] : [],
  );
  const compared = pairs.filter(({ shadow }) => shadow.agrees !== null);
  const agreeing = compared.filter(({ shadow }) => shadow.agrees).length;
  const meanOf = (figure: (pair: (typeof pairs)[number]) => number) => mean(pairs.map(figure));
  const fallbacks = chains.flatMap(({ served }) => served?.fallback ?? []);
  const reasons: Record<string, number> = {};
  for (const { reason } of fallbacks) reasons[reason] = (reasons[reason] ?? 0) + 1;
  return {
    chains: chains.length,
    answered: chains.filter(({ answer }) => answer !== null).length,
    shadow: {
      compared: compared.length,
      unknown: pairs.length - compared.length,
      agreement: shareEstimate(agreeing, compared.length),
      oldSeconds: meanOf(({ shadow }) => (shadow.ms ?? 0) / 1000),
      chainSeconds: meanOf(({ trajectory }) => trajectory.usage.wallMs / 1000),
      oldTokens: meanOf(({ shadow }) => (shadow.usage?.promptTokens ?? 0) + (shadow.usage?.completionTokens ?? 0)),
      chainTokens: meanOf(({ trajectory }) => trajectory.usage.billedTokens),
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
