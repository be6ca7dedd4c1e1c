/** What kept chains say of the switch from an old system, for a terminal. */
import type { ServedReport } from "../../evaluate/served-report.ts";

/** Agreement, time, tokens, the first disagreements, fallbacks by reason. */
export function servedText({ chains, answered, shadow, fallback }: ServedReport): string {
  const share = (value: number) => `${(100 * value).toFixed(1)} %`;
  const lines = [`${chains} chains, ${answered} with an answer of their own`];
  if (shadow.compared + shadow.unknown > 0) {
    const { value, low, high } = shadow.agreement;
    lines.push(
      `agreement with the old system: ${share(value)} (95 % interval ${share(low)} to ${share(high)}) of ${shadow.compared} compared, ${shadow.unknown} not decided`,
      `seconds to the answer (mean): old ${shadow.oldSeconds.toFixed(2)}, chain ${shadow.chainSeconds.toFixed(2)}; tokens: old ${Math.round(shadow.oldTokens)}, chain ${Math.round(shadow.chainTokens)}`,
      ...shadow.disagreements.map(
        ({ question, old, chain }) => `\n  ${question}\n    old:   ${old}\n    chain: ${chain ?? "no answer"}`,
      ),
    );
  }
  if (fallback.asked > 0) {
    const reasons = Object.entries(fallback.reasons).map(([reason, count]) => `${reason} ${count}`);
    lines.push(`passed on to the old system: ${fallback.asked} (${reasons.join(", ")}), ${fallback.failed} failed`);
  }
  return lines.join("\n");
}
