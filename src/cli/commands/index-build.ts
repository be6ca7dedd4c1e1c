import { indexCorpus } from "../../tools/local-index/index-corpus.ts";
import { defineCommand, onePositional } from "../command.ts";
import { documentIndexFolder } from "../document-index.ts";
import { text } from "../setting.ts";

export default defineCommand({
  summary:
    "Build a search index from a folder of HTML, Markdown, text, PDF, Word or JSONL files, or from one such file.",
  arguments: "<corpus>",
  examples: [
    "coa index build docs/",
    "coa index build corpus.jsonl",
    "coa index build docs/ --out .coa/index/docs --set index.baseUrl=https://docs.example.org/",
  ],
  reads: ["index"],
  options: {
    out: text("Where to put it (default: in the workspace, under the corpus's name)", { valueName: "folder", group: "output" }),
  }, // biome-ignore format: one flag a line
  async run({ values, settings, positionals, out, signal }) {
    const corpus = onePositional(positionals, "a corpus");
    const folder = values.out ?? (await documentIndexFolder(corpus));
    const started = performance.now();
    const { baseUrl, ...how } = settings.index;
    const report = await indexCorpus(corpus, folder, {
      ...how,
      ...(baseUrl && { baseURL: baseUrl }),
      onProblem: (problem) => out.note(`skipped: ${problem}`),
      onProgress: (done) => out.progress({ stage: "index", done }),
      signal,
    });
    const seconds = (performance.now() - started) / 1000;
    const { documentCount, termCount, bytes, skipped } = report;
    const size = `${(bytes / 2 ** 20).toFixed(1)} MB in ${seconds.toFixed(1)} s`;
    const docs = values.out === undefined ? `--docs ${corpus}` : `--index ${folder}`;
    return {
      json: { folder, ...report, skipped: skipped.length, problems: skipped, seconds },
      text: [
        `${documentCount} passages, ${termCount} words, ${size}: ${folder}`,
        ...(skipped.length > 0 ? [`${skipped.length} could not be read and are named above`] : []),
      ],
      notes: [`next: coa show ${folder} "…", or coa ask ${docs} "…"`],
    };
  },
});
