import { workspaceRoot } from "../../base/files/workspace.ts";
import { UsageError } from "../../core/errors.ts";
import { exportStudio } from "../../studio/api/export-studio.ts";
import { openStudioContext } from "../../studio/api/serve-studio.ts";
import { defineCommand, numberOf } from "../command.ts";

export default defineCommand({
  name: "studio export",
  summary: "Write the studio with chosen runs and chains as a folder that opens from a file; secrets are taken out.",
  arguments: "[path …]",
  examples: [
    "coa studio export --out share",
    'coa studio export .coa/quickstart-fast --items "kind=chain&reward=0" --limit 50 --out wrong-chains',
  ],
  options: {
    out: { type: "string", valueName: "folder", describe: "Where the pages go" },
    items: { type: "string", multiple: true, default: [], valueName: "query", describe: "Which items, as in a list's address: kind=chain&ending=limit (default: runs, chains and examples)" },
    limit: { type: "string", default: "200", valueName: "n", describe: "Most items of each list" },
    title: { type: "string", valueName: "text", describe: "Shown in the place of the folder's path" },
  }, // biome-ignore format: one flag a line
  async run({ values, positionals, out }) {
    if (values.out === undefined) throw new UsageError("coa studio export needs --out <folder>");
    const home = workspaceRoot();
    const context = await openStudioContext({ paths: positionals.length === 0 ? [home] : positionals, home });
    try {
      const report = await exportStudio(context, {
        out: values.out,
        lists: values.items.length > 0 ? values.items : ["kind=run", "kind=chain", "kind=example"],
        limit: numberOf(values.limit, "limit", { min: 1, max: 500, integer: true })!,
        title: values.title,
        onBuild: out.note,
      });
      if (values.json) out.json({ out: values.out, ...report });
      else {
        out.print(`${report.runs} runs and ${report.chains} chains in ${values.out}: open ${values.out}/index.html`);
        if (report.withoutTokens > 0)
          out.note(`${report.withoutTokens} chains are without tokens: a secret was in them, or no tokenizer fits`);
      }
      return 0;
    } finally {
      await context.close();
    }
  },
});
