/** The tag reader: bytes per second on chains as models write them, from 1 KB to 100 MB, whole chunks and single tokens. */
import type { Figure } from "../scripts/bench.ts";
import { tagReader } from "../src/chain/tag-reader.ts";

const tags = [
  "think",
  "plan",
  "web_search",
  "crawl_page",
  "observation",
  "reflection",
  "suggested_answer",
  "double_check",
  "answer",
];
const step =
  "<think>The first page gives the year, but a < b is not what the question asks; the <b>second</b> source has to confirm it.</think>\n" +
  "<web_search>population of the second largest city in 1987</web_search>\n<observation>\n" +
  "Found 5 results: the city had 413,000 people in the census of that year, and 1 < 2 as always. ".repeat(6) +
  "\n</observation>\n\n";

function textOf(bytes: number): string {
  return step.repeat(Math.ceil(bytes / step.length)).slice(0, bytes);
}

/** Megabytes per second for a text given in chunks of this size. */
function speed(text: string, chunkSize: number, milliseconds: number): number {
  let bytes = 0;
  let segments = 0;
  const chunks: string[] = [];
  for (let from = 0; from < text.length; from += chunkSize) chunks.push(text.slice(from, from + chunkSize));
  const began = performance.now();
  do {
    const reader = tagReader({ tags }, { close: () => void segments++ });
    for (const chunk of chunks) reader.write(chunk);
    reader.end();
    bytes += text.length;
  } while (performance.now() - began < milliseconds);
  if (segments === 0) throw new Error("nothing was read");
  return bytes / 1e6 / ((performance.now() - began) / 1000);
}

export default async function bench(): Promise<Figure[]> {
  const sizes = [1e3, 1e4, 1e5, 1e6, 1e7, 1e8];
  const best = new Map<number, number>();
  speed(textOf(1e6), 16_384, 300); // warm
  for (let round = 0; round < 3; round++) {
    for (const size of sizes) {
      const measured = speed(textOf(size), 16_384, 150);
      best.set(size, Math.max(best.get(size) ?? 0, measured));
    }
  }
  const slowest = Math.min(...best.values());
  const figures: Figure[] = [...best].map(([size, value]) => ({
    name: `reading ${size >= 1e6 ? `${size / 1e6} MB` : `${size / 1e3} KB`}`,
    value,
    unit: "MB/s",
    target: ">= 100 MB/s",
    met: value >= 100,
  }));
  figures.push({
    name: "slowest size against fastest",
    value: slowest / Math.max(...best.values()),
    unit: "of the speed",
    target: ">= 0.3 (linear)",
    met: slowest / Math.max(...best.values()) >= 0.3,
  });
  figures.push({ name: "1 MB in chunks of 4 characters", value: speed(textOf(1e6), 4, 500), unit: "MB/s" });
  return figures;
}
