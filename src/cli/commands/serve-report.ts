import { readJsonl } from "../../base/files/read-jsonl.ts";
import { readTrajectory, type Trajectory } from "../../core/trajectory.ts";
import { servedReport } from "../../serve/served-report.ts";
import { defineCommand, oneInputFile } from "../command.ts";

const name = "serve report";
const examples = ["coa serve report .coa/kept.jsonl"];

export default defineCommand({
  name,
  summary:
    "Compare the chains that coa serve kept with the old system they ran beside: agreement, time, tokens, fallbacks.",
  arguments: "<kept.jsonl>",
  examples,
  options: {},
  async run({ values, positionals, out }) {
    const file = oneInputFile(this, positionals, "a file of kept chains");
    const chains: Trajectory[] = [];
    for await (const line of readJsonl(file)) chains.push(readTrajectory(line));
    const report = servedReport(chains);
    if (values.json) {
      out.json(report);
      return 0;
    }
    const share = (value: number) => `${(100 * value).toFixed(1)} %`;
    const { shadow, fallback } = report;
    out.print(`${report.chains} chains, ${report.answered} with an answer of their own`);
    if (shadow.compared + shadow.unknown > 0) {
      const { value, low, high } = shadow.agreement;
      out.print(
        `agreement with the old system: ${share(value)} (95 % interval ${share(low)} to ${share(high)}) of ${shadow.compared} compared, ${shadow.unknown} not decided`,
      );
      out.print(
        `seconds to the answer (mean): old ${shadow.oldSeconds.toFixed(2)}, chain ${shadow.chainSeconds.toFixed(2)}; tokens: old ${Math.round(shadow.oldTokens)}, chain ${Math.round(shadow.chainTokens)}`,
      );
      for (const { question, old, chain } of shadow.disagreements)
        out.print(`\n  ${question}\n    old:   ${old}\n    chain: ${chain ?? "no answer"}`);
    }
    if (fallback.asked > 0)
      out.print(
        `passed on to the old system: ${fallback.asked} (${Object.entries(fallback.reasons)
          .map(([reason, count]) => `${reason} ${count}`)
          .join(", ")}), ${fallback.failed} of them failed`,
      );
    return 0;
  },
});
