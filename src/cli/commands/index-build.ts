import { basename, extname } from "node:path";
import { openWorkspace } from "../../base/files/workspace.ts";
import { UsageError } from "../../core/errors.ts";
import { indexWriter } from "../../tools/local-index/index-file.ts";
import { readCorpus } from "../../tools/local-index/read-corpus.ts";
import { defineCommand, numberOf, onePositional } from "../command.ts";

export default defineCommand({
  name: "index build",
  summary:
    "Build a search index from a JSONL file (title, text, url) or a folder of HTML, Markdown, text or PDF files.",
  arguments: "<corpus>",
  examples: [
    "coa index build corpus.jsonl",
    "coa index build docs/ --out .coa/index/docs --base-url https://docs.example.org/",
  ],
  options: {
    out: { type: "string", valueName: "folder", describe: "Where to put it; in the workspace, under the corpus's name, by default" },
    "title-boost": { type: "string", default: "1", valueName: "n", describe: "The title counts as if written n times" },
    stemming: { type: "string", default: "none", valueName: "kind", describe: "light joins singular and plural; none" },
    k1: { type: "string", default: "1.2", valueName: "x", describe: "Saturation of word counts" },
    b: { type: "string", default: "0.75", valueName: "x", describe: "Strength of length normalisation" },
    "passage-words": { type: "string", default: "150", valueName: "n", describe: "Words per passage, for a folder" },
    "base-url": { type: "string", valueName: "url", describe: "Address of the folder's root, for links to its files" },
    "skip-bad": { type: "boolean", default: false, describe: "Go on past files and lines that can't be read" },
  }, // biome-ignore format: one flag a line
  async run({ values, positionals, out, signal }) {
    const corpus = onePositional(this, positionals, "a corpus");
    if (values.stemming !== "none" && values.stemming !== "light")
      throw new UsageError(`--stemming is none or light, not "${values.stemming}"`);
    const name = basename(corpus, extname(corpus));
    const folder = values.out ?? (await openWorkspace()).path("index", name);
    const writer = await indexWriter(folder, {
      stemming: values.stemming,
      titleBoost: numberOf(values["title-boost"], "title-boost", { min: 0, max: 1000, integer: true }),
      k1: numberOf(values.k1, "k1", { min: 0 }),
      b: numberOf(values.b, "b", { min: 0, max: 1 }),
    });
    const started = performance.now();
    let done = 0;
    let skipped = 0;
    try {
      const onProblem = (problem: string) => {
        skipped++;
        out.note(`skipped: ${problem}`);
      };
      const options = {
        passageWords: numberOf(values["passage-words"], "passage-words", { min: 10, max: 100_000, integer: true }),
        baseUrl: values["base-url"],
        onProblem: values["skip-bad"] ? onProblem : undefined,
      };
      for await (const document of readCorpus(corpus, options)) {
        signal.throwIfAborted();
        writer.add(document);
        if (++done % 1_000 === 0) out.progress({ stage: "index", done });
      }
      if (done === 0) throw new UsageError(`${corpus} holds no documents to index`);
      const report = await writer.finish();
      out.endProgress();
      const seconds = (performance.now() - started) / 1000;
      if (values.json) out.json({ folder, ...report, skipped, seconds });
      else
        out.print(
          `${report.documentCount} passages, ${report.termCount} words, ${(report.bytes / 2 ** 20).toFixed(1)} MB in ${seconds.toFixed(1)} s: ${folder}`,
        );
      return 0;
    } catch (error) {
      await writer.discard();
      throw error;
    }
  },
});
