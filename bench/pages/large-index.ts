/** Builds, saves, loads and searches a large index, and prints the figures as JSON; a process of its own, to see its memory. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { indexWriter, loadIndex } from "../../src/tools/local-index/index-file.ts";
import { makeQueries, passages } from "./passages.ts";

const count = Number(process.argv[2]);
const folder = await mkdtemp(join(tmpdir(), "coa-large-index-"));
try {
  const sample: string[] = [];
  const started = performance.now();
  const writer = await indexWriter(join(folder, "index"));
  let number = 0;
  for (const text of passages(count)) {
    writer.add({ id: String(number), text, url: `https://docs.example/${number}` });
    if (number++ % 97 === 0) sample.push(text);
  }
  const report = await writer.finish();
  const buildSeconds = (performance.now() - started) / 1000;
  const loadStarted = performance.now();
  const index = await loadIndex(join(folder, "index"));
  const loadMs = performance.now() - loadStarted;
  const queries = makeQueries(sample, 1_000, 3);
  for (const query of queries.slice(0, 200)) index.search(query);
  const times = queries.map((query) => {
    const start = performance.now();
    index.search(query);
    return performance.now() - start;
  });
  times.sort((a, b) => a - b);
  index.close();
  const peakMb = process.resourceUsage().maxRSS / 1024;
  console.log(JSON.stringify({ ...report, buildSeconds, loadMs, p50: times[500], p99: times[990], peakMb }));
} finally {
  await rm(folder, { recursive: true, force: true });
}
