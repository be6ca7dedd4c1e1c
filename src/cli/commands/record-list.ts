import { readRecordings } from "../../record/recordings.ts";
import { priceRun, summariseRun } from "../../record/run-summary.ts";
import { readUnrecorded, unrecordedText } from "../../record/unrecorded.ts";
import { defineCommand } from "../command.ts";
import { pricesOf } from "../flag-values.ts";
import { table } from "../output.ts";
import { folderOption, priceOption, recordingsFolder } from "./record-folder.ts";

export default defineCommand({
  name: "record list",
  summary: "List recorded runs: agents, calls, tokens, and whether they may be trained on",
  examples: ["coa record list", "coa record list --folder other/recordings --json"],
  options: { folder: folderOption, price: priceOption },
  async run({ values, out }) {
    const folder = await recordingsFolder(values.folder);
    const prices = pricesOf(values.price ?? []);
    const runs = (await readRecordings(folder)).map((run) => summariseRun(priceRun(run, prices)));
    const missed = await readUnrecorded(folder);
    if (values.json) out.json(runs);
    else if (runs.length === 0) out.note(`no recordings in ${folder} yet. Record with: coa record proxy --to <server>`);
    else {
      const rows = runs.map((run) => [
        run.id.length > 24 ? `${run.id.slice(0, 23)}…` : run.id,
        String(run.agents.length),
        String(run.modelCalls),
        String(run.toolCalls),
        String(run.tokens.billed),
        run.refused === null ? "yes" : `no: ${run.reasons.join(", ")}`,
        ...(values.price ? [`$${run.costUsd.toFixed(6)}`] : []),
        `${run.question.replace(/\s+/g, " ").slice(0, 50)}`,
      ]);
      const cost = values.price ? ["cost"] : [];
      const header = ["run", "agents", "calls", "tools", "tokens", "trainable", ...cost, "question"];
      out.print(table([header, ...rows], ["left", "right", "right", "right", "right", "left", "left", "left"]));
      const counts = new Map<string, number>();
      for (const reason of runs.flatMap((run) => run.reasons)) counts.set(reason, (counts.get(reason) ?? 0) + 1);
      const trainable = runs.filter((run) => run.refused === null).length;
      const why = [...counts].map(([reason, count]) => `${reason} ${count}`).join(", ");
      const shaped = runs.filter(({ completeness }) => completeness.inferred?.includes("run")).length;
      if (shaped > 0)
        out.note(`${shaped} of ${runs.length} runs were put together from what was said: no run id was given`);
      out.note(`${trainable} of ${runs.length} runs may be trained on${why ? `; not: ${why}` : ""}`);
    }
    if (!values.json && missed.length > 0) out.note(unrecordedText(missed));
    return 0;
  },
});
