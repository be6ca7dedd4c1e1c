import { UsageError } from "../../core/errors.ts";
import { indexCorpus } from "../../tools/local-index/index-corpus.ts";
import { defineCommand, numberOf, onePositional } from "../command.ts";
import { builtIndexFolder } from "../document-index.ts";

export default defineCommand({
  name: "index build",
  summary:
    "Build a search index from a folder of HTML, Markdown, text, PDF, Word or JSONL files, or from one such file.",
  arguments: "<corpus>",
  examples: [
    "coa index build docs/",
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
  }, // biome-ignore format: one flag a line
  async run({ values, positionals, out, signal }) {
    const corpus = onePositional(this, positionals, "a corpus");
    if (values.stemming !== "none" && values.stemming !== "light")
      throw new UsageError(`--stemming is none or light, not "${values.stemming}"`);
    const folder = values.out ?? (await builtIndexFolder(corpus));
    const started = performance.now();
    const report = await indexCorpus(corpus, folder, {
      stemming: values.stemming,
      titleBoost: numberOf(values["title-boost"], "title-boost", { min: 0, max: 1000, integer: true }),
      k1: numberOf(values.k1, "k1", { min: 0 }),
      b: numberOf(values.b, "b", { min: 0, max: 1 }),
      passageWords: numberOf(values["passage-words"], "passage-words", { min: 10, max: 100_000, integer: true }),
      ...(values["base-url"] && { baseURL: values["base-url"] }),
      onProblem: (problem) => out.note(`skipped: ${problem}`),
      onProgress: (done) => out.progress({ stage: "index", done }),
      signal,
    });
    out.endProgress();
    const seconds = (performance.now() - started) / 1000;
    const { documentCount, termCount, bytes, skipped } = report;
    if (values.json) out.json({ folder, ...report, skipped: skipped.length, problems: skipped, seconds });
    else {
      const size = `${(bytes / 2 ** 20).toFixed(1)} MB in ${seconds.toFixed(1)} s`;
      out.print(`${documentCount} passages, ${termCount} words, ${size}: ${folder}`);
      if (skipped.length > 0) out.print(`${skipped.length} could not be read and are named above`);
      const docs = values.out === undefined ? `--docs ${corpus}` : `--index ${folder}`;
      out.note(`next: coa show ${folder} "…", or coa ask ${docs} "…"`);
    }
    return 0;
  },
});
