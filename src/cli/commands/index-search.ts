import { loadIndex } from "../../tools/local-index/index-file.ts";
import { snippetOf } from "../../tools/search/index-provider.ts";
import { defineCommand, missingArgument, numberOf } from "../command.ts";

export default defineCommand({
  name: "index search",
  summary: "Search an index and print what it finds.",
  arguments: "<folder> <query…>",
  examples: ['coa index search .coa/index/wiki "capital of France"'],
  options: { top: { type: "string", short: "k", default: "5", valueName: "n", describe: "How many passages" } },
  async run({ values, positionals, out }) {
    const [folder, ...words] = positionals;
    if (!folder || words.length === 0) throw missingArgument(this, "a folder and a query");
    const query = words.join(" ");
    const top = numberOf(values.top, "top", { min: 1, max: 1_000, integer: true });
    const index = await loadIndex(folder);
    const started = performance.now();
    const hits = index.search(query, top);
    const ms = performance.now() - started;
    index.close();
    if (values.json) {
      out.json({ query, ms, hits });
      return 0;
    }
    for (const [number, { document, score }] of hits.entries()) {
      out.print(
        `${number + 1}. ${out.style("bold", document.title || document.id)}  ${score.toFixed(2)}${document.url ? `  ${document.url}` : ""}`,
      );
      out.print(`   ${snippetOf(document.text, query, 40)}`);
    }
    out.note(`${hits.length} of ${index.size} passages in ${ms.toFixed(1)} ms`);
    return 0;
  },
});
